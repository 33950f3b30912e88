// SPDX-License-Identifier: Apache-2.0
// The dashboard's answers, without sockets: what is counted, found, paged, refused.
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <set>

#include "common/base/file.hh"
#include "common/model/result_store.hh"
#include "service/web/csv.hh"
#include "service/web/demo.hh"
#include "service/web/rate.hh"
#include "service/web/web.hh"
#include "tests/cmocka.hh"

using namespace nvab;

namespace {

constexpr int kRuns = 600;
constexpr int kSwitchJobs = 14;  // the demo's outage

// A month of few runs that ends now, and the dashboard on it.
struct Site {
  std::string folder = "/tmp/nvab-web." + std::to_string(::getpid());
  std::unique_ptr<Web> web;

  explicit Site(std::vector<std::string> tokens = {}, std::string prefix = {}) {
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder + "/page");
    assert_true(write_file(folder + "/page/index.html", "<!doctype html>", 0644).has_value());
    assert_true(write_file(folder + "/chart.js", "1", 0644).has_value());
    DemoOptions demo;
    demo.runs = kRuns;
    demo.end = std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now());
    const auto written = write_demo(folder + "/results.db", demo);
    if (!written) fail_msg("%s", written.error().message.c_str());
    WebSettings settings;
    settings.database = folder + "/results.db";
    settings.annotations = folder + "/annotations.db";
    settings.page = folder + "/page";
    settings.chart_library = folder + "/chart.js";
    settings.tokens = std::move(tokens);
    settings.prefix = std::move(prefix);
    auto made = Web::create(settings);
    if (!made) fail_msg("%s", made.error().message.c_str());
    web = std::move(*made);
  }
  ~Site() { std::filesystem::remove_all(folder); }

  Response ask(Method method, std::string target, std::string body = {},
               const RequestHeaders& headers = {}) const {
    Request request;
    request.method = method;
    request.target = target;
    request.headers = headers;
    if (!body.empty() && request.headers.content_type.empty())
      request.headers.content_type = "application/json";
    request.body = std::move(body);
    if (auto answer = web->begin(request)) return std::move(*answer);
    return web->handle(request);
  }
  Response get(const std::string& target) const { return ask(Method::get, target); }
  Json json(const std::string& target) const {
    const Response response = get(target);
    if (response.status != 200) fail_msg("%s: %s", target.c_str(), response.body.c_str());
    return *Json::parse(response.body);
  }
};

// The stable word by which programs tell problems apart.
std::string code(const Response& response) {
  const auto problem = Json::parse(response.body);
  return problem ? problem->get("code").as_string().value_or("") : "";
}

long long number(const Json& json, std::initializer_list<const char*> path) {
  Json at = json;
  for (const char* name : path) at = at.get(name);
  return at.as_int().value_or(-1);
}

void the_overview_counts_each_job_once(void**) {
  const Site site;
  const Json page = site.json("/api/overview?from=40d");
  assert_int_equal(number(page, {"totals", "all", "runs"}), kRuns + kSwitchJobs);
  long long by_state = 0, in_series = 0;
  page.get("totals").get("by_state").each([&](std::string_view, const Json& sum) {
    by_state += number(sum, {"runs"});
  });
  for (const Json& point : page.get("series").elements()) {
    point.get("by_state").each([&](std::string_view, const Json& runs) {
      in_series += runs.as_int().value_or(0);
    });
  }
  assert_int_equal(by_state, kRuns + kSwitchJobs);
  assert_int_equal(in_series, kRuns + kSwitchJobs);
  assert_int_equal(number(page, {"totals", "by_sub_domain", "network_fabric", "runs"}),
                   kSwitchJobs);
  // Completed jobs are not among what was lost.
  assert_false(page.get("totals").get("by_sub_domain").has("none"));
}

void hours_and_days_agree(void**) {
  const Site site;
  // Two days before now, as sums by day and as single runs (a filter by node needs those).
  const Json hours = site.json("/api/overview?from=48h");
  assert_int_equal(number(hours, {"bucket_s"}), 3600);
  const Json list = site.json("/api/runs?from=48h&limit=1000");
  assert_int_equal(number(hours, {"totals", "all", "runs"}), list.get("runs").size());
  const Json fabric = site.json("/api/overview?from=48h&sub_domain=network_fabric");
  assert_int_equal(number(fabric, {"totals", "all", "runs"}), kSwitchJobs);
}

void pages_of_runs_hold_each_run_once(void**) {
  const Site site;
  std::set<long long> seen;
  std::string after;
  for (int page = 0; page < 100; ++page) {
    const Json list = site.json("/api/runs?from=40d&limit=37&after=" + after);
    for (const Json& run : list.get("runs").elements())
      assert_true(seen.insert(number(run, {"run_id"})).second);
    after = list.get("after").as_string().value_or("");
    if (after.empty()) break;
  }
  assert_int_equal(seen.size(), kRuns + kSwitchJobs);
}

