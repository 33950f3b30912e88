// SPDX-License-Identifier: Apache-2.0
// What refiners and filters make of events: trouble that was over, outsiders who accuse, faults
// that every node shows, Pods of others, masks and labels of metrics; and sets of rules.
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "common/engine/engine.hh"
#include "tests/cmocka.hh"

using namespace nvab;

namespace {

constexpr const char* kPack = R"toml(
[pack]
name = "test"
[[set]]
name = "peers"
rules = ["nccl.*"]
[[rule]]
id = "link.down"
title = "Link down"
source = ["syslog"]
match = '(?<nic>ib\d): link went down'
outcome = "link_down"
blames = "nic"
strength = 80
explains = ["@peers"]
[[rule]]
id = "link.up"
source = ["syslog"]
match = '(?<nic>ib\d): link came up'
role = "benign"
ends = ["link.*"]
[[rule]]
id = "nccl.timeout"
title = "Collective timed out"
source = ["applog"]
match = 'watchdog timeout'
role = "cascade"
outcome = "unknown"
strength = 30
[[rule]]
id = "sm.lost"
title = "The subnet manager lost a port"
source = ["syslog"]
match = 'lost the port of (?<peer>\w+)'
outcome = "fabric_error"
blames = "peer"
strength = 60
[[rule]]
id = "mgmt.down"
title = "Management link down"
source = ["syslog"]
match = 'eno1: management link down'
outcome = "link_down"
everywhere = "network_outage"
strength = 42
[[rule]]
id = "boot.failed"
title = "Nodes did not boot"
source = ["syslog"]
match = 'could not be booted for the job'
outcome = "launch_failure"
blames = "none"
strength = 70
[[rule]]
id = "node.gone"
title = "Node lost"
source = ["syslog"]
match = 'node (?<node>\w+) does not respond'
outcome = "node_lost"
strength = 80
[[rule]]
id = "pod.evicted"
title = "Pod evicted"
source = ["syslog"]
match = 'evicted pod="(?<pod>[\w/-]+)"'
outcome = "pod_limit"
strength = 80
[[rule]]
id = "fs.down"
title = "File server down"
source = ["syslog"]
match = 'file server does not answer'
outcome = "filesystem_down"
strength = 70
[[rule]]
id = "fs.error"
title = "Files could not be read"
source = ["applog"]
match = 'Input/output error'
role = "cascade"
outcome = "filesystem_down"
strength = 20
[[rule]]
id = "gpu.throttled"
title = "GPU slowed down"
metric = {names = ["THROTTLE"], labels = {modelName = "*H100*"}, test = "has_bits", bits = [3, 6], hold = "2m"}
outcome = "gpu_fault"
blames = "gpu"
strength = 90
)toml";

const Ruleset& rules() {
  static const std::unique_ptr<Ruleset> ruleset = [] {
    auto pack = parse_pack("test.toml", kPack);
    if (!pack) fail_msg("%s", pack.error().message.c_str());
    auto built = Ruleset::build("test", std::vector<Pack>{*pack});
    if (!built) fail_msg("%s", built.error().message.c_str());
    return std::move(*built);
  }();
  return *ruleset;
}

Time at(int seconds) {
  return *parse_rfc3339("2026-01-05T10:00:00Z") + std::chrono::seconds(seconds);
}

ExecutionContext job(std::string state) {
  ExecutionContext context;
  context.scheduler = "slurm";
  context.job_id = "77";
  context.state = std::move(state);
  context.start_time = at(0);
  context.end_time = at(3600);
  context.nodes = {"n1", "n2"};
  context.gpus_per_node = 4;
  context.ntasks = 8;
  return context;
}

struct Evidence {
  Observation app, sys, metrics;
  Evidence() {
    app.source = Source::applog;
    sys.source = Source::syslog;
    metrics.source = Source::node_metrics;
  }
  static LogEntry line(int seconds, const std::string& node, const std::string& message) {
    static std::uint64_t number = 0;
    LogEntry entry;
    entry.timestamp = at(seconds);
    entry.time_quality = TimeQuality::exact;
    entry.node = node;
    entry.message = message;
    entry.origin = {node.empty() ? "out" : node + ".log", ++number, number * 100};
    return entry;
  }
  void program(int seconds, const std::string& message) {
    app.entries.push_back(line(seconds, "", message));
  }
  void system(int seconds, const std::string& node, const std::string& message) {
    sys.entries.push_back(line(seconds, node, message));
    sys.entries.back().trust = Trust::kernel;
  }
  void mask(int seconds, const std::string& model, double value) {
    MetricSample sample;
    sample.name = "THROTTLE";
    sample.labels = {{"Hostname", "n2"}, {"gpu", "3"}, {"modelName", model}};
    sample.timestamp = at(seconds);
    sample.value = value;
    metrics.samples.push_back(sample);
  }
};

