// SPDX-License-Identifier: Apache-2.0
// Every call of the HTTP API and every error that it may answer, without sockets; each answer is
// held against the OpenAPI document.
#include <unistd.h>

#include <set>
#include <string>

#include "common/base/file.hh"
#include "common/base/text.hh"
#include "service/openapi.hh"
#include "tests/support/service_fixture.hh"

using namespace nvab;
using namespace nvab::test;

namespace {

void a_session_from_its_opening_to_its_end(void**) {
  Fixture f;
  const Reply created = f.post("/v2/attributor", sample_session("77"));
  assert_int_equal(created.status, 201);
  const std::string id = created.text("attributor_id");
  assert_int_equal(id.size(), 32);
  assert_text(created.location, ("/v2/attributor/" + id).c_str());
  assert_int_equal(created.text("session_token").size(), 32);
  assert_true(created.json.get("ruleset").get("digest").as_string()->rfind("sha256:", 0) == 0);

  const std::string at = "/v2/attributor/" + id;
  const Reply empty = f.get(at + "/attribution");
  assert_int_equal(empty.status, 200);
  const Reply taken = f.post(at + "/observation", sample_observation("w2"));
  assert_int_equal(taken.status, 201);
  assert_int_equal(taken.text("observation_id").size(), 64);
  const Reply verdict = f.get(at + "/attribution");
  assert_text(verdict.json.get("root_cause").get("rule").as_string().value_or(""), "gpu.xid.79");
  assert_text(verdict.json.get("culprits").get("nodes").dump(), "[\"w2\"]");
  assert_true(verdict.etag != empty.etag);

  const Reply session = f.get(at);
  assert_int_equal(session.json.get("observations").get("count").as_int().value_or(0), 1);
  assert_text(session.json.get("observations").get("by_source").dump(), "{\"syslog\":1}");
  assert_text(session.json.get("metadata").dump(),
              R"({"agent":"test","tenant":"t","ruleset":"default"})");
  assert_text(session.json.get("workload").get("job_id").as_string().value_or(""), "77");

  const Reply deleted = f.ask({.method = "DELETE", .target = at});
  assert_int_equal(deleted.status, 204);
  assert_text(deleted.body, "");
  assert_text(f.get(at).code, "no_such_session");
  assert_text(f.get(at + "/attribution").code, "no_such_session");
  assert_text(f.post(at + "/observation", sample_observation("w2")).code, "no_such_session");
  assert_text(f.ask({.method = "DELETE", .target = at}).code, "no_such_session");
}

void the_same_context_again_is_a_conflict_that_changes_nothing(void**) {
  Fixture f;
  const std::string id = f.open();
  f.post("/v2/attributor/" + id + "/observation", sample_observation("w1"));
  const std::string before = f.get("/v2/attributor/" + id + "/attribution").body;
  std::string other = sample_session("77");
  const Reply again = f.post("/v2/attributor", other);
  assert_int_equal(again.status, 409);
  assert_text(again.code, "session_exists");
  assert_text(again.text("attributor_id"), id.c_str());
  assert_false(again.json.has("session_token"));
  assert_text(f.get("/v2/attributor/" + id + "/attribution").body, before.c_str());
  assert_int_equal(f.post("/v2/attributor", sample_session("78")).status, 201);
}

void the_same_observation_again_counts_once(void**) {
  Fixture f;
  const std::string at = "/v2/attributor/" + f.open();
  const Reply first = f.post(at + "/observation", sample_observation("w1"));
  const std::string before = f.get(at + "/attribution").body;
  // The same content, written in another way and by another connector.
  Json same = *Json::parse(sample_observation("w1"));
  same.set("connector", Json::of("log.other"));
  const Reply again = f.post(at + "/observation", same.dump_pretty());
  assert_int_equal(again.status, 409);
  assert_text(again.code, "observation_exists");
  assert_text(again.text("observation_id"), first.text("observation_id").c_str());
  assert_text(f.get(at + "/attribution").body, before.c_str());
  assert_int_equal(f.get(at).json.get("observations").get("duplicates").as_int().value_or(0), 1);
}

void an_etag_saves_sending_the_verdict_again(void**) {
  Fixture f;
  const std::string at = "/v2/attributor/" + f.open() + "/attribution";
  const Reply first = f.get(at);
  assert_true(first.etag.size() > 10);
  const Reply same = f.ask({.target = at, .if_none_match = first.etag});
  assert_int_equal(same.status, 304);
  assert_text(same.body, "");
  assert_int_equal(f.ask({.target = at, .if_none_match = "\"x\", " + first.etag}).status, 304);
  assert_int_equal(f.ask({.target = at, .if_none_match = "\"other\""}).status, 200);
}

void a_workload_can_be_updated(void**) {
  Fixture f;
  const std::string id = f.open();
  const std::string at = "/v2/attributor/" + id;
  const Reply patched =
      f.ask({.method = "PATCH",
             .target = at,
             .body = R"({"workload":{"state":"TIMEOUT","end":"2026-01-05T12:00:00Z",
                                         "exit_code":null}})",
             .content_type = "application/merge-patch+json"});
  assert_int_equal(patched.status, 200);
  assert_text(patched.json.get("workload").get("state").as_string().value_or(""), "TIMEOUT");
  assert_text(patched.json.get("workload").get("end_time").as_string().value_or(""),
              "2026-01-05T12:00:00Z");
  assert_true(patched.json.get("workload").get("exit_code").is_null());
  const auto patch = [&](const std::string& body) {
    return f.ask({.method = "PATCH", .target = at, .body = body}).code;
  };
  assert_text(patch(R"({"workload":{"job_id":"78"}})"), "workload_mismatch");
  assert_text(patch(R"({"workload":{"submit_time":null}})"), "workload_mismatch");
  assert_text(patch(R"({"workload":{"state":7}})"), "bad_workload");
  assert_text(patch(R"({"workload":[]})"), "bad_workload");
  assert_text(patch("{"), "bad_json");
  assert_text(f.ask({.method = "PATCH", .target = at + "0", .body = "{}"}).code, "no_such_session");
}