void the_search_finds_jobs_nodes_rules_and_words(void**) {
  const Site site;
  const auto found = [&](const std::string& text) {
    return site.json("/api/runs?from=40d&limit=1000&q=" + text).get("runs").size();
  };
  assert_int_equal(found("410007"), 1);
  assert_int_equal(found("fabric.switch.down"), kSwitchJobs);
  assert_int_equal(found("Link%20DOWN"), kSwitchJobs);
  assert_int_equal(found("rack9-n99"), 0);
  // Words that mean something to FTS5 or SQL are words.
  for (const char* text :
       {"%22", "a%22b", "NEAR(", "*", "-x", "';DROP%20TABLE%20run_day;--", "AND"})
    found(text);
  assert_true(found("rack3-n05") > 0);
}

void a_node_that_fails_often_comes_first(void**) {
  const Site site;
  const Json page = site.json("/api/nodes?from=40d");
  assert_true(number(page, {"total"}) > 50);
  double last = 1e9;
  for (const Json& node : page.get("nodes").elements()) {
    const double low = node.get("low").as_double().value_or(-1);
    assert_true(low <= last);
    last = low;
    assert_true(node.get("high").as_double().value_or(0) > low);
  }
  const Json groups = site.json("/api/nodes?from=40d&group=prefix");
  assert_int_equal(number(groups, {"total"}), 6);
  assert_string_equal(groups.get("nodes").at(0).get("node").as_string()->substr(0, 4).c_str(),
                      "rack");
}

void an_outage_is_one_incident(void**) {
  const Site site;
  bool is_found = false;
  for (const Json& incident : site.json("/api/incidents?from=7d").get("incidents").elements()) {
    if (incident.get("cause").as_string() != "leaf_switch_down") continue;
    is_found = true;
    assert_int_equal(number(incident, {"job_count"}), kSwitchJobs);
    assert_int_equal(incident.get("nodes").size(), kSwitchJobs);
  }
  assert_true(is_found);
}

void rates_know_how_little_they_know(void**) {
  // Garwood's exact 90 % bounds for 0, 1 and 10 failures.
  assert_true(failure_rate(0, 1000).low == 0);
  assert_true(std::abs(failure_rate(0, 1).high - 2.996) < 0.06);
  assert_true(std::abs(failure_rate(1, 1).low - 0.0513) < 0.0001);
  assert_true(std::abs(failure_rate(1, 1).high - 4.744) < 0.03);
  assert_true(std::abs(failure_rate(10, 1).low - 5.425) < 0.03);
  assert_true(std::abs(failure_rate(10, 1).high - 16.962) < 0.03);
  assert_true(failure_rate(3, 0).value == 0);
}

void a_remark_stays_with_the_job_and_out_of_the_results(void**) {
  const Site site;
  const std::string id =
      std::to_string(number(site.json("/api/runs?from=40d").get("runs").at(0), {"run_id"}));
  const std::string path = "/api/runs/" + id + "/annotation";
  assert_int_equal(site.ask(Method::post, path, R"({"text": "  "})").status, 422);
  assert_int_equal(
      site.ask(Method::post, path, R"({"text": "x", "sub_domain": "gremlins"})").status, 422);
  assert_string_equal(code(site.ask(Method::post, path, R"({"text": ""})")).c_str(),
                      "bad_annotation");
  assert_string_equal(code(site.get("/api/runs/999999")).c_str(), "no_such_run");
  assert_int_equal(site.ask(Method::post, path, "[").status, 400);
  assert_int_equal(site.ask(Method::post, "/api/runs/999999/annotation", R"({"text": "x"})").status,
                   404);
  // What a form of another site could send.
  RequestHeaders form;
  form.content_type = "text/plain";
  assert_int_equal(site.ask(Method::post, path, R"({"text": "x"})", form).status, 415);
  const std::string said =
      R"({"text": "it was <script>the</script> cable", "author": "ada", "sub_domain": "nvlink"})";
  assert_int_equal(site.ask(Method::post, path, said).status, 201);
  const Json list = site.json("/api/runs/" + id).get("annotations");
  assert_int_equal(list.size(), 1);
  assert_string_equal(list.at(0).get("text").as_string()->c_str(),
                      "it was <script>the</script> cable");
  const Response file = site.get("/api/runs/" + id + "/case");
  assert_non_null(std::strstr(file.body.c_str(), "nvab.case/1"));
  assert_non_null(std::strstr(file.body.c_str(), "cable"));
  assert_int_equal(site.get("/api/runs/nonsense").status, 404);
}