Verdict judge(const ExecutionContext& context, const Evidence& evidence) {
  Engine engine(rules(), context);
  engine.ingest(evidence.app);
  engine.ingest(evidence.sys);
  engine.ingest(evidence.metrics);
  return engine.attribute();
}

void a_link_that_came_back_and_left_no_trace_is_not_blamed(void**) {
  Evidence e;
  e.system(1000, "n1", "ib0: link went down");
  assert_string_equal(judge(job("FAILED"), e).outcome.c_str(), "link_down");
  e.system(1020, "n1", "ib0: link came up");
  assert_string_equal(judge(job("FAILED"), e).outcome.c_str(), "unknown");
}

void another_link_that_came_back_changes_nothing(void**) {
  Evidence e;
  e.system(1000, "n1", "ib0: link went down");
  e.system(1020, "n1", "ib1: link came up");
  e.system(1020, "n2", "ib0: link came up");
  e.system(900, "n1", "ib0: link came up");
  assert_string_equal(judge(job("FAILED"), e).outcome.c_str(), "link_down");
}

void a_link_that_came_back_too_late_is_blamed(void**) {
  Evidence e;
  e.system(1000, "n1", "ib0: link went down");
  e.program(1010, "watchdog timeout");
  e.system(1020, "n1", "ib0: link came up");
  assert_string_equal(judge(job("FAILED"), e).outcome.c_str(), "link_down");
}

void one_outsider_that_accuses_is_enough(void**) {
  Evidence e;
  e.system(3500, "sm01", "lost the port of n2");
  const Verdict v = judge(job("FAILED"), e);
  assert_int_equal(v.culprits.nodes.size(), 1);
  assert_string_equal(v.culprits.nodes[0].c_str(), "n2");
}

void one_party_that_accuses_is_not(void**) {
  Evidence e;
  e.system(3500, "n1", "lost the port of n2");
  assert_int_equal(judge(job("FAILED"), e).culprits.nodes.size(), 0);
  Evidence forged;
  forged.system(3500, "sm01", "lost the port of n2");
  forged.sys.entries.back().trust = Trust::user;
  assert_int_equal(judge(job("FAILED"), forged).culprits.nodes.size(), 0);
}

void what_every_node_shows_is_surer(void**) {
  Evidence e;
  e.system(3500, "n1", "eno1: management link down");
  e.system(3501, "n2", "eno1: management link down");
  const Verdict v = judge(job("NODE_FAIL"), e);
  assert_string_equal(v.outcome.c_str(), "network_outage");
  assert_int_equal(v.culprits.nodes.size(), 0);
  assert_true(v.root_cause.confidence > 0.5);
}

void nodes_that_did_not_boot_were_not_lost(void**) {
  Evidence e;
  e.system(10, "ctl", "could not be booted for the job");
  e.system(20, "ctl", "node n1 does not respond");
  assert_string_equal(judge(job("BOOT_FAIL"), e).outcome.c_str(), "launch_failure");
  assert_string_equal(judge(job("NODE_FAIL"), e).outcome.c_str(), "node_lost");
}

void a_pod_of_another_job_does_not_count(void**) {
  ExecutionContext context = job("FAILED");
  context.scheduler = "kueue";
  context.steps = {{}, {}};
  context.steps[0].id = "train-w-0";
  context.steps[0].nodes = {"n1"};
  context.steps[1].id = "train-w-1";
  context.steps[1].nodes = {"n2"};
  Evidence other;
  other.system(3500, "n1", "evicted pod=\"ci/build-7f\"");
  assert_string_equal(judge(context, other).outcome.c_str(), "unknown");
  Evidence own;
  own.system(3500, "n1", "evicted pod=\"lab/train-w-1-x7k2p\"");
  const Verdict v = judge(context, own);
  assert_string_equal(v.outcome.c_str(), "pod_limit");
  assert_false(v.timeline.empty());
  assert_string_equal(v.timeline[0].node.c_str(), "n2");
}

void storage_trouble_of_other_clients_does_not_count(void**) {
  Evidence e;
  e.system(3500, "n9", "file server does not answer");
  assert_string_equal(judge(job("FAILED"), e).outcome.c_str(), "unknown");
  e.program(3510, "Input/output error");
  assert_string_equal(judge(job("FAILED"), e).outcome.c_str(), "filesystem_down");
}

