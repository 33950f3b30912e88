// SPDX-License-Identifier: Apache-2.0
// What the scheduler and the task record say, as the lines that rules match; and metric rules over
// one series of samples.
#include <string>
#include <vector>

#include "common/engine/extract/extractor.hh"
#include "tests/cmocka.hh"

using namespace nvab;

namespace {

Time at(const char* clock) { return *parse_rfc3339(std::string("2026-03-01T") + clock + "Z"); }

ExecutionContext job() {
  ExecutionContext context;
  context.job_id = "1234";
  context.name = "pre \"train\"";
  context.user = "ada";
  context.uid = 1000;
  context.nodes = {"n1", "n2"};
  context.state = "CANCELLED by 1000";
  context.exit_code = ExitCode{0, 15};
  context.reason = "None";
  context.start_time = at("10:00:00");
  context.end_time = at("11:00:00");
  context.time_limit_s = 86400;
  return context;
}

std::string who(const ExecutionContext& context) {
  const std::string fact = scheduler_facts(context).front().message;
  const std::size_t begin = fact.find("cancelled_by=") + 13;
  return fact.substr(begin, fact.find(' ', begin) - begin);
}

constexpr const char* kPack = R"(
[pack]
name = "t"
[[rule]]
id = "m.xid"
role = "cascade"
[rule.metric]
names = ["DCGM_FI_DEV_XID_ERRORS"]
test = "changes_to"
values = [79, 48]
[[rule]]
id = "m.ecc"
role = "cascade"
[rule.metric]
names = ["*_ecc_*"]
test = "increases"
threshold = 3
[[rule]]
id = "m.hot"
role = "cascade"
[rule.metric]
names = ["temperature"]
test = "above"
threshold = 90
hold = "1m"
[[rule]]
id = "m.free"
role = "cascade"
shadow = true
[rule.metric]
names = ["free"]
test = "below"
threshold = 5
)";

struct Point {
  const char* clock;
  double value;
};

// "rule: text" of each event, with the time between two samples in which it happened.
std::vector<std::string> events_of(const char* name, std::initializer_list<Point> points) {
  static const std::unique_ptr<Ruleset> rules = [] {
    const Pack packs[] = {*parse_pack("t.toml", kPack)};
    return std::move(*Ruleset::build("t", packs));
  }();
  std::vector<MetricSample> series;
  for (const Point& point : points) {
    MetricSample sample;
    sample.timestamp = at(point.clock);
    sample.name = name;
    sample.labels = {{"gpu", "3"}, {"UUID", "GPU-1"}};
    sample.node = "n1";
    sample.value = point.value;
    series.push_back(sample);
  }
  std::vector<Event> events;
  extract_series(*rules, series, job(), &events);
  std::vector<std::string> out;
  for (const Event& event : events) {
    assert_string_equal(event.place.observer.c_str(), "n1");
    assert_string_equal(std::string(event.capture("gpu")).c_str(), "3");
    assert_string_equal(std::string(event.capture("uuid")).c_str(), "GPU-1");
    const std::string since =
        event.not_before ? format_rfc3339(*event.not_before).substr(11, 5) + ".." : "";
    out.push_back(event.rule->id + ": " + event.text + " " + since +
                  format_rfc3339(*event.time).substr(11, 5));
  }
  return out;
}

void expect(const std::vector<std::string>& got, std::initializer_list<const char*> wanted) {
  std::string all;
  for (const std::string& one : got) all += one + '\n';
  std::string want;
  for (const char* one : wanted) want += std::string(one) + '\n';
  assert_string_equal(all.c_str(), want.c_str());
}

}  // namespace

static void the_job_its_steps_and_its_nodes_are_facts(void**) {
  ExecutionContext context = job();
  Step step;
  step.id = "1234.0";
  step.name = "python";
  step.state = "FAILED";
  step.exit_code = ExitCode{1, 0};
  step.nodes = {"n1", "n2"};
  step.end = at("10:59:00");
  context.steps = {step};
  NodeEvent down;
  down.node = "n2";
  down.state = "DOWN*";
  down.reason = "Not responding";
  down.start = at("10:58:00");
  context.node_events = {down};
  const std::vector<LogEntry> facts = scheduler_facts(context);
  assert_int_equal(facts.size(), 3);
  assert_string_equal(facts[0].message.c_str(),
                      "job state=CANCELLED exit=0:15 derived=? reason=\"None\" cancelled_by=none "
                      "name=\"pre 'train'\" nodes=2 elapsed_s=3600 limit_s=86400");
  assert_true(facts[0].timestamp == context.end_time);
  assert_string_equal(facts[1].message.c_str(),
                      "step 1234.0 name=\"python\" state=FAILED exit=1:0 nodes=n1,n2 reason=\"\"");
  assert_string_equal(facts[2].message.c_str(), "node n2 state=DOWN* reason=\"Not responding\"");
  assert_true(facts[2].timestamp == down.start && facts[2].trust == Trust::system);
  for (std::size_t i = 0; i < facts.size(); ++i) assert_int_equal(facts[i].origin.line, i + 1);
}

