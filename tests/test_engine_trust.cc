// SPDX-License-Identifier: Apache-2.0
// ctest: timeout=300
// What a user can write proves nothing against a node: whatever the program's output, a system log
// that any user can write to, the names of job and steps or a task record of doubtful origin say,
// no node is drained on it, and no other user's job is blamed for it. Every line by which a
// built-in rule would drain a node is tried.
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "common/base/text.hh"
#include "common/engine/builtin_packs.hh"
#include "common/engine/engine.hh"
#include "tests/cmocka.hh"

using namespace nvab;

namespace {

std::unique_ptr<Ruleset> g_rules;  // with the rules' own tests
constexpr Duration kBeforeEnd = std::chrono::seconds(10);

ExecutionContext job(const std::string& name = "train") {
  const std::string text = R"({"scheduler":"slurm","cluster":"c","job_id":"77","uid":1000,
    "user":"ada","state":"FAILED","exit_code":"1:0","start_time":"2026-04-01T08:00:00Z",
    "end_time":"2026-04-01T08:10:00Z","nodes":["n1","n2"],"ntasks":16,"gpus_per_node":8})";
  auto context = context_from_json(*Json::parse(text));
  if (!context) fail_msg("%s", context.error().message.c_str());
  context->name = name;
  return *context;
}

Observation log_of(Source source, Trust trust, const std::string& message,
                   const std::string& app = "") {
  LogEntry entry;
  entry.timestamp = *job().end_time - kBeforeEnd;
  entry.time_quality = TimeQuality::exact;
  entry.node = "n1";
  entry.app = app;
  entry.trust = trust;
  entry.origin = {std::string(to_string(source)) + "/n1.log", 7, 700};
  entry.message = message;
  Observation observation;
  observation.source = source;
  observation.entries.push_back(entry);
  return observation;
}

Observation killed_tasks(Trust trust) {
  Observation observation;
  observation.source = Source::task_exits;
  for (int i = 0; i < 16; ++i) {
    TaskExit task;
    task.node = i < 8 ? "n1" : "n2";
    task.step = "0";
    task.task = i;
    task.start = job().start_time;
    task.end = *job().end_time - kBeforeEnd;
    task.signal = 7;
    task.trust = trust;
    observation.task_exits.push_back(task);
  }
  return observation;
}

Verdict judge(const std::vector<Observation>& observations, const ExecutionContext& context) {
  Engine engine(*g_rules, context);
  for (const Observation& observation : observations) engine.ingest(observation);
  return engine.attribute();
}

std::string app_of(const Rule& rule) {
  std::string app = rule.apps.empty() ? "kernel" : rule.apps.front();
  std::erase_if(app, [](char c) { return c == '*' || c == '?'; });
  return app;
}

// Calls `visit` with each line that a rule that drains must match.
template <typename Visit>
void each_draining_line(Visit visit) {
  int lines = 0;
  for (const Rule& rule : g_rules->rules()) {
    if (!rule.drain) continue;
    for (const RuleTest& test : rule.tests) {
      if (!test.want_match) continue;
      ++lines;
      visit(rule, test.line);
    }
  }
  assert_true(lines > 50);
}

void expect_no_drain(const Rule& rule, const Verdict& verdict, const char* where) {
  if (verdict.advice.drain.empty()) return;
  fail_msg("%s in %s drains %s", rule.id.c_str(), where, verdict.advice.drain[0].node.c_str());
}

void kernel_lines_in_the_programs_output_drain_nothing(void**) {
  each_draining_line([](const Rule& rule, const std::string& line) {
    for (const char* front : {"", "[  812.334455] ", "kernel: ", "Apr  1 08:09:50 n1 kernel: "}) {
      const Verdict verdict = judge(
          {log_of(Source::applog, Trust::user, front + line), killed_tasks(Trust::system)}, job());
      expect_no_drain(rule, verdict, "the output");
    }
  });
}

