// SPDX-License-Identifier: Apache-2.0
// Observations of each source both ways, and ids that follow the content alone.
#include "common/model/observation.hh"

#include <cmath>
#include <cstring>

#include "tests/cmocka.hh"

using namespace nvab;

static Result<Observation> read(std::string_view text) {
  const auto json = Json::parse(text);
  if (!json) fail_msg("%s", json.error().message.c_str());
  return observation_from_json(*json);
}

static Observation must_read(std::string_view text) {
  auto observation = read(text);
  if (!observation) fail_msg("%s", observation.error().message.c_str());
  return *observation;
}

// Reads, prints, and expects the same bytes: for texts in canonical form.
static Observation round_trip(const char* text) {
  const Observation observation = must_read(text);
  assert_string_equal(to_json(observation).dump().c_str(), text);
  return observation;
}

static const char kLog[] =
    R"({"source":"syslog","connector":"log.file.sys","time_interval":)"
    R"({"start":"2026-03-01T10:00:00Z","end":"2026-03-01T11:00:00Z"},"coverage":)"
    R"({"bytes_scanned":123456,"lines_scanned":1000,"bytes_replaced":2,"prefiltered":true,)"
    R"("rules_digest":"sha256:00","truncated":false,"complete_node":"n2",)"
    R"("streams":[{"stream":"n2","node":"n2",)"
    R"("rank":1,"task":2,"first":"2026-03-01T10:00:00Z","last":"2026-03-01T11:00:00Z",)"
    R"("longest_gap_s":12.5,"gap_start":"2026-03-01T10:10:00Z",)"
    R"("gap_end":"2026-03-01T10:10:12.500Z","lines":1000,"last_line":"bye"}]},)"
    R"("entry_timeseries":[{"timestamp":"2026-03-01T10:59:58.123Z","node":"n2","rank":3,"task":4,)"
    R"("local_rank":1,"app":"kernel","pid":12,"severity":"err","facility":"kern",)"
    R"("time_quality":"inherited","trust":"kernel","origin":{"stream":"n2","line":7,)"
    R"("offset":4711},"message":"NVRM: Xid"}]})";

static void log_entries_round_trip(void**) {
  const Observation observation = round_trip(kLog);
  assert_true(observation.source == Source::syslog);
  assert_true(observation.entries[0].trust == Trust::kernel);
  assert_int_equal(observation.entries[0].origin.offset, 4711);
  assert_int_equal(observation.coverage.streams[0].lines, 1000);
}

static void a_plain_entry_needs_only_its_message(void**) {
  const Observation observation =
      must_read(R"({"source":"applog","entry_timeseries":[{"message":"a","stream":"out.log"},)"
                R"({"message":"b","timestamp":"2026-03-01T10:59:58Z","severity":3}]})");
  assert_true(observation.entries[0].time_quality == TimeQuality::none);
  assert_true(observation.entries[0].trust == Trust::user);
  assert_string_equal(observation.entries[0].origin.stream.c_str(), "out.log");
  assert_true(observation.entries[1].time_quality == TimeQuality::exact);
  assert_string_equal(observation.entries[1].severity.c_str(), "3");
  assert_int_equal(observation.size(), 2);
}

static void metric_samples_round_trip_also_those_that_are_no_numbers(void**) {
  const Observation observation = round_trip(
      R"({"source":"node_metrics","connector":"metric.file","time_interval":{"start":null,)"
      R"("end":null},"coverage":{"bytes_scanned":0,"lines_scanned":0,"prefiltered":false,)"
      R"("truncated":false,"streams":[]},"entry_timeseries":[{"timestamp":)"
      R"("2026-03-01T10:59:58Z","name":"DCGM_FI_DEV_XID_ERRORS","labels":{"gpu":"3"},"value":79,)"
      R"("node":"n2"},{"timestamp":"2026-03-01T10:59:58Z","name":"x","labels":{},"value":"NaN"},)"
      R"({"timestamp":"2026-03-01T10:59:58Z","name":"x","labels":{},"value":"-Inf"}]})");
  assert_true(observation.samples[0].value == 79);
  assert_true(std::isnan(observation.samples[1].value));
  assert_true(observation.samples[2].value < -1e300);
}

static void task_exits_round_trip_in_the_task_records_words(void**) {
  const Observation observation = round_trip(
      R"({"source":"task_exits","connector":"log.tasks","time_interval":{"start":null,)"
      R"("end":null},"coverage":{"bytes_scanned":0,"lines_scanned":0,"prefiltered":false,)"
      R"("truncated":false,"streams":[]},"entry_timeseries":[{"node":"n1","step_id":"0",)"
      R"("task_id":3,"local_id":1,"node_id":0,"pid":99,"restart_count":1,"uid":1000,)"
      R"("gpu_ids":["3"],"gpu_pci":["0000:61:00.0"],"start":"2026-03-01T10:00:00Z",)"
      R"("end":"2026-03-01T10:59:58Z","exit_code":1,"signal":9,"core":true,)"
      R"("oom_kill":{"job":1},"stdout":{"path":"/a"},"stderr":{"path":"/b"},"trust":"system"}]})");
  assert_int_equal(*observation.task_exits[0].signal, 9);
  assert_int_equal(*observation.task_exits[0].oom_kills, 1);
  assert_string_equal(observation.task_exits[0].stderr_path.c_str(), "/b");
}

