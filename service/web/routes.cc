// SPDX-License-Identifier: Apache-2.0
// The calls of the dashboard.
#include <functional>

#include "common/base/build_info.hh"
#include "common/base/digest.hh"
#include "common/base/text.hh"
#include "common/model/taxonomy.hh"
#include "service/digest.hh"
#include "service/problem.hh"
#include "service/web/csv.hh"
#include "service/web/pages.hh"
#include "service/web/queue_view.hh"
#include "service/web/web.hh"

namespace nvab {
namespace {

constexpr std::size_t kMaxRuns = 1000, kMaxNodes = 20'000;
constexpr std::size_t kMaxAuthor = 100, kMaxText = 4000;

constexpr Problem kPageProblems[] = {Problem::bad_query, Problem::results_unavailable};
constexpr Problem kRunProblems[] = {Problem::no_such_run, Problem::results_unavailable};
constexpr Problem kAnnotationProblems[] = {Problem::no_such_run, Problem::bad_json,
                                           Problem::bad_annotation, Problem::results_unavailable};

Time now() { return std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now()); }

// With an ETag of the content, so that a page that looks again is told that nothing changed.
Response json_response(const Request& request, const Json& json) {
  Response response;
  response.body = json.dump();
  const std::string etag = '"' + sha256_hex(response.body).substr(0, 32) + '"';
  response.with("ETag", etag).with("Cache-Control", "private, no-cache");
  if (request.headers.if_none_match == etag) {
    response.status = 304;
    response.body.clear();
  }
  return response;
}

Response failed(const Error& error) {
  if (error.code == Error::Code::malformed)
    return problem_response(Problem::bad_query, error.message + '.');
  return problem_response(Problem::results_unavailable, error.message + '.');
}

std::size_t limit_of(const Request& request, std::size_t fallback, std::size_t most) {
  const auto text = request.query("limit");
  const auto limit = text ? parse_int(*text) : std::nullopt;
  if (!limit || *limit < 1) return fallback;
  return std::min(most, static_cast<std::size_t>(*limit));
}

using Page = std::function<Result<Json>(Db&, const Filter&, const Request&)>;

// A page about what the filter chooses; as CSV, only the list of that name.
Response answer(Web& web, const Request& request, const char* list, const Page& page) {
  const auto filter = read_filter(request, now());
  if (!filter) return failed(filter.error());
  auto db = web.database().lease();
  if (!db) return failed(db.error());
  const auto json = page(**db, *filter, request);
  if (!json) return failed(json.error());
  if (request.query("format").value_or("") != "csv") return json_response(request, *json);
  Response response;
  response.content_type = "text/csv; charset=utf-8; header=present";
  response.body = csv_of(json->get(list));
  response.with("Content-Disposition",
                std::string("attachment; filename=\"nvab-") + list + ".csv\"");
  return response;
}

Result<Json> overview(Web& web, Db& db, const Filter& filter) {
  auto page = overview_page(db, filter);
  if (!page || web.settings().queue.empty()) return page;
  const auto queue = view_queue(web.settings().queue);
  if (!queue) return page;
  page->set("queue", Json::object()
                         .set("waiting", Json::of(queue->waiting))
                         .set("conflicted", Json::of(queue->conflicted))
                         .set("dead", Json::of(queue->dead))
                         .set("oldest", json_or_null(queue->oldest)));
  return page;
}

Result<std::optional<Json>> find_run(Web& web, const Request& request) {
  const auto id = parse_int(request.id);
  if (!id) return std::optional<Json>();
  auto db = web.database().lease();
  if (!db) return tl::unexpected(db.error());
  return run_page(**db, *id);
}

Response no_such_run() {
  return problem_response(Problem::no_such_run, "It may be of another database.");
}

Response get_run(Web& web, const Request& request) {
  auto page = find_run(web, request);
  if (!page) return failed(page.error());
  if (!*page) return no_such_run();
  if (web.annotations() != nullptr) {
    auto said = web.annotations()->of_context((*page)->get("context_key").as_string().value_or(""));
    if (!said) return failed(said.error());
    (*page)->set("annotations", std::move(*said));
  }
  return json_response(request, **page);
}

// The verdict and what people say of it, to go with its bundle into a bug report or a test.
Response get_case(Web& web, const Request& request) {
  auto page = find_run(web, request);
  if (!page) return failed(page.error());
  if (!*page) return no_such_run();
  Json file = Json::object();
  file.set("schema", Json::of("nvab.case/1")).set("result", (*page)->get("result"));
  if (web.annotations() != nullptr) {
    auto said = web.annotations()->of_context((*page)->get("context_key").as_string().value_or(""));
    if (said) file.set("annotations", std::move(*said));
  }
  Response response;
  response.body = file.dump_pretty();
  response.with("Content-Disposition", "attachment; filename=\"nvab-case-" +
                                           std::to_string(parse_int(request.id).value_or(0)) +
                                           ".json\"");
  return response;
}

Result<Annotation> read_annotation(const Json& body, const Json& run) {
  Annotation annotation;
  annotation.run_id = run.get("run_id").as_int().value_or(0);
  annotation.context_key = run.get("context_key").as_string().value_or("");
  annotation.author = excerpt(sanitize(body.get("author").as_string().value_or("")), kMaxAuthor);
  annotation.text = sanitize(body.get("text").as_string().value_or(""));
  annotation.sub_domain = body.get("sub_domain").as_string().value_or("");
  if (trim(annotation.text).empty())
    return fail(Error::Code::malformed, "text is empty: say what is wrong");
  if (annotation.text.size() > kMaxText) {
    return fail(Error::Code::malformed,
                "text is longer than " + std::to_string(kMaxText) + " bytes");
  }
  if (!annotation.sub_domain.empty() && !sub_domain_from(annotation.sub_domain)) {
    return fail(Error::Code::malformed, "sub_domain is none of the words that verdicts use");
  }
  return annotation;
}

Response post_annotation(Web& web, const Request& request) {
  if (web.annotations() == nullptr) {
    return problem_response(Problem::no_such_path,
                            "Annotations are off: nvab-web was started without --annotations.");
  }
  const auto run = find_run(web, request);
  if (!run) return failed(run.error());
  if (!*run) return no_such_run();
  const auto body = Json::parse(request.body);
  if (!body) return problem_response(Problem::bad_json, body.error().message + '.');
  const auto annotation = read_annotation(*body, **run);
  if (!annotation)
    return problem_response(Problem::bad_annotation, annotation.error().message + '.');
  if (auto done = web.annotations()->add(*annotation, now()); !done) return failed(done.error());
  Response response;
  response.status = 201;
  response.body = "{}";
  return response;
}

Response post_login(Web& web, const Request& request) {
  const auto body = Json::parse(request.body);
  if (!body) return problem_response(Problem::bad_json, body.error().message + '.');
  const std::string given = body->get("token").as_string().value_or("");
  bool is_good = web.settings().tokens.empty();
  for (const std::string& token : web.settings().tokens) is_good |= equal_secrets(given, token);
  if (!is_good) return problem_response(Problem::unauthorized, "This token is not good here.");
  Response response;
  response.body = "{}";
  const std::string path = web.settings().prefix.empty() ? "/" : web.settings().prefix;
  response.with("Set-Cookie", "nvab_token=" + given + "; HttpOnly; SameSite=Strict; Path=" + path);
  return response;
}

Response get_file(Web& web, const Request& request, std::string_view name) {
  if (auto file = web.files().find(name, request)) return std::move(*file);
  return problem_response(Problem::no_such_path, "The page has no such file.");
}

Response get_metrics(Web& web) {
  auto text = web_metrics(web, now());
  if (!text) return failed(text.error());
  Response response;
  response.content_type = "text/plain; version=0.0.4; charset=utf-8";
  response.body = std::move(*text);
  return response;
}

Response get_health() {
  Response response;
  response.body = Json::object()
                      .set("status", Json::of("ok"))
                      .set("version", Json::of(build_info().version))
                      .dump();
  return response;
}

std::vector<Route> page_routes(Web& w) {
  const auto page = [&w](std::string_view pattern, std::string_view operation,
                         std::string_view summary, const char* list, Page make) {
    return Route{
        {.method = Method::get,
         .pattern = pattern,
         .operation = operation,
         .summary = summary,
         .problems = kPageProblems},
        [&w, list, make = std::move(make)](Request& r) { return answer(w, r, list, make); }};
  };
  return {
      page("/api/overview", "getOverview",
           "Runs by state and sub-domain over time, and what was lost", "series",
           [&w](Db& db, const Filter& f, const Request&) { return overview(w, db, f); }),
      page("/api/nodes", "getNodes", "Nodes by how suspicious they are", "nodes",
           [](Db& db, const Filter& f, const Request& r) {
             return nodes_page(
                 db, f, {r.query("group").value_or("") == "prefix", limit_of(r, 200, kMaxNodes)});
           }),
      page("/api/runs", "getRuns", "The latest run of each job, newest first", "runs",
           [](Db& db, const Filter& f, const Request& r) {
             return runs_page(db, f,
                              {r.query("q").value_or(""), r.query("after").value_or(""),
                               limit_of(r, 50, kMaxRuns)});
           }),
      page("/api/incidents", "getIncidents", "Verdicts that share a cause in time and place",
           "incidents",
           [](Db& db, const Filter& f, const Request&) { return incidents_page(db, f); }),
      page("/api/choices", "getChoices", "What filters can be set to", "user",
           [](Db& db, const Filter& f, const Request&) { return choices_page(db, f); }),
  };
}

}  // namespace

