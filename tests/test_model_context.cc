// SPDX-License-Identifier: Apache-2.0
// The workload schema: what bundles and the API spell, wrong types, other versions' members.
#include "common/model/context.hh"

#include <cstring>

#include "common/base/text.hh"
#include "tests/cmocka.hh"

using namespace nvab;

static const char kFull[] =
    R"({"scheduler":"slurm","cluster":"c1","job_id":"1234","attempt":1,)"
    R"("name":"pretrain","user":"ada","account":"nlp","partition":"h100","state":"FAILED",)"
    R"("exit_code":"1:0","derived_exit_code":"0:9","reason":"NonZeroExitCode",)"
    R"("submit_time":"2026-03-01T10:00:00Z","start_time":"2026-03-01T10:00:05Z",)"
    R"("end_time":"2026-03-01T11:00:00Z","time_limit_s":86400,"nodes":["n1","n2"],"ntasks":16,)"
    R"("gpus_per_node":8,"gpus":{"n1":[0,3]},"uid":1000,"req_mem":"64G","cancelled_by":"0",)"
    R"("steps":[{"id":"1234.0","name":"train","state":"FAILED","exit_code":"1:0",)"
    R"("derived_exit_code":null,"start":"2026-03-01T10:00:06Z","end":null,"nodes":["n1"],)"
    R"("reason":null}],"node_events":[{"node":"n2","start":"2026-03-01T10:59:00Z","end":null,)"
    R"("state":"DOWN*","reason":"Not responding"}]})";

static Result<ExecutionContext> read(std::string_view text) {
  const auto json = Json::parse(text);
  if (!json) fail_msg("%s", json.error().message.c_str());
  return context_from_json(*json);
}

static ExecutionContext must_read(std::string_view text) {
  auto context = read(text);
  if (!context) fail_msg("%s", context.error().message.c_str());
  return *context;
}

static void a_full_workload_reads_and_prints_back_byte_for_byte(void**) {
  const ExecutionContext context = must_read(kFull);
  assert_string_equal(to_json(context).dump().c_str(), kFull);
  assert_int_equal(context.attempt, 1);
  assert_int_equal(context.derived_exit_code->signal, 9);
  assert_int_equal(*context.time_limit_s, 86400);
  assert_int_equal(context.gpus.at("n1")[1], 3);
  assert_int_equal(context.steps[0].exit_code->code, 1);
  assert_false(context.steps[0].end.has_value());
  assert_string_equal(context.node_events[0].reason.c_str(), "Not responding");
}

static void logs_may_call_the_job_by_other_ids(void**) {
  const ExecutionContext plain = must_read(R"({"job_id":"1234"})");
  assert_true(plain.is_called("1234"));
  assert_true(plain.is_called("1234.batch"));
  assert_true(plain.is_called("1234+1"));
  assert_false(plain.is_called("123"));
  assert_false(plain.is_called("12345"));

  const char kTask[] = R"({"job_id":"1234_7","other_ids":["1240"]})";
  const ExecutionContext task = must_read(kTask);
  assert_true(task.is_called("1234_7.0"));
  assert_true(task.is_called("1240.0"));
  // The raw id of another task is the array's own id.
  assert_false(task.is_called("1234"));
  assert_false(task.is_called("1234_8"));
  assert_non_null(strstr(to_json(task).dump().c_str(), R"("other_ids":["1240"])"));
  assert_true(must_read(R"({"job_id":"1234_7"})").is_called("1234"));

  const ExecutionContext het = must_read(R"({"job_id":"1234","other_ids":["1234","1235"]})");
  assert_true(het.is_called("1235.0"));
  assert_true(het.is_called("1234+1.0"));
}

static void what_bundles_spell_otherwise_is_the_same(void**) {
  const ExecutionContext context =
      must_read(R"({"job_id":4417,"start":"2026-03-01T10:00:05Z","end":"2026-03-01T11:00:00Z",)"
                R"("nodes":["n[010-011,2]","n2","m1"],"exit_code":137,"req_mem":65536,)"
                R"("steps":[{"id":0,"start_time":"2026-03-01T10:00:06Z","nodes":"n[1-2]"}]})");
  assert_string_equal(context.job_id.c_str(), "4417");
  assert_true(context.start_time == parse_rfc3339("2026-03-01T10:00:05Z"));
  assert_true(context.end_time == parse_rfc3339("2026-03-01T11:00:00Z"));
  assert_string_equal(join(context.nodes, " ").c_str(), "m1 n2 n010 n011");
  assert_int_equal(context.exit_code->code, 137);
  assert_string_equal(context.req_mem.c_str(), "65536");
  assert_string_equal(context.steps[0].id.c_str(), "0");
  assert_true(context.steps[0].start.has_value());
  assert_int_equal(context.steps[0].nodes.size(), 2);
  assert_int_equal(must_read(R"({"nodes":"None assigned"})").nodes.size(), 0);
  assert_int_equal(must_read(R"({"nodes":"n[1-3]"})").nodes.size(), 3);
}

static void missing_and_null_are_not_zero(void**) {
  for (const char* text : {"{}", R"({"exit_code":null,"ntasks":null,"start_time":null,"gpus":null,)"
                                 R"("nodes":null,"steps":null,"name":null,"time_limit_s":null})"}) {
    const ExecutionContext context = must_read(text);
    assert_false(context.exit_code.has_value());
    assert_false(context.ntasks.has_value());
    assert_false(context.gpus_per_node.has_value());
    assert_false(context.start_time.has_value());
    assert_false(context.time_limit_s.has_value());
    assert_true(context.name.empty() && context.nodes.empty() && context.steps.empty());
    assert_true(to_json(context).get("exit_code").is_null());
    assert_true(to_json(context).has("exit_code"));
  }
}

