// SPDX-License-Identifier: Apache-2.0
// The engine end to end on a few rules of its own: what it blames, what it leaves alone, and that
// neither order nor chunking of the evidence matters.
#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "common/engine/engine.hh"
#include "tests/cmocka.hh"

namespace {

using namespace nvab;

constexpr std::string_view kPack = R"toml(
[pack]
name = "test"
version = "1"
[[rule]]
id = "gpu.lost"
title = "GPU lost"
source = ["syslog"]
match = 'GPU (?<pci>[0-9a-f:]+) has been lost'
role = "root"
outcome = "gpu_lost"
blames = "gpu"
strength = 90
drain = true
explains = ["nccl.*", "app.*"]
[[rule]]
id = "gpu.instance"
title = "GPU instance lost"
source = ["syslog"]
match = 'instance (?<mig>\d+) of (?<pci>[0-9a-f:]+) vanished'
role = "root"
outcome = "gpu_lost"
blames = "gpu"
strength = 90
[[rule]]
id = "place.instance"
title = "GPU instance"
source = ["applog"]
match = 'running on GPU (?<pci>[0-9a-f:]+) instance (?<mig>\d+)'
role = "placement"
[[rule]]
id = "gpu.fault"
title = "Illegal access"
source = ["syslog"]
match = 'GPU (?<pci>[0-9a-f:]+) fault(?: on SM (?<gpc>\d+)/(?<tpc>\d+)/(?<sm>\d+))?'
role = "root"
outcome = "user_gpu_fault"
blames = "none"
strength = 60
[[rule]]
id = "nccl.timeout"
title = "Collective timed out"
source = ["applog"]
match = 'watchdog timeout of collective (?<seq>\d+) op=(?<op>\w+) numel=(?<numel>\d+)'
role = "cascade"
outcome = "unknown"
strength = 30
[[rule]]
id = "nccl.peer"
title = "Peer lost"
source = ["applog"]
match = 'connection to peer (?<peer>\w+) was lost'
role = "root"
outcome = "fabric_error"
blames = "peer"
strength = 60
[[rule]]
id = "app.error"
title = "Program error"
source = ["applog"]
match = 'ProgramError: (?<message>.*)'
role = "root"
outcome = "user_exception"
strength = 70
explains = ["nccl.timeout"]
[[rule]]
id = "app.file"
title = "File missing"
source = ["applog"]
match = 'MissingFile: (?<path>.*)'
role = "root"
outcome = "missing_file"
strength = 75
explains = ["app.error", "nccl.timeout"]
[[rule]]
id = "driver.old"
title = "Driver too old"
source = ["applog"]
match = 'driver is too old on (?<node>\w+)'
role = "root"
outcome = "software_mismatch"
only_some = "node_misconfigured"
everywhere = "software_mismatch"
strength = 80
[[rule]]
id = "fabric.down"
title = "Link down"
source = ["syslog"]
match = 'port (?<nic>mlx\w+) link down'
role = "root"
outcome = "link_down"
blames = "nic"
strength = 80
drain = true
explains = ["nccl.*"]
[[rule]]
id = "progress.step"
title = "Step"
source = ["applog"]
match = 'training step (?<step>\d+)'
role = "progress"
[[rule]]
id = "place.init"
title = "NCCL init"
source = ["applog"]
match = 'NCCL init rank (?<rank>\d+) on (?<node>\w+) device (?<gpu>\d+) bus (?<pci>\w+)'
role = "placement"
)toml";

const Ruleset& rules() {
  static const std::unique_ptr<Ruleset> ruleset = [] {
    auto pack = parse_pack("test.toml", kPack);
    assert_true(pack.has_value());
    auto built = Ruleset::build("test", std::vector<Pack>{*pack});
    if (!built) fail_msg("%s", built.error().message.c_str());
    return std::move(*built);
  }();
  return *ruleset;
}

Time at(int seconds) {
  return *parse_rfc3339("2026-01-05T10:00:00Z") + std::chrono::seconds(seconds);
}

ExecutionContext job(std::string state, std::vector<std::string> nodes = {"n1", "n2"}) {
  ExecutionContext context;
  context.scheduler = "slurm";
  context.job_id = "77";
  context.user = "ada";
  context.uid = 1000;
  context.state = std::move(state);
  context.start_time = at(0);
  context.end_time = at(7200);
  context.nodes = std::move(nodes);
  context.gpus_per_node = 4;
  context.ntasks = static_cast<int>(context.nodes.size()) * 4;
  return context;
}