void a_wrong_token_never_deletes(void**) {
  Fixture f;
  const Reply created = f.post("/v2/attributor", sample_session("77"));
  const std::string at = "/v2/attributor/" + created.text("attributor_id");
  const std::string token = created.text("session_token");
  assert_text(f.ask({.method = "DELETE", .target = at, .session_token = "guess"}).code,
              "wrong_token");
  assert_text(f.ask({.method = "DELETE", .target = at + "?session_token=" + token + "0"}).code,
              "wrong_token");
  assert_text(f.ask({.method = "PATCH",
                     .target = at,
                     .body = R"({"workload":{}})",
                     .session_token = "guess"})
                  .code,
              "wrong_token");
  assert_int_equal(f.get(at).status, 200);
  assert_int_equal(f.ask({.method = "DELETE", .target = at, .session_token = token}).status, 204);
}

void sessions_are_listed_by_pages(void**) {
  Fixture f;
  std::set<std::string> opened;
  for (int i = 0; i < 5; ++i) opened.insert(f.open(std::to_string(100 + i)));
  std::set<std::string> listed;
  std::string after;
  int pages = 0;
  for (; pages < 10; ++pages) {
    const Reply page = f.get("/v2/attributor?limit=2&after=" + after);
    assert_int_equal(page.json.get("total").as_int().value_or(0), 5);
    for (const Json& item : page.json.get("attributors").elements()) {
      listed.insert(item.get("attributor_id").as_string().value_or(""));
    }
    after = page.text("next");
    if (after.empty()) break;
  }
  assert_int_equal(pages, 2);
  assert_true(listed == opened);
  for (const char* wrong : {"0", "-1", "x", "", "1e3"}) {
    assert_text(f.get("/v2/attributor?limit=" + std::string(wrong)).code, "bad_query");
  }
}