void a_table_is_safe_in_a_spreadsheet(void**) {
  const Json list =
      *Json::parse(R"([{"a": "=1+1", "b": [1], "c": 2.5}, {"a": "x,\"y\"\n", "c": null}])");
  assert_string_equal(csv_of(list).c_str(), "a,c\r\n'=1+1,2.5\r\n\"x,\"\"y\"\"\n\",\r\n");
  assert_string_equal(csv_of(Json::array()).c_str(), "\r\n");
}

void a_token_opens_the_data_and_not_less(void**) {
  const Site site({"correct-horse-battery"});
  assert_int_equal(site.get("/").status, 200);  // the page asks for it
  assert_int_equal(site.get("/api/overview").status, 401);
  assert_int_equal(site.get("/metrics").status, 401);
  RequestHeaders headers;
  headers.authorization = "Bearer correct-horse-battery";
  assert_int_equal(site.ask(Method::get, "/api/overview", "", headers).status, 200);
  headers.authorization = "Bearer correct-horse-batter";
  assert_int_equal(site.ask(Method::get, "/api/overview", "", headers).status, 401);
  assert_int_equal(site.ask(Method::post, "/api/login", R"({"token": "wrong"})").status, 401);
  const Response login =
      site.ask(Method::post, "/api/login", R"({"token": "correct-horse-battery"})");
  assert_int_equal(login.status, 200);
  RequestHeaders cookie;
  cookie.cookie = "a=b; nvab_token=correct-horse-battery";
  assert_int_equal(site.ask(Method::get, "/api/overview", "", cookie).status, 200);
}

std::string header(const Response& response, std::string_view name) {
  for (const auto& [key, value] : response.headers) {
    if (key == name) return value;
  }
  return "";
}

void every_answer_forbids_what_is_not_ours(void**) {
  const Site site({}, "/nvab");
  for (const char* path : {"/", "/nvab/", "/nvab/api/overview", "/nvab/api/nothing",
                           "/static/../../etc/passwd", "/static/index.html"}) {
    const std::string policy = header(site.get(path), "Content-Security-Policy");
    assert_true(policy.starts_with("default-src 'none'; script-src 'self'"));
  }
  assert_int_equal(site.get("/nvab/api/overview").status, 200);
  assert_int_equal(site.get("/static/%2e%2e%2fresults.db").status, 400);
  const Response page = site.get("/nvab/api/runs?from=40d");
  // The window moves with the clock, so a fixed one is asked twice.
  const std::string fixed = "/api/overview?from=2026-01-01T00:00:00Z&to=2026-01-02T00:00:00Z";
  RequestHeaders known;
  const std::string etag = header(site.get(fixed), "ETag");
  known.if_none_match = etag;
  assert_int_equal(site.ask(Method::get, fixed, "", known).status, 304);
  assert_int_equal(site.get("/api/overview?from=yesterday").status, 400);
  assert_int_equal(
      site.get("/api/overview?from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z").status, 400);
}

void a_database_that_is_missing_or_old_is_said_in_words(void**) {
  const Site site;
  std::filesystem::remove(site.folder + "/results.db");
  const Response missing = site.get("/api/overview");
  assert_int_equal(missing.status, 503);
  assert_string_equal(code(missing).c_str(), "results_unavailable");
  assert_non_null(std::strstr(missing.body.c_str(), "results.db"));
  {
    auto store = ResultStore::open(site.folder + "/results.db");
    assert_true((*store)
                    ->database()
                    .execute("UPDATE schema_version SET version = version + 50")
                    .has_value());
  }
  const Response newer = site.get("/api/overview");
  assert_int_equal(newer.status, 503);
  assert_non_null(std::strstr(newer.body.c_str(), "install the version of nvab-run"));
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(the_overview_counts_each_job_once),
      cmocka_unit_test(hours_and_days_agree),
      cmocka_unit_test(pages_of_runs_hold_each_run_once),
      cmocka_unit_test(the_search_finds_jobs_nodes_rules_and_words),
      cmocka_unit_test(a_node_that_fails_often_comes_first),
      cmocka_unit_test(an_outage_is_one_incident),
      cmocka_unit_test(rates_know_how_little_they_know),
      cmocka_unit_test(a_remark_stays_with_the_job_and_out_of_the_results),
      cmocka_unit_test(a_table_is_safe_in_a_spreadsheet),
      cmocka_unit_test(a_token_opens_the_data_and_not_less),
      cmocka_unit_test(every_answer_forbids_what_is_not_ours),
      cmocka_unit_test(a_database_that_is_missing_or_old_is_said_in_words),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