LogEntry line(Source source, int seconds, std::string node, std::string message,
              std::optional<int> rank = std::nullopt) {
  static std::uint64_t number = 0;
  LogEntry entry;
  entry.timestamp = at(seconds);
  entry.time_quality = TimeQuality::exact;
  entry.node = std::move(node);
  entry.rank = rank;
  entry.message = std::move(message);
  entry.trust = source == Source::syslog ? Trust::kernel : Trust::user;
  entry.app = source == Source::syslog ? "kernel" : "";
  entry.origin = {source == Source::syslog ? entry.node + ".log" : "out", ++number, number * 100};
  return entry;
}

struct Evidence {
  std::vector<LogEntry> syslog, applog;
  std::vector<FlightDump> dumps;
  void sys(int seconds, std::string node, std::string message) {
    syslog.push_back(line(Source::syslog, seconds, std::move(node), std::move(message)));
  }
  void app(int seconds, std::string message, std::optional<int> rank = std::nullopt) {
    applog.push_back(line(Source::applog, seconds, "", std::move(message), rank));
  }
};

Verdict judge(const ExecutionContext& context, const Evidence& evidence) {
  Engine engine(rules(), context);
  Observation app, sys, dumps;
  app.source = Source::applog;
  app.entries = evidence.applog;
  sys.source = Source::syslog;
  sys.entries = evidence.syslog;
  dumps.source = Source::flight_recorder;
  dumps.dumps = evidence.dumps;
  engine.ingest(app);
  engine.ingest(sys);
  engine.ingest(dumps);
  return engine.attribute();
}

Evidence gpu_lost_in_the_middle() {
  Evidence e;
  e.app(5, "NCCL init rank 5 on n2 device 1 bus 61000");
  e.app(3000, "training step 100");
  e.sys(3010, "n2", "GPU 0000:61:00 has been lost");
  for (int rank = 0; rank < 8; ++rank) {
    e.app(3610, "watchdog timeout of collective 7 op=ALLREDUCE numel=10", rank);
  }
  return e;
}

void a_lost_gpu_explains_the_timeouts_of_all_ranks(void**) {
  const Verdict v = judge(job("FAILED"), gpu_lost_in_the_middle());
  assert_string_equal(v.outcome.c_str(), "gpu_lost");
  assert_int_equal(v.culprits.nodes.size(), 1);
  assert_string_equal(v.culprits.nodes[0].c_str(), "n2");
  assert_int_equal(v.culprits.gpus.size(), 1);
  assert_int_equal(v.culprits.gpus[0].index.value_or(-1), 1);
  assert_string_equal(v.culprits.gpus[0].pci.c_str(), "0000:61:00.0");
  assert_int_equal(v.first_failing_rank.value_or(-1), 5);
  assert_true(v.advice.action == Action::requeue_exclude_nodes);
  assert_int_equal(v.victims.by_rule.at("nccl.timeout"), 8);
  assert_true(v.root_cause.confidence > 0.9);
}

void a_drain_names_the_node_only_on_trusted_evidence(void**) {
  Evidence trusted = gpu_lost_in_the_middle();
  assert_int_equal(judge(job("FAILED"), trusted).advice.drain.size(), 1);
  Evidence forged = gpu_lost_in_the_middle();
  for (LogEntry& entry : forged.syslog) entry.trust = Trust::user;
  assert_int_equal(judge(job("FAILED"), forged).advice.drain.size(), 0);
}

void a_line_without_its_own_stamp_may_be_later_than_it_says(void**) {
  Evidence e;
  e.sys(3060, "n2", "GPU 0000:61:00 has been lost");
  e.app(3000, "watchdog timeout of collective 7 op=ALLREDUCE numel=10", 1);
  assert_int_equal(judge(job("FAILED"), e).victims.by_rule.count("nccl.timeout"), 0);
  e.applog.back().time_quality = TimeQuality::inherited;
  assert_int_equal(judge(job("FAILED"), e).victims.by_rule.at("nccl.timeout"), 1);
}

void what_happened_before_the_job_is_not_blamed(void**) {
  Evidence e;
  e.sys(-3600, "n2", "GPU 0000:61:00 has been lost");
  e.app(7190, "ProgramError: bad", 3);
  const Verdict v = judge(job("FAILED"), e);
  assert_string_equal(v.outcome.c_str(), "user_exception");
  assert_int_equal(v.first_failing_rank.value_or(-1), 3);
  assert_int_equal(v.culprits.nodes.size(), 0);
}

void a_node_outside_the_job_is_not_blamed(void**) {
  Evidence e;
  e.sys(7100, "n9", "GPU 0000:61:00 has been lost");
  e.app(7190, "ProgramError: bad");
  assert_string_equal(judge(job("FAILED"), e).outcome.c_str(), "user_exception");
}