void v1_speaks_of_the_same_sessions(void**) {
  for (const std::string& base : {std::string("/v1"), std::string("/latest")}) {
    Fixture f;
    const std::string session =
        R"({"workload":{"id":"1234:cycle2:1767607200000000000","type":"slurm","srun_cmd":"unknown",
        "job_start_time":"2026-01-05T10:00:00Z","job_end_time":"2026-01-05T11:00:00Z",
        "status":"FAILED","nranks":16,"ranks_per_node":8,"nodes":["w1","w2"],"name":"pretrain",
        "username":"ada","framework":"unknown","exit_code_signal":1},
        "metadata":{"cluster":"c9","agent":"x","tenant":"nlp","ruleset":"default"}})";
    const Reply created = f.post(base + "/attributor", session);
    assert_int_equal(created.status, 201);
    const std::string id = created.text("attributor_id");
    assert_int_equal(f.post(base + "/attributor", session).status, 409);
    const Reply same = f.get("/v2/attributor/" + id);
    const Json workload = same.json.get("workload");
    assert_text(workload.get("job_id").as_string().value_or(""), "1234");
    assert_int_equal(workload.get("attempt").as_int().value_or(0), 2);
    assert_text(workload.get("cluster").as_string().value_or(""), "c9");
    assert_text(workload.get("exit_code").as_string().value_or(""), "1:0");
    assert_int_equal(workload.get("ntasks").as_int().value_or(0), 16);

    const std::string observation =
        R"({"context":{"time_interval":{"start":"2026-01-05T10:00:00Z","end":"2026-01-05T11:00:00Z"},
        "resources":"AllJobResources","source":"syslog","format":"raw_loki_streams"},
        "body":"[{\"stream\":{\"job\":\"j\",\"app\":\"dmesg\",\"hostname\":\"w1\"},\"values\":[[\"1767610740000000000\",\"{\\\"body\\\":\\\"NVRM: Xid (PCI:0000:41:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.\\\",\\\"severity\\\":\\\"err\\\",\\\"attributes\\\":{\\\"hostname\\\":\\\"w1\\\",\\\"appname\\\":\\\"kernel\\\",\\\"facility\\\":0},\\\"resources\\\":{}}\"]]}]"})";
    const std::string at = base + "/attributor/" + id;
    assert_int_equal(f.post(at + "/observation", observation).status, 201);
    assert_int_equal(f.post(at + "/observation", observation).status, 409);
    // The other wire format tells of the other node.
    assert_int_equal(
        f.post("/v2/attributor/" + id + "/observation", sample_observation("w2", 59)).status, 201);
    const Reply verdict = f.get(at + "/attribution");
    assert_int_equal(verdict.status, 200);
    assert_text(verdict.text("attributor_id"), id.c_str());
    bool blames_w1 = false;
    for (const Json& item : verdict.json.get("attributions").elements()) {
      assert_text(item.get("type").as_string().value_or(""), "NodeAttribution");
      if (item.get("node").as_string() == "w1") blames_w1 = item.get("attributions").size() > 0;
    }
    assert_true(blames_w1);
    assert_int_equal(f.ask({.method = "DELETE", .target = at}).status, 204);
    assert_text(f.get("/v2/attributor/" + id).code, "no_such_session");
    assert_text(f.get(at + "/attribution").code, "no_such_session");
    assert_text(f.post(at + "/observation", observation).code, "no_such_session");
    for (const char* wrong : {"{}", R"({"workload":{}})", R"({"workload":{"id":[]}})",
                              R"({"workload":{"id":"1","nranks":-1}})"}) {
      assert_text(f.post(base + "/attributor", wrong).code, "bad_workload");
    }
  }
}