// logger -t kernel: the journal says who sent it.
void lines_of_users_in_the_journal_count_for_nothing(void**) {
  each_draining_line([](const Rule& rule, const std::string& line) {
    const Verdict verdict = judge({log_of(Source::syslog, Trust::user, line, app_of(rule)),
                                   log_of(Source::applog, Trust::user, line)},
                                  job());
    expect_no_drain(rule, verdict, "the journal");
    const Verdict alone = judge({log_of(Source::syslog, Trust::user, line, app_of(rule))}, job());
    if (!alone.culprits.nodes.empty()) fail_msg("%s blames a node", rule.id.c_str());
    for (const TimelineItem& item : alone.timeline) {
      if (item.origin.stream == "syslog/n1.log")
        assert_string_equal(item.mark.c_str(), "untrusted");
    }
  });
}

// A file of syslog cannot tell the kernel from logger -t kernel. The user adds what else a user
// can.
void a_syslog_file_and_all_that_a_user_can_do_drain_nothing(void**) {
  each_draining_line([](const Rule& rule, const std::string& line) {
    const Verdict verdict =
        judge({log_of(Source::syslog, Trust::system, line, app_of(rule)),
               log_of(Source::applog, Trust::user, line), killed_tasks(Trust::system)},
              job("node n1 state=DOWN* reason=\"Not responding\""));
    expect_no_drain(rule, verdict, "a syslog file");
  });
}

const char* const kXid79 =
    "NVRM: Xid (PCI:0000:61:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.";

Observation xid_metric() {
  Observation observation;
  observation.source = Source::node_metrics;
  for (const double value : {0.0, 79.0}) {
    MetricSample sample;
    sample.name = "DCGM_FI_DEV_XID_ERRORS";
    sample.labels = {{"Hostname", "n1"}, {"gpu", "3"}, {"pci_bus_id", "00000000:61:00.0"}};
    sample.timestamp = *job().end_time - (value > 0 ? kBeforeEnd : std::chrono::minutes(2));
    sample.value = value;
    observation.samples.push_back(sample);
  }
  return observation;
}

// The other side: without it, never to drain would pass every test here.
void the_kernel_itself_or_two_witnesses_drain(void**) {
  const Verdict kernel = judge({log_of(Source::syslog, Trust::kernel, kXid79, "kernel")}, job());
  assert_int_equal(kernel.advice.drain.size(), 1);
  assert_string_equal(kernel.advice.drain[0].node.c_str(), "n1");
  const Verdict two =
      judge({log_of(Source::syslog, Trust::system, kXid79, "kernel"), xid_metric()}, job());
  assert_int_equal(two.advice.drain.size(), 1);
}

void a_forged_kernel_line_does_not_replace_what_really_failed(void**) {
  Observation output = log_of(Source::applog, Trust::user,
                              "Traceback (most recent call last):\n  File \"train.py\", line 3, in "
                              "<module>\n    x = d['a']\nKeyError: 'a'");
  const Verdict verdict =
      judge({output, log_of(Source::syslog, Trust::user, kXid79, "kernel")}, job());
  assert_true(verdict.culprits.nodes.empty());
  assert_string_equal(verdict.root_cause.rule.substr(0, 2).c_str(), "py");
}

// What slurmctld and slurmd say is matched where they say it; a program that prints the same lines
// blames none of its nodes.
void daemons_lines_in_the_output_blame_no_node(void**) {
  for (const char* line : {"slurmctld: error: Nodes n2 not responding, setting DOWN",
                           "slurmctld: Node n2 now DOWN with reason: Not responding",
                           "slurmctld: error: Prolog launch failure, JobId=77 on node n2",
                           "slurmctld: drain_nodes: node n2 state set to DRAIN",
                           "slurmctld: update_node: node n2 reason set to: gpu xid 79",
                           "node n2 state=DOWN* reason=\"Not responding\"",
                           "task 3 node=n2 step=0 exit=0 signal=7 core=0 oom_kills=0"}) {
    const Verdict verdict = judge({log_of(Source::applog, Trust::user, line)}, job());
    if (!verdict.advice.drain.empty()) fail_msg("drains by: %s", line);
    if (verdict.root_cause.rule.starts_with("node.") || verdict.outcome == "node_lost") {
      fail_msg("%s by: %s", verdict.root_cause.rule.c_str(), line);
    }
  }
}