void a_gpu_that_the_job_was_not_given_is_not_blamed(void**) {
  Evidence e;
  for (int gpu = 0; gpu < 4; ++gpu) {
    e.app(5, "NCCL init rank " + std::to_string(gpu) + " on n1 device " + std::to_string(gpu) +
                 " bus " + std::to_string(gpu + 1) + "1000");
  }
  e.sys(7100, "n1", "GPU 0000:91:00 has been lost");
  e.app(7190, "ProgramError: bad");
  assert_string_equal(judge(job("FAILED", {"n1"}), e).outcome.c_str(), "user_exception");
  e.sys(7101, "n1", "GPU 0000:21:00 has been lost");
  assert_string_equal(judge(job("FAILED", {"n1"}), e).outcome.c_str(), "gpu_lost");
}

void another_instance_of_the_same_gpu_is_not_blamed(void**) {
  Evidence e;
  e.app(5, "running on GPU 0000:61:00 instance 4");
  e.sys(7180, "n1", "instance 2 of 0000:61:00 vanished");
  e.app(7190, "ProgramError: bad");
  assert_string_equal(judge(job("FAILED", {"n1"}), e).outcome.c_str(), "user_exception");
  e.sys(7181, "n1", "instance 4 of 0000:61:00 vanished");
  assert_string_equal(judge(job("FAILED", {"n1"}), e).outcome.c_str(), "gpu_lost");
}

void what_the_job_lived_through_is_not_blamed(void**) {
  Evidence e;
  e.app(1000, "ProgramError: retried", 0);
  e.app(5000, "training step 900");
  const Verdict v = judge(job("FAILED"), e);
  assert_string_equal(v.outcome.c_str(), "unknown");
  assert_true(v.advice.action == Action::investigate);
}

void a_bar_drawn_again_after_an_error_is_no_recovery(void**) {
  Evidence e;
  const auto unstamped = [&](std::string message) {
    e.app(100, std::move(message), 0);
    e.applog.back().time_quality = TimeQuality::none;
    e.applog.back().timestamp.reset();
  };
  unstamped("training step 339");
  unstamped("training step 340");
  unstamped("ProgramError: bad");
  unstamped("training step 340");
  assert_string_equal(judge(job("FAILED"), e).outcome.c_str(), "user_exception");
  unstamped("training step 341");
  assert_string_equal(judge(job("FAILED"), e).outcome.c_str(), "unknown");
}

void a_failure_is_no_consequence_of_a_later_one(void**) {
  Evidence e;
  e.app(7190, "ProgramError: bad", 3);
  e.app(7190, "MissingFile: part3", 0);
  for (LogEntry& entry : e.applog) entry.time_quality = TimeQuality::none;
  const Verdict first = judge(job("FAILED"), e);
  assert_string_equal(first.outcome.c_str(), "user_exception");
  assert_int_equal(first.first_failing_rank.value_or(-1), 3);
  std::swap(e.applog[0].origin, e.applog[1].origin);
  assert_string_equal(judge(job("FAILED"), e).outcome.c_str(), "missing_file");
}

void a_silent_cluster_gives_unknown(void**) {
  const Verdict v = judge(job("FAILED"), {});
  assert_string_equal(v.outcome.c_str(), "unknown");
  assert_true(v.advice.action == Action::investigate);
  assert_int_equal(v.missing.size(), 2);
}

void order_and_chunking_do_not_change_a_byte(void**) {
  const Evidence e = gpu_lost_in_the_middle();
  const std::string expected = to_json(judge(job("FAILED"), e)).dump();
  std::mt19937 random(7);
  for (int round = 0; round < 20; ++round) {
    std::vector<std::pair<Source, LogEntry>> all;
    for (const LogEntry& entry : e.syslog) all.emplace_back(Source::syslog, entry);
    for (const LogEntry& entry : e.applog) all.emplace_back(Source::applog, entry);
    std::shuffle(all.begin(), all.end(), random);
    Engine engine(rules(), job("FAILED"));
    for (const auto& [source, entry] : all) {
      Observation one;
      one.source = source;
      one.entries = {entry};
      engine.ingest(one);
      if (random() % 3 == 0) engine.ingest(one);  // delivered twice
      if (random() % 3 == 0) (void)engine.attribute();
    }
    assert_string_equal(to_json(engine.attribute()).dump().c_str(), expected.c_str());
  }
}