void v1_sessions_differ_by_their_whole_id(void**) {
  Fixture f;
  const auto open = [&](const std::string& id) {
    return f.post("/v1/attributor", R"({"workload":{"id":")" + id + "\"}}");
  };
  const Reply first = open("9:cycle0:1"), second = open("9:cycle0:2");
  assert_int_equal(first.status, 201);
  assert_int_equal(second.status, 201);
  assert_true(first.text("attributor_id") != second.text("attributor_id"));
}

void rules_are_reloaded_and_broken_ones_refused(void**) {
  char folder[] = "/tmp/nvab-rules-XXXXXX";
  assert_non_null(::mkdtemp(folder));
  static std::string path;
  path = folder;
  Fixture f([](ServiceSettings* s) { s->rulesets = {{"default", path}, {"other", path}}; });
  const auto digest = [&] {
    return f.get("/v2/rulesets").json.get("rulesets").at(0).get("digest").as_string().value_or("");
  };
  const std::string before = digest();
  const std::string id = f.open();
  const std::string pack = path + "/site.toml";
  assert_true(write_file(pack, R"([pack]
name = "site"
version = "7"
[[rule]]
id = "app.site"
title = "Site rule"
source = ["applog"]
match = 'FROBNICATOR overheated'
role = "root"
outcome = "user_exception"
strength = 90
)")
                  .has_value());
  const Reply outside = f.ask({.method = "POST", .target = "/v2/admin/reload"});
  assert_text(outside.code, "no_such_path");
  const Call reload{.method = "POST", .target = "/v2/admin/reload", .door = Door::admin};
  assert_int_equal(f.ask(reload).status, 200);
  const std::string after = digest();
  assert_true(before != after);
  assert_int_equal(f.get("/v2/rulesets").json.get("rulesets").size(), 2);
  // A session keeps the rules that it was created with.
  const auto digest_of = [&](const std::string& session) {
    const Reply verdict = f.get("/v2/attributor/" + session + "/attribution");
    return verdict.json.get("ruleset").get("digest").as_string().value_or("");
  };
  assert_text(digest_of(id), before.c_str());
  const std::string later = f.open("78");
  assert_text(digest_of(later), after.c_str());
  assert_true(write_file(pack, "[[rule]]\nid = \n").has_value());
  const Reply broken = f.ask(reload);
  assert_int_equal(broken.status, 500);
  assert_text(broken.code, "rules_broken");
  assert_true(broken.text("detail").find("site.toml:2") != std::string::npos);
  assert_text(digest(), after.c_str());
  const std::string metrics = f.get("/metrics").body;
  assert_true(metrics.find("nvab_rule_reloads_total{result=\"failed\"} 1") != std::string::npos);
  // Another ruleset is another session about the same context.
  Json other = *Json::parse(sample_session("77"));
  other.set("metadata", Json::object().set("ruleset", Json::of("other")));
  const Reply second = f.post("/v2/attributor", other.dump());
  assert_int_equal(second.status, 201);
  assert_true(second.text("attributor_id") != id);
  ::unlink(pack.c_str());
  ::rmdir(path.c_str());
}

void observations_filtered_by_other_rules_are_taken_with_a_warning(void**) {
  Fixture f;
  const Reply created = f.post("/v2/attributor", sample_session("77"));
  const std::string at = "/v2/attributor/" + created.text("attributor_id");
  Json filtered = *Json::parse(sample_observation("w1"));
  const auto with_digest = [&](const std::string& digest) {
    filtered.set(
        "coverage",
        Json::object().set("prefiltered", Json::of(true)).set("rules_digest", Json::of(digest)));
    return f.post(at + "/observation", filtered.dump());
  };
  const Reply other = with_digest("sha256:00");
  assert_int_equal(other.status, 201);
  assert_int_equal(other.json.get("warnings").size(), 1);
  const Reply own = with_digest(created.json.get("ruleset").get("digest").as_string().value_or(""));
  assert_int_equal(own.status, 201);
  assert_false(own.json.has("warnings"));
}