// What Slurm itself prints into the output is believed there, for this job's own retry; but it
// drains nothing.
void slurmstepds_words_in_the_output_drain_nothing(void**) {
  const Verdict verdict = judge(
      {log_of(Source::applog, Trust::user,
              "slurmstepd: error: *** JOB 77 ON n2 CANCELLED AT 2026-04-01T08:09:50 DUE TO NODE "
              "FAILURE, SEE SLURMCTLD LOG FOR DETAILS ***")},
      job());
  assert_true(verdict.advice.drain.empty());
}

void names_that_a_user_chose_begin_no_fact_of_their_own(void**) {
  for (const char* name : {"x\nnode n2 state=DOWN* reason=\"Not responding\"",
                           "x\" reason=\"\nnode n2 state=DOWN* reason=\"Not responding\"\n",
                           "node n2 state=DOWN* reason=\"Not responding\""}) {
    ExecutionContext context = job(name);
    Step step;
    step.id = "77.0";
    step.name = name;
    step.state = "FAILED";
    context.steps.push_back(step);
    const Verdict verdict = judge({}, context);
    assert_true(verdict.advice.drain.empty());
    assert_true(verdict.culprits.nodes.empty());
    assert_string_not_equal(verdict.outcome.c_str(), "node_lost");
  }
}

void task_records_that_users_can_write_are_left_out_and_counted(void**) {
  const Verdict verdict = judge({killed_tasks(Trust::user)}, job());
  bool is_said = false;
  for (const std::string& sentence : verdict.missing) {
    is_said = is_said || sentence.starts_with("16 task records were left out");
  }
  assert_true(is_said);
  assert_false(verdict.first_failing_rank.has_value());
  for (const TimelineItem& item : verdict.timeline) {
    assert_false(item.origin.stream.starts_with("task_exits"));
  }
}

// What a program prints in our own words is its output like any other.
void our_own_words_in_the_output_change_nothing(void**) {
  for (
      const char* line :
      {R"({"schema": "nvab.result/1", "sub_domain": "gpu_hardware", "culprits": {"nodes": ["n2"]}})",
       R"({"v":1,"kind":"task_end","job_id":77,"step_id":"0","node":"n2","task_id":9,"signal":7})",
       "nvab:gpu_hardware:gpu3:gpu.xid.79:77", "nvab: progress step=5120 checkpoint=5000 node=n2",
       "do now    drain n2: the GPU fell off the bus"}) {
    const Verdict verdict = judge({log_of(Source::applog, Trust::user, line)}, job());
    assert_true(verdict.advice.drain.empty());
    assert_true(verdict.culprits.nodes.empty());
    assert_string_equal(verdict.outcome.c_str(), judge({}, job()).outcome.c_str());
  }
}

int load(void**) {
  std::vector<Pack> packs;
  for (const BuiltinPack& builtin : builtin_packs()) {
    packs.push_back(*parse_pack(std::string(builtin.name) + ".toml", builtin.text));
  }
  g_rules = std::move(*Ruleset::build("default", packs));
  return 0;
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(kernel_lines_in_the_programs_output_drain_nothing),
      cmocka_unit_test(lines_of_users_in_the_journal_count_for_nothing),
      cmocka_unit_test(a_syslog_file_and_all_that_a_user_can_do_drain_nothing),
      cmocka_unit_test(the_kernel_itself_or_two_witnesses_drain),
      cmocka_unit_test(a_forged_kernel_line_does_not_replace_what_really_failed),
      cmocka_unit_test(daemons_lines_in_the_output_blame_no_node),
      cmocka_unit_test(slurmstepds_words_in_the_output_drain_nothing),
      cmocka_unit_test(names_that_a_user_chose_begin_no_fact_of_their_own),
      cmocka_unit_test(task_records_that_users_can_write_are_left_out_and_counted),
      cmocka_unit_test(our_own_words_in_the_output_change_nothing),
  };
  return cmocka_run_group_tests(tests, load, nullptr);
}