void cancelled_by_the_owner_needs_nothing(void**) {
  ExecutionContext c = job("CANCELLED");
  c.cancelled_by = "ada (uid 1000)";
  Evidence e;
  e.app(7201, "ProgramError: interrupted");
  const Verdict v = judge(c, e);
  assert_string_equal(v.outcome.c_str(), "user_cancel");
  assert_true(v.advice.action == Action::none_needed);
  c.cancelled_by = "root (uid 0)";
  assert_string_equal(judge(c, e).outcome.c_str(), "admin_cancel");
}

void a_time_limit_while_progressing_wants_more_time(void**) {
  Evidence e;
  for (int i = 0; i < 7100; i += 100) e.app(i, "training step " + std::to_string(i));
  const Verdict v = judge(job("TIMEOUT"), e);
  assert_string_equal(v.outcome.c_str(), "time_limit");
  assert_true(v.advice.action == Action::resubmit_with_more_time);
}

void a_time_limit_after_a_long_silence_is_a_hang(void**) {
  Evidence e;
  for (int i = 0; i < 3000; i += 100) e.app(i, "training step " + std::to_string(i));
  assert_string_equal(judge(job("TIMEOUT"), e).outcome.c_str(), "unknown");
  e.sys(3010, "n2", "port mlx5_0 link down");
  const Verdict v = judge(job("TIMEOUT"), e);
  assert_string_equal(v.outcome.c_str(), "link_down");
  assert_string_equal(v.culprits.nodes.at(0).c_str(), "n2");
}

void faults_on_the_same_unit_again_and_again_are_its_own(void**) {
  Evidence once, same, different;
  once.sys(7100, "n1", "GPU 0000:61:00 fault on SM 4/6/1");
  for (int i = 1; i <= 3; ++i) {
    same.sys(i * 2000, "n1", "GPU 0000:61:00 fault on SM 4/6/1");
    different.sys(i * 2000, "n1", "GPU 0000:" + std::to_string(60 + i) + ":00 fault on SM 4/6/1");
  }
  assert_string_equal(judge(job("FAILED"), once).outcome.c_str(), "user_gpu_fault");
  const Verdict v = judge(job("FAILED"), same);
  assert_string_equal(v.outcome.c_str(), "gpu_fault");
  assert_string_equal(v.culprits.nodes.at(0).c_str(), "n1");
  assert_string_equal(judge(job("FAILED"), different).outcome.c_str(), "user_gpu_fault");
}

void the_same_gpu_again_is_not_its_own_fault_without_others_to_compare(void**) {
  Evidence no_sm, same_sm;
  for (int i = 1; i <= 3; ++i) {
    no_sm.sys(i * 2000, "n1", "GPU 0000:61:00 fault at 0x7f00");
    same_sm.sys(i * 2000, "n1", "GPU 0000:61:00 fault on SM 4/6/1");
  }
  assert_string_equal(judge(job("FAILED"), no_sm).outcome.c_str(), "user_gpu_fault");
  ExecutionContext one_gpu = job("FAILED", {"n1"});
  one_gpu.gpus_per_node = 1;
  assert_string_equal(judge(one_gpu, same_sm).outcome.c_str(), "user_gpu_fault");
}

void a_symptom_everywhere_is_not_a_node(void**) {
  Evidence all, some;
  all.app(10, "driver is too old on n1");
  some.app(10, "driver is too old on n1");
  all.app(10, "driver is too old on n2");
  assert_string_equal(judge(job("FAILED"), all).outcome.c_str(), "software_mismatch");
  const Verdict v = judge(job("FAILED"), some);
  assert_string_equal(v.outcome.c_str(), "node_misconfigured");
  assert_string_equal(v.culprits.nodes.at(0).c_str(), "n1");
}

void many_links_down_at_once_are_a_switch_and_nobody_is_drained(void**) {
  std::vector<std::string> nodes;
  Evidence e;
  for (int i = 1; i <= 16; ++i) nodes.push_back("n" + std::to_string(i));
  for (int i = 3; i <= 10; ++i)
    e.sys(6000 + i % 3, nodes[static_cast<std::size_t>(i)], "port mlx5_0 link down");
  const Verdict v = judge(job("FAILED", nodes), e);
  assert_string_equal(v.outcome.c_str(), "switch_down");
  assert_int_equal(v.culprits.nodes.size(), 8);
  assert_int_equal(v.advice.exclude_nodes.size(), 8);
  assert_int_equal(v.advice.drain.size(), 0);
}