std::vector<Route> web_routes(Web& w) {
  std::vector<Route> routes = page_routes(w);
  const std::vector<Route> more = {
      {{.pattern = "/api/runs/{id}",
        .operation = "getRun",
        .summary = "One run with its result",
        .problems = kRunProblems},
       [&w](Request& r) { return get_run(w, r); }},
      {{.pattern = "/api/runs/{id}/case",
        .operation = "getCase",
        .summary = "The run as a file",
        .problems = kRunProblems},
       [&w](Request& r) { return get_case(w, r); }},
      {{.method = Method::post,
        .pattern = "/api/runs/{id}/annotation",
        .operation = "postAnnotation",
        .summary = "Say that a verdict is wrong",
        .body = BodyKind::workload,
        .success = 201,
        .problems = kAnnotationProblems},
       [&w](Request& r) { return post_annotation(w, r); }},
      {{.method = Method::post,
        .pattern = "/api/login",
        .operation = "postLogin",
        .summary = "Trade a token for a cookie",
        .body = BodyKind::workload,
        .is_open = true},
       [&w](Request& r) { return post_login(w, r); }},
      {{.pattern = "/metrics",
        .operation = "getMetrics",
        .summary = "For Prometheus",
        .answer_type = "text/plain"},
       [&w](Request&) { return get_metrics(w); }},
      {{.pattern = "/healthz",
        .operation = "getHealth",
        .summary = "Whether the process is alive",
        .is_open = true},
       [](Request&) { return get_health(); }},
      {{.pattern = "/",
        .operation = "getPage",
        .summary = "The page",
        .answer_type = "text/html",
        .is_open = true},
       [&w](Request& r) { return get_file(w, r, "index.html"); }},
      {{.pattern = "/static/{id}",
        .operation = "getFile",
        .summary = "A file of the page",
        .is_open = true},
       [&w](Request& r) { return get_file(w, r, r.id); }},
  };
  routes.insert(routes.end(), more.begin(), more.end());
  return routes;
}

}  // namespace nvab