static void a_fact_stays_one_line_whatever_the_scheduler_says(void**) {
  ExecutionContext context = job();
  context.name = "a\x1b[31m\xff b";
  context.end_time = {};
  const LogEntry fact = scheduler_facts(context).front();
  assert_true(fact.message.find("name=\"a\xEF\xBF\xBD b\"") != std::string::npos);
  assert_true(fact.time_quality == TimeQuality::none);
}

static void who_cancelled_is_owner_admin_or_nobody(void**) {
  ExecutionContext context = job();
  const std::pair<const char*, const char*> kRows[] = {
      {"", "none"},      {"none", "none"},
      {"ada", "owner"},  {"ada (uid 1000)", "owner"},
      {"1000", "owner"}, {"root (uid 0)", "admin"},
      {"0", "admin"},    {"bob (uid 1001)", "admin"},
      {"1001", "admin"}, {"bob (uid 1000)", "owner"},
  };
  for (const auto& [by, wanted] : kRows) {
    context.cancelled_by = by;
    assert_string_equal(who(context).c_str(), wanted);
  }
  context.uid = {};
  context.cancelled_by = "1001";
  assert_string_equal(who(context).c_str(), "owner");
  context.cancelled_by = "0";
  assert_string_equal(who(context).c_str(), "admin");
}

static void a_task_end_is_a_fact_with_its_place(void**) {
  TaskExit task;
  task.node = "n3";
  task.step = "0";
  task.task = 2;
  task.signal = 6;
  task.core_dumped = true;
  assert_int_equal(task_facts(task).size(), 0);  // has not ended
  task.end = at("10:59:58");
  const std::vector<LogEntry> facts = task_facts(task);
  assert_int_equal(facts.size(), 1);
  assert_string_equal(facts[0].message.c_str(),
                      "task 2 node=n3 step=0 exit=0 signal=6 core=1 oom_kills=0");
  assert_string_equal(facts[0].node.c_str(), "n3");
  assert_int_equal(*facts[0].task, 2);
  assert_int_equal(*facts[0].rank, 2);
  task.step = "batch";
  assert_false(task_facts(task)[0].rank.has_value());
}

static void a_sticky_gauge_counts_when_it_changes_inside_the_job(void**) {
  const char* name = "DCGM_FI_DEV_XID_ERRORS";
  expect(events_of(name, {{"10:10:00", 0}, {"10:20:00", 79}, {"10:30:00", 79}}),
         {"m.xid: DCGM_FI_DEV_XID_ERRORS 0 -> 79 10:10..10:20"});
  expect(events_of(name, {{"09:10:00", 0}, {"09:20:00", 79}, {"10:30:00", 79}}), {});
  expect(events_of(name, {{"10:10:00", 79}, {"10:20:00", 79}}), {});
  expect(events_of(name, {{"10:10:00", 0}, {"10:20:00", 13}}), {});
  // Exporters scrape late.
  expect(events_of(name, {{"10:59:00", 0}, {"11:01:30", 48}}),
         {"m.xid: DCGM_FI_DEV_XID_ERRORS 0 -> 48 10:59..11:01"});
  expect(events_of(name, {{"10:59:00", 0}, {"11:03:00", 48}}), {});
}

static void a_counter_counts_what_it_gained_also_over_a_reset(void**) {
  expect(events_of("dbe_ecc_total", {{"10:10:00", 5}, {"10:20:00", 6}, {"10:30:00", 8}}),
         {"m.ecc: dbe_ecc_total +3 10:10..10:20"});
  expect(events_of("dbe_ecc_total", {{"10:10:00", 5}, {"10:20:00", 6}, {"10:30:00", 7}}), {});
  expect(events_of("dbe_ecc_total", {{"10:10:00", 500}, {"10:20:00", 4}}),
         {"m.ecc: dbe_ecc_total +4 10:10..10:20"});
  expect(events_of("dbe_ecc_total", {{"09:10:00", 5}, {"09:50:00", 50}, {"10:30:00", 50}}), {});
}

static void a_level_counts_when_it_holds(void**) {
  expect(events_of("temperature", {{"10:10:00", 95}, {"10:10:30", 92}, {"10:11:00", 91}}),
         {"m.hot: temperature 91 10:10"});
  expect(events_of("temperature", {{"10:10:00", 95}, {"10:10:30", 80}, {"10:11:00", 91}}), {});
  expect(events_of("free", {{"10:10:00", 4}}), {"m.free: free 4 10:10"});
  expect(events_of("another", {{"10:10:00", 4}}), {});
}

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(the_job_its_steps_and_its_nodes_are_facts),
      cmocka_unit_test(a_fact_stays_one_line_whatever_the_scheduler_says),
      cmocka_unit_test(who_cancelled_is_owner_admin_or_nobody),
      cmocka_unit_test(a_task_end_is_a_fact_with_its_place),
      cmocka_unit_test(a_sticky_gauge_counts_when_it_changes_inside_the_job),
      cmocka_unit_test(a_counter_counts_what_it_gained_also_over_a_reset),
      cmocka_unit_test(a_level_counts_when_it_holds),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