void the_peer_that_all_others_miss_is_the_suspect(void**) {
  Evidence e;
  int second = 7000;
  for (const int rank : {0, 4, 12}) e.app(second++, "connection to peer n3 was lost", rank);
  const Verdict v = judge(job("FAILED", {"n1", "n2", "n3", "n4"}), e);
  assert_string_equal(v.outcome.c_str(), "fabric_error");
  assert_int_equal(v.culprits.nodes.size(), 1);
  assert_string_equal(v.culprits.nodes[0].c_str(), "n3");
}

FlightDump dump(int rank, std::uint64_t open, std::string op = "nccl:all_reduce") {
  FlightDump d;
  d.rank = rank;
  d.stream = "dump_" + std::to_string(rank);
  d.groups.push_back({"0", "default", {0, 1, 2, 3}, static_cast<std::int64_t>(open), -1, -1});
  if (open == 0) d.groups[0].last_enqueued = 4;
  CollectiveRecord record;
  record.process_group = "0";
  record.op = std::move(op);
  record.state = "scheduled";
  record.sequence = open;
  if (open > 0) d.entries.push_back(record);
  return d;
}

void the_rank_that_never_came_is_named_from_the_dumps(void**) {
  Evidence e;
  e.dumps = {dump(0, 5), dump(1, 5), dump(2, 0), dump(3, 5)};
  e.app(7100, "watchdog timeout of collective 1205 op=ALLREDUCE numel=10", 0);
  const Verdict v = judge(job("FAILED", {"n1"}), e);
  assert_true(v.root_cause.explanation.find("Rank 2 was waited for") != std::string::npos);
}

void ranks_that_run_different_collectives_are_out_of_step(void**) {
  Evidence e;
  e.dumps = {dump(0, 5), dump(1, 5), dump(2, 5, "nccl:broadcast"), dump(3, 5)};
  const Verdict v = judge(job("FAILED", {"n1"}), e);
  assert_string_equal(v.outcome.c_str(), "collective_desync");
  Evidence lines;
  lines.app(7100, "watchdog timeout of collective 1205 op=ALLREDUCE numel=10", 0);
  lines.app(7100, "watchdog timeout of collective 1205 op=BROADCAST numel=10", 1);
  assert_string_equal(judge(job("FAILED", {"n1"}), lines).outcome.c_str(), "collective_desync");
}

void a_flood_of_like_lines_does_not_hide_the_root(void**) {
  Evidence e = gpu_lost_in_the_middle();
  for (int i = 0; i < 20'000; ++i) {
    e.app(3600 + i % 100, "watchdog timeout of collective 7 op=ALLREDUCE numel=10", i % 8);
  }
  const Verdict v = judge(job("FAILED"), e);
  assert_string_equal(v.outcome.c_str(), "gpu_lost");
  assert_int_equal(v.victims.by_rule.at("nccl.timeout"), 20'008);
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(a_lost_gpu_explains_the_timeouts_of_all_ranks),
      cmocka_unit_test(a_drain_names_the_node_only_on_trusted_evidence),
      cmocka_unit_test(a_line_without_its_own_stamp_may_be_later_than_it_says),
      cmocka_unit_test(what_happened_before_the_job_is_not_blamed),
      cmocka_unit_test(a_node_outside_the_job_is_not_blamed),
      cmocka_unit_test(a_gpu_that_the_job_was_not_given_is_not_blamed),
      cmocka_unit_test(another_instance_of_the_same_gpu_is_not_blamed),
      cmocka_unit_test(what_the_job_lived_through_is_not_blamed),
      cmocka_unit_test(a_bar_drawn_again_after_an_error_is_no_recovery),
      cmocka_unit_test(a_failure_is_no_consequence_of_a_later_one),
      cmocka_unit_test(a_silent_cluster_gives_unknown),
      cmocka_unit_test(order_and_chunking_do_not_change_a_byte),
      cmocka_unit_test(cancelled_by_the_owner_needs_nothing),
      cmocka_unit_test(a_time_limit_while_progressing_wants_more_time),
      cmocka_unit_test(a_time_limit_after_a_long_silence_is_a_hang),
      cmocka_unit_test(faults_on_the_same_unit_again_and_again_are_its_own),
      cmocka_unit_test(the_same_gpu_again_is_not_its_own_fault_without_others_to_compare),
      cmocka_unit_test(a_symptom_everywhere_is_not_a_node),
      cmocka_unit_test(many_links_down_at_once_are_a_switch_and_nobody_is_drained),
      cmocka_unit_test(the_peer_that_all_others_miss_is_the_suspect),
      cmocka_unit_test(the_rank_that_never_came_is_named_from_the_dumps),
      cmocka_unit_test(ranks_that_run_different_collectives_are_out_of_step),
      cmocka_unit_test(a_flood_of_like_lines_does_not_hide_the_root),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