static void a_wrong_type_is_an_error_that_names_the_member(void**) {
  struct Row {
    const char* text;
    const char* member;
  };
  const Row rows[] = {
      {R"({"user":7})", "'user'"},
      {R"({"job_id":1.5})", "'job_id'"},
      {R"({"job_id":[1]})", "'job_id'"},
      {R"({"attempt":"one"})", "'attempt'"},
      {R"({"attempt":-1})", "'attempt'"},
      {R"({"ntasks":99999999999})", "'ntasks'"},
      {R"({"ntasks":1.5})", "'ntasks'"},
      {R"({"exit_code":"abc"})", "'exit_code'"},
      {R"({"exit_code":"1:"})", "'exit_code'"},
      {R"({"start":"yesterday"})", "'start'"},
      {R"({"end_time":12})", "'end_time'"},
      {R"({"nodes":[1]})", "'nodes'"},
      {R"({"nodes":["n[2-1]"]})", "'nodes'"},
      {R"({"nodes":{"a":1}})", "'nodes'"},
      {R"({"nodes":["a[1-150000]","b[1-150000]"]})", "'nodes'"},
      {R"({"gpus":[1]})", "'gpus'"},
      {R"({"gpus":{"n1":["0"]}})", "'gpus.n1'"},
      {R"({"steps":{}})", "'steps'"},
      {R"({"steps":[{},7]})", "'steps[1]'"},
      {R"({"steps":[{"id":"0","exit_code":true}]})", "'steps[0].exit_code'"},
      {R"({"node_events":[{"node":1}]})", "'node_events[0].node'"},
      {"[]", "the document"},
      {"null", "the document"},
  };
  for (const Row& row : rows) {
    const auto context = read(row.text);
    if (context) fail_msg("%s was read", row.text);
    assert_true(context.error().code == Error::Code::malformed);
    if (!std::strstr(context.error().message.c_str(), row.member)) {
      fail_msg("%s: %s", row.text, context.error().message.c_str());
    }
  }
}

static void members_of_other_versions_are_kept_and_written_back(void**) {
  const ExecutionContext context = must_read(R"({"job_id":"1","qos":"high","future":{"a":[1]}})");
  const Json json = to_json(context);
  assert_string_equal(json.get("qos").as_string()->c_str(), "high");
  assert_string_equal(json.get("future").dump().c_str(), R"({"a":[1]})");
  assert_true(must_read(kFull).extra.is_null());
}

static void the_key_tells_attempts_and_clusters_apart(void**) {
  ExecutionContext context = must_read(kFull);
  assert_string_equal(context.key().c_str(), "c1/1234/2026-03-01T10:00:00Z");
  context.submit_time.reset();
  assert_string_equal(context.key().c_str(), "c1/1234/2026-03-01T10:00:05Z");
  context.start_time.reset();
  assert_string_equal(context.key().c_str(), "c1/1234/");
}

static void a_state_is_bared_of_its_decorations(void**) {
  ExecutionContext context;
  const auto base = [&](const char* state) {
    context.state = state;
    return std::string(context.base_state());
  };
  assert_string_equal(base("CANCELLED by 1000").c_str(), "CANCELLED");
  assert_string_equal(base("CANCELLED+").c_str(), "CANCELLED");
  assert_string_equal(base("FAILED").c_str(), "FAILED");
  assert_string_equal(base("").c_str(), "");
}

static void only_a_job_that_may_still_change_is_running(void**) {
  ExecutionContext context;
  for (const char* state : {"RUNNING", "PENDING", "COMPLETING", "SUSPENDED", "REQUEUE_HOLD"}) {
    context.state = state;
    assert_true(context.is_running());
  }
  for (const char* state : {"", "FAILED", "CANCELLED by 0", "NODE_FAIL", "REQUEUED", "WHATEVER"}) {
    context.state = state;
    assert_false(context.is_running());
  }
}

static void a_node_is_found_by_its_whole_name(void**) {
  const ExecutionContext context = must_read(R"({"nodes":["n[1-200]"]})");
  assert_true(context.has_node("n100"));
  assert_false(context.has_node("n201"));
  assert_false(context.has_node("n1.example.org"));
  assert_false(context.has_node("n01"));
}

static void exit_codes_are_read_as_sacct_prints_them(void**) {
  assert_true(parse_exit_code("1:0") == (ExitCode{1, 0}));
  assert_true(parse_exit_code("0:9") == (ExitCode{0, 9}));
  assert_true(parse_exit_code("2") == (ExitCode{2, 0}));
  for (const char* bad : {"", ":", "1:", ":9", "-1:0", "1:0:0", "99999999999:0", "a:b", "1: 0"}) {
    if (parse_exit_code(bad)) fail_msg("'%s' was read", bad);
  }
  assert_string_equal(to_string(ExitCode{137, 9}).c_str(), "137:9");
}

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(a_full_workload_reads_and_prints_back_byte_for_byte),
      cmocka_unit_test(logs_may_call_the_job_by_other_ids),
      cmocka_unit_test(what_bundles_spell_otherwise_is_the_same),
      cmocka_unit_test(missing_and_null_are_not_zero),
      cmocka_unit_test(a_wrong_type_is_an_error_that_names_the_member),
      cmocka_unit_test(members_of_other_versions_are_kept_and_written_back),
      cmocka_unit_test(the_key_tells_attempts_and_clusters_apart),
      cmocka_unit_test(a_state_is_bared_of_its_decorations),
      cmocka_unit_test(only_a_job_that_may_still_change_is_running),
      cmocka_unit_test(a_node_is_found_by_its_whole_name),
      cmocka_unit_test(exit_codes_are_read_as_sacct_prints_them),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