static void flight_dumps_round_trip(void**) {
  const Observation observation = round_trip(
      R"({"source":"flight_recorder","connector":"log.nccl","time_interval":{"start":null,)"
      R"("end":null},"coverage":{"bytes_scanned":0,"lines_scanned":0,"prefiltered":false,)"
      R"("truncated":false,"streams":[]},"entry_timeseries":[{"rank":5,"stream":"dump_5",)"
      R"("groups":[{"id":"0","description":"default_pg","ranks":[0,5],"last_enqueued":9,)"
      R"("last_started":8,"last_completed":7}],"entries":[{"process_group":"0",)"
      R"("op":"all_reduce","state":"started","sequence":9,"sizes":[4096,2],"dtype":"Float",)"
      R"("created":"2026-03-01T10:00:00Z","is_p2p":true}]}]})");
  assert_int_equal(observation.dumps[0].groups[0].last_completed, 7);
  assert_int_equal(observation.dumps[0].entries[0].sizes[0], 4096);
}

static void a_wrong_observation_is_an_error_that_names_the_member(void**) {
  struct Row {
    const char* text;
    const char* member;
  };
  const Row rows[] = {
      {"{}", "'source'"},
      {R"({"source":"rumours"})", "'source'"},
      {R"({"source":"syslog"})", "'entry_timeseries'"},
      {R"({"source":"syslog","entry_timeseries":{}})", "'entry_timeseries'"},
      {R"({"source":"syslog","entry_timeseries":["x"]})", "'entry_timeseries[0]'"},
      {R"({"source":"syslog","entry_timeseries":[{}]})", "'entry_timeseries[0].message'"},
      {R"({"source":"syslog","entry_timeseries":[{"message":"m","rank":"3"}]})",
       "'entry_timeseries[0].rank'"},
      {R"({"source":"syslog","entry_timeseries":[{"message":"m","trust":"much"}]})",
       "'entry_timeseries[0].trust'"},
      {R"({"source":"syslog","entry_timeseries":[{"message":"m","origin":{"line":-1}}]})",
       "'entry_timeseries[0].origin.line'"},
      {R"({"source":"node_metrics","entry_timeseries":[{"name":"x","value":1}]})",
       "'entry_timeseries[0].timestamp'"},
      {R"({"source":"node_metrics","entry_timeseries":)"
       R"([{"name":"x","value":"hot","timestamp":"2026-03-01T10:00:00Z"}]})",
       "'entry_timeseries[0].value'"},
      {R"({"source":"syslog","time_interval":7,"entry_timeseries":[]})", "'time_interval'"},
      {R"({"source":"syslog","coverage":{"streams":[{"lines":"x"}]},"entry_timeseries":[]})",
       "'coverage.streams[0].lines'"},
  };
  for (const Row& row : rows) {
    const auto observation = read(row.text);
    if (observation) fail_msg("%s was read", row.text);
    if (!std::strstr(observation.error().message.c_str(), row.member)) {
      fail_msg("%s: %s", row.text, observation.error().message.c_str());
    }
  }
}

static void an_id_follows_the_content_and_not_the_sender(void**) {
  const Observation one = must_read(kLog);
  Observation other = one;
  other.connector = "log.journald";
  assert_string_equal(observation_id(one).c_str(), observation_id(other).c_str());
  other = one;
  other.entries[0].message += "!";
  assert_string_not_equal(observation_id(one).c_str(), observation_id(other).c_str());
  other = one;
  other.source = Source::applog;
  assert_string_not_equal(observation_id(one).c_str(), observation_id(other).c_str());
  other = one;
  other.coverage.streams[0].lines = 1;
  assert_string_not_equal(observation_id(one).c_str(), observation_id(other).c_str());
  assert_int_equal(observation_id(one).size(), 64);
}

static void every_word_reads_back_as_its_value(void**) {
  for (int i = 0; i <= static_cast<int>(Source::flight_recorder); ++i) {
    assert_true(source_from(to_string(static_cast<Source>(i))) == static_cast<Source>(i));
  }
  for (int i = 0; i <= static_cast<int>(TimeQuality::none); ++i) {
    const auto quality = static_cast<TimeQuality>(i);
    assert_true(time_quality_from(to_string(quality)) == quality);
  }
  for (int i = 0; i <= static_cast<int>(Trust::user); ++i) {
    assert_true(trust_from(to_string(static_cast<Trust>(i))) == static_cast<Trust>(i));
  }
  // Wire names that other programs know.
  assert_true(to_string(Source::applog) == "applog");
  assert_true(to_string(Source::syslog) == "syslog");
  assert_true(to_string(Source::node_metrics) == "node_metrics");
  assert_false(source_from("Applog").has_value());
}

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(log_entries_round_trip),
      cmocka_unit_test(a_plain_entry_needs_only_its_message),
      cmocka_unit_test(metric_samples_round_trip_also_those_that_are_no_numbers),
      cmocka_unit_test(task_exits_round_trip_in_the_task_records_words),
      cmocka_unit_test(flight_dumps_round_trip),
      cmocka_unit_test(a_wrong_observation_is_an_error_that_names_the_member),
      cmocka_unit_test(an_id_follows_the_content_and_not_the_sender),
      cmocka_unit_test(every_word_reads_back_as_its_value),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
