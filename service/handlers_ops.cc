// SPDX-License-Identifier: Apache-2.0
// Calls for those who run the service: is it well, what does it do, which rules does it have.
#include "common/base/build_info.hh"
#include "service/handlers.hh"

namespace nvab {
namespace {

constexpr Problem kReadyProblems[] = {Problem::starting, Problem::stopping};
constexpr Problem kReloadProblems[] = {Problem::rules_broken};

Response json_response(const Json& json) {
  Response response;
  response.body = json.dump();
  return response;
}

Response get_health(Service& service) {
  Json out = Json::object();
  out.set("status", Json::of("ok")).set("ready", Json::of(service.is_ready()));
  out.set("version", Json::of(build_info().version));
  return json_response(out);
}

Response get_ready(Service& service) {
  if (!service.is_ready()) return problem_response(Problem::starting, "Ask again in a moment.");
  return json_response(Json::object().set("status", Json::of("ready")));
}

Response get_metrics(Service& service) {
  Response response;
  response.content_type = "text/plain; version=0.0.4; charset=utf-8";
  response.body = service.metrics_text();
  return response;
}

Response get_openapi(Service& service) {
  Response response;
  response.body = service.openapi();
  return response;
}

Json names_json(Service& service) {
  Json list = Json::array();
  for (const RulesetName& name : service.rulesets().names()) {
    list.push(Json::object()
                  .set("name", Json::of(name.name))
                  .set("version", Json::of(name.version))
                  .set("digest", Json::of(name.digest)));
  }
  return Json::object().set("rulesets", std::move(list));
}

Response reload_rules(Service& service) {
  const auto done = service.reload();
  if (!done) return problem_response(Problem::rules_broken, done.error().message);
  return json_response(names_json(service));
}

}  // namespace

std::vector<Route> routes_ops(Service& s) {
  return {
      {{.method = Method::get,
        .pattern = "/v2/healthz",
        .operation = "getHealth",
        .summary = "Whether the process is alive",
        .answer_schema = "Health",
        .is_open = true},
       [&s](Request&) { return get_health(s); }},
      {{.method = Method::get,
        .pattern = "/v2/readyz",
        .operation = "getReadiness",
        .summary = "Whether it takes requests: its journal is read, and it is not about to end",
        .answer_schema = "Readiness",
        .problems = kReadyProblems,
        .is_open = true},
       [&s](Request&) { return get_ready(s); }},
      {{.method = Method::get,
        .pattern = "/v2/rulesets",
        .operation = "listRulesets",
        .summary = "The rules by which sessions that are opened now are judged",
        .answer_schema = "RulesetList"},
       [&s](Request&) { return json_response(names_json(s)); }},
      {{.method = Method::get,
        .pattern = "/metrics",
        .operation = "getMetrics",
        .summary = "Counters, for Prometheus",
        .answer_type = "text/plain"},
       [&s](Request&) { return get_metrics(s); }},
      {{.method = Method::get,
        .pattern = "/openapi.json",
        .operation = "getOpenapi",
        .summary = "This document",
        .answer_schema = "Document",
        .is_open = true},
       [&s](Request&) { return get_openapi(s); }},
      {{.method = Method::post,
        .pattern = "/v2/admin/reload",
        .operation = "reloadRules",
        .summary = "Load the rules again; when they are broken, the old ones stay",
        .answer_schema = "RulesetList",
        .problems = kReloadProblems,
        .is_admin = true},
       [&s](Request&) { return reload_rules(s); }},
  };
}

}  // namespace nvab