void every_problem_that_a_handler_can_answer_was_seen_or_is_of_the_server(void**) {
  // Those that need sockets, a disk or a fault are tested where these are.
  const std::set<std::string_view> elsewhere = {
      "bad_header",        "request_timeout",      "too_many_connections_of_client",
      "internal",          "too_many_connections", "journal_unavailable",
      "unsupported_format"};
  const std::string here = *read_file(source_path("tests/test_service_contract.cc"), 1 << 20) +
                           *read_file(source_path("tests/test_service_limits.cc"), 1 << 20) +
                           *read_file(source_path("tests/test_web.cc"), 1 << 20);
  for (const ProblemRow& row : problems()) {
    const bool is_here = here.find("\"" + std::string(row.code) + "\"") != std::string::npos ||
                         row.code == "bad_path" || row.code == "method_not_allowed";
    if (!is_here && !elsewhere.contains(row.code)) fail_msg("%s", std::string(row.code).c_str());
  }
}

void the_document_describes_every_route(void**) {
  Fixture f;
  const Json document = f.get("/openapi.json").json;
  std::set<std::string> operations;
  std::size_t described = 0;
  document.get("paths").each([&](std::string_view, const Json& path) {
    path.each([&](std::string_view, const Json& operation) {
      ++described;
      operations.insert(operation.get("operationId").as_string().value_or(""));
    });
  });
  std::size_t routes = 0;
  for (const Route& route : f.service->router().routes()) {
    if (route.spec.is_admin) continue;
    ++routes;
    const Json operation =
        document.get("paths").get(route.spec.pattern).get(lower(to_string(route.spec.method)));
    assert_text(operation.get("operationId").as_string().value_or(""),
                std::string(route.spec.operation).c_str());
  }
  assert_int_equal(described, routes);
  assert_int_equal(operations.size(), routes);
}

void metrics_count_what_happened(void**) {
  Fixture f;
  const std::string at = "/v2/attributor/" + f.open();
  f.post(at + "/observation", sample_observation("w1"));
  f.post(at + "/observation", sample_observation("w1"));
  f.get(at + "/attribution");
  f.get("/nowhere");
  const std::string text = f.get("/metrics").body;
  for (const char* line :
       {"nvab_sessions 1\n", "nvab_observations_total{result=\"accepted\"} 1\n",
        "nvab_observations_total{result=\"duplicate\"} 1\n",
        "nvab_rule_hits_total{rule=\"gpu.xid.79\"} 1\n",
        "nvab_http_requests_total{operation=\"postObservation\",status=\"409\"} 1\n",
        "nvab_http_requests_total{operation=\"none\",status=\"404\"} 1\n",
        "nvab_entries_total 1\n"}) {
    if (text.find(line) == std::string::npos) fail_msg("no %s in %s", line, text.c_str());
  }
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(a_session_from_its_opening_to_its_end),
      cmocka_unit_test(the_same_context_again_is_a_conflict_that_changes_nothing),
      cmocka_unit_test(the_same_observation_again_counts_once),
      cmocka_unit_test(an_etag_saves_sending_the_verdict_again),
      cmocka_unit_test(a_workload_can_be_updated),
      cmocka_unit_test(a_wrong_token_never_deletes),
      cmocka_unit_test(sessions_are_listed_by_pages),
      cmocka_unit_test(v1_speaks_of_the_same_sessions),
      cmocka_unit_test(v1_sessions_differ_by_their_whole_id),
      cmocka_unit_test(rules_are_reloaded_and_broken_ones_refused),
      cmocka_unit_test(observations_filtered_by_other_rules_are_taken_with_a_warning),
      cmocka_unit_test(every_problem_that_a_handler_can_answer_was_seen_or_is_of_the_server),
      cmocka_unit_test(the_document_describes_every_route),
      cmocka_unit_test(metrics_count_what_happened),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