void a_mask_counts_by_its_bits_for_as_long_as_they_hold(void**) {
  Evidence short_one;
  short_one.mask(60, "NVIDIA H100 80GB", 4);
  short_one.mask(120, "NVIDIA H100 80GB", 72);
  short_one.mask(180, "NVIDIA H100 80GB", 4);
  assert_string_equal(judge(job("FAILED"), short_one).outcome.c_str(), "unknown");
  Evidence long_one;
  for (int i = 1; i < 6; ++i) long_one.mask(60 * i, "NVIDIA H100 80GB", i % 2 == 0 ? 8 : 4 + 64);
  const Verdict v = judge(job("FAILED"), long_one);
  assert_string_equal(v.outcome.c_str(), "gpu_fault");
  assert_int_equal(v.culprits.gpus.at(0).index.value_or(-1), 3);
  Evidence other_bits;
  for (int i = 1; i < 6; ++i) other_bits.mask(60 * i, "NVIDIA H100 80GB", 4 + 32);
  assert_string_equal(judge(job("FAILED"), other_bits).outcome.c_str(), "unknown");
}

void a_mask_that_is_no_mask_is_left_alone(void**) {
  for (const double value : {-8.0, 1e300, std::numeric_limits<double>::quiet_NaN()}) {
    Evidence e;
    for (int i = 1; i < 6; ++i) e.mask(60 * i, "NVIDIA H100 80GB", value);
    assert_string_equal(judge(job("FAILED"), e).outcome.c_str(), "unknown");
  }
}

void series_with_other_labels_are_left_alone(void**) {
  Evidence e;
  for (int i = 1; i < 6; ++i) e.mask(60 * i, "NVIDIA A100", 64);
  assert_string_equal(judge(job("FAILED"), e).outcome.c_str(), "unknown");
}

void a_set_is_known_to_packs_on_top_and_can_be_replaced(void**) {
  constexpr const char* kRule =
      "[[rule]]\nid = 'x.y'\nmatch = 'broken pipe'\ntitle = 'T'\noutcome = 'gpu_lost'\n"
      "explains = ['@peers', 'a.*']\n";
  const std::string head = "[pack]\nname = 'site'\n";
  const auto build = [&](const std::string& text) {
    auto first = parse_pack("test.toml", kPack);
    auto second = parse_pack("site.toml", head + text);
    assert_true(first.has_value() && second.has_value());
    return Ruleset::build("test", std::vector<Pack>{*first, *second});
  };
  const auto globs = [&](const std::string& text) {
    auto built = build(text);
    assert_true(built.has_value());
    for (const Rule& rule : (*built)->rules()) {
      if (rule.id == "x.y") return rule.explains;
    }
    return std::vector<std::string>{};
  };
  assert_true(globs(kRule) == (std::vector<std::string>{"nccl.*", "a.*"}));
  const std::string own = "[[set]]\nname = 'peers'\nrules = ['b.*', 'c.d']\n";
  assert_true(globs(own + kRule) == (std::vector<std::string>{"b.*", "c.d", "a.*"}));
  const auto unknown = build(
      "[[rule]]\nid = 'x.y'\nmatch = 'broken pipe'\ntitle = 'T'\n"
      "outcome = 'gpu_lost'\nexplains = ['@peer']\n");
  assert_false(unknown.has_value());
  assert_true(unknown.error().message.find("no [[set]] called 'peer'") != std::string::npos);
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(a_link_that_came_back_and_left_no_trace_is_not_blamed),
      cmocka_unit_test(another_link_that_came_back_changes_nothing),
      cmocka_unit_test(a_link_that_came_back_too_late_is_blamed),
      cmocka_unit_test(one_outsider_that_accuses_is_enough),
      cmocka_unit_test(one_party_that_accuses_is_not),
      cmocka_unit_test(what_every_node_shows_is_surer),
      cmocka_unit_test(nodes_that_did_not_boot_were_not_lost),
      cmocka_unit_test(a_pod_of_another_job_does_not_count),
      cmocka_unit_test(storage_trouble_of_other_clients_does_not_count),
      cmocka_unit_test(a_mask_counts_by_its_bits_for_as_long_as_they_hold),
      cmocka_unit_test(a_mask_that_is_no_mask_is_left_alone),
      cmocka_unit_test(series_with_other_labels_are_left_alone),
      cmocka_unit_test(a_set_is_known_to_packs_on_top_and_can_be_replaced),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
