// SPDX-License-Identifier: Apache-2.0
// See openapi.hh. The schemas name the members that programs rely on; nvab-service(8) and
// nvab-result(5) say what they mean.
#include "service/openapi.hh"

#include <algorithm>
#include <cassert>
#include <map>
#include <string>

#include "common/base/build_info.hh"
#include "common/base/json.hh"
#include "common/base/text.hh"

namespace nvab {
namespace {

// Of any call; those with a body have more.
constexpr Problem kAnyProblems[] = {Problem::bad_path,
                                    Problem::bad_header,
                                    Problem::unauthorized,
                                    Problem::body_too_large,
                                    Problem::too_many_connections_of_client,
                                    Problem::internal,
                                    Problem::too_many_connections,
                                    Problem::out_of_memory,
                                    Problem::stopping};
constexpr Problem kBodyProblems[] = {Problem::bad_encoding, Problem::request_timeout,
                                     Problem::unsupported_media_type,
                                     Problem::unsupported_encoding};

constexpr std::string_view kSchemas = R"json({
"Problem": {"type": "object", "required": ["type", "title", "status", "code"], "properties": {
  "type": {"type": "string"}, "title": {"type": "string"}, "status": {"type": "integer"},
  "code": {"type": "string"}, "detail": {"type": "string"},
  "attributor_id": {"type": "string"}, "observation_id": {"type": "string"}}},
"RulesetName": {"type": "object", "required": ["name", "version", "digest"], "properties": {
  "name": {"type": "string"}, "version": {"type": "string"}, "digest": {"type": "string"}}},
"RulesetList": {"type": "object", "required": ["rulesets"], "properties": {
  "rulesets": {"type": "array", "items": {"$ref": "#/components/schemas/RulesetName"}}}},
"Workload": {"type": "object", "required": ["job_id"], "properties": {
  "scheduler": {"type": ["string", "null"], "enum": ["slurm", "kueue", "static", null]},
  "cluster": {"type": ["string", "null"]}, "job_id": {"type": ["string", "integer"]},
  "attempt": {"type": "integer", "minimum": 0}, "name": {"type": ["string", "null"]},
  "user": {"type": ["string", "null"]}, "account": {"type": ["string", "null"]},
  "partition": {"type": ["string", "null"]}, "state": {"type": ["string", "null"]},
  "exit_code": {"type": ["string", "null"]}, "derived_exit_code": {"type": ["string", "null"]},
  "reason": {"type": ["string", "null"]},
  "submit_time": {"type": ["string", "null"], "format": "date-time"},
  "start_time": {"type": ["string", "null"], "format": "date-time"},
  "end_time": {"type": ["string", "null"], "format": "date-time"},
  "time_limit_s": {"type": ["integer", "null"]},
  "nodes": {"type": "array", "items": {"type": "string"}},
  "ntasks": {"type": ["integer", "null"]}, "gpus_per_node": {"type": ["integer", "null"]},
  "gpus": {"type": "object"}, "uid": {"type": ["integer", "null"]},
  "req_mem": {"type": ["string", "null"]}, "cancelled_by": {"type": ["string", "null"]},
  "steps": {"type": "array", "items": {"type": "object"}},
  "node_events": {"type": "array", "items": {"type": "object"}}}},
"Metadata": {"type": "object", "properties": {"agent": {"type": "string"},
  "tenant": {"type": "string"}, "ruleset": {"type": "string"}}},
"NewAttributor": {"type": "object", "required": ["workload"], "properties": {
  "workload": {"$ref": "#/components/schemas/Workload"},
  "metadata": {"$ref": "#/components/schemas/Metadata"}}},
"AttributorPatch": {"type": "object", "required": ["workload"], "properties": {
  "workload": {"type": "object"}}},
"CreatedAttributor": {"type": "object", "required": ["attributor_id", "session_token", "ruleset"],
  "properties": {"attributor_id": {"type": "string"}, "session_token": {"type": "string"},
  "ruleset": {"$ref": "#/components/schemas/RulesetName"}}},
"AttributorList": {"type": "object", "required": ["attributors", "total", "next"], "properties": {
  "attributors": {"type": "array", "items": {"type": "object", "required": ["attributor_id",
    "created", "age_s", "idle_s", "observations"]}},
  "total": {"type": "integer"}, "next": {"type": ["string", "null"]}}},
"Attributor": {"type": "object", "required": ["attributor_id", "created", "age_s", "idle_s",
  "ruleset", "observations", "events", "metadata", "workload"], "properties": {
  "attributor_id": {"type": "string"}, "created": {"type": "string", "format": "date-time"},
  "age_s": {"type": "integer"}, "idle_s": {"type": "integer"},
  "ruleset": {"$ref": "#/components/schemas/RulesetName"},
  "observations": {"type": "object", "required": ["count", "duplicates", "entries", "by_source"]},
  "complete_nodes": {"type": "array", "items": {"type": "string"}},
  "events": {"type": "integer"}, "metadata": {"type": "object"},
  "workload": {"$ref": "#/components/schemas/Workload"}}},
"Observation": {"type": "object", "required": ["source", "entry_timeseries"], "properties": {
  "source": {"type": "string", "enum": ["applog", "syslog", "node_metrics", "scheduler",
    "task_exits", "flight_recorder"]},
  "connector": {"type": "string"},
  "time_interval": {"type": "object", "properties": {
    "start": {"type": ["string", "null"], "format": "date-time"},
    "end": {"type": ["string", "null"], "format": "date-time"}}},
  "coverage": {"type": "object", "properties": {"bytes_scanned": {"type": "integer"},
    "lines_scanned": {"type": "integer"}, "prefiltered": {"type": "boolean"},
    "rules_digest": {"type": "string"}, "truncated": {"type": "boolean"},
    "complete_node": {"type": "string"}, "streams": {"type": "array", "items": {"type": "object"}}}},
  "entry_timeseries": {"type": "array", "items": {"type": "object"}}}},
"TakenObservation": {"type": "object", "required": ["observation_id"], "properties": {
  "observation_id": {"type": "string"},
  "warnings": {"type": "array", "items": {"type": "string"}}}},
"NodeAttribution": {"type": "object", "required": ["type", "node", "attributions"], "properties": {
  "type": {"type": "string", "const": "NodeAttribution"}, "node": {"type": "string"},
  "attributions": {"type": "array", "items": {"type": "string"}}}},
"Verdict": {"type": "object", "required": ["schema", "outcome", "root_cause", "culprits",
  "first_failing_rank", "advice", "progress", "timeline", "victims", "alternatives",
  "attributions", "missing", "ruleset"], "properties": {
  "schema": {"type": "string", "const": "nvab.verdict/1"}, "outcome": {"type": "string"},
  "first_failing_rank": {"type": ["integer", "null"]}, "advice": {"type": "object"},
  "culprits": {"type": "object"}, "timeline": {"type": "array"},
  "attributions": {"type": "array", "items": {"$ref": "#/components/schemas/NodeAttribution"}},
  "missing": {"type": "array", "items": {"type": "string"}},
  "ruleset": {"$ref": "#/components/schemas/RulesetName"}}},
"NewAttributorV1": {"type": "object", "required": ["workload"], "properties": {
  "workload": {"type": "object", "required": ["id"], "properties": {
    "id": {"type": ["string", "integer"]}, "type": {"type": "string"},
    "job_start_time": {"type": "string"}, "job_end_time": {"type": "string"},
    "status": {"type": "string"}, "nranks": {"type": "integer"},
    "ranks_per_node": {"type": "integer"},
    "nodes": {"type": "array", "items": {"type": "string"}}, "name": {"type": "string"},
    "username": {"type": "string"}, "exit_code_signal": {"type": ["integer", "string"]}}},
  "metadata": {"type": "object", "properties": {"cluster": {"type": "string"},
    "agent": {"type": "string"}, "tenant": {"type": "string"}, "ruleset": {"type": "string"}}}}},
"ObservationV1": {"type": "object", "required": ["context", "body"], "properties": {
  "context": {"type": "object", "required": ["source", "format"], "properties": {
    "time_interval": {"type": "object"}, "resources": {"type": "string"},
    "source": {"type": "string", "enum": ["applog", "syslog", "node_metrics"]},
    "format": {"type": "string", "enum": ["raw_loki_streams", "prometheus_metrics"]}}},
  "body": {"type": "string"}}},
"VerdictV1": {"allOf": [{"$ref": "#/components/schemas/Verdict"},
  {"type": "object", "required": ["attributor_id"]}]},
"Health": {"type": "object", "required": ["status", "ready", "version"], "properties": {
  "status": {"type": "string"}, "ready": {"type": "boolean"}, "version": {"type": "string"}}},
"Document": {"type": "object", "required": ["openapi", "paths"]},
"Readiness": {"type": "object", "required": ["status"], "properties": {
  "status": {"type": "string"}}}
})json";

Json schema_ref(std::string_view name) {
  return Json::object().set(
      "schema", Json::object().set("$ref", Json::of("#/components/schemas/" + std::string(name))));
}

Json content(std::string_view type, std::string_view schema) {
  Json media = schema.empty()
                   ? Json::object().set("schema", Json::object().set("type", Json::of("string")))
                   : schema_ref(schema);
  return Json::object().set(type, std::move(media));
}

Json responses_of(const RouteSpec& spec) {
  std::map<int, std::string> codes;  // status -> codes, for people
  const auto add = [&](std::span<const Problem> problems) {
    for (const Problem problem : problems) {
      const ProblemRow& row = row_of(problem);
      std::string& text = codes[row.status];
      text += (text.empty() ? "" : ", ") + std::string(row.code);
    }
  };
  add(spec.problems);
  add(kAnyProblems);
  if (spec.body != BodyKind::none) add(kBodyProblems);
  if (!spec.is_open) codes[503] += ", starting";
  Json out = Json::object();
  Json success = Json::object().set("description", Json::of(spec.summary));
  if (spec.success != 204) success.set("content", content(spec.answer_type, spec.answer_schema));
  out.set(std::to_string(spec.success), std::move(success));
  if (spec.operation == "getAttribution") {
    out.set("304", Json::object().set("description", Json::of("It is the one of If-None-Match")));
  }
  for (const auto& [status, text] : codes) {
    Json answer = Json::object().set("description", Json::of(text));
    answer.set("content", content("application/problem+json", "Problem"));
    out.set(std::to_string(status), std::move(answer));
  }
  return out;
}

Json parameter(std::string_view name, std::string_view place, bool is_required) {
  Json out = Json::object();
  out.set("name", Json::of(name)).set("in", Json::of(place));
  out.set("required", Json::of(is_required));
  out.set("schema", Json::object().set("type", Json::of("string")));
  return out;
}

Json parameters_of(const RouteSpec& spec) {
  Json out = Json::array();
  if (spec.pattern.find("{id}") != std::string_view::npos) out.push(parameter("id", "path", true));
  if (spec.operation == "listAttributors") {
    out.push(parameter("limit", "query", false)).push(parameter("after", "query", false));
    out.push(parameter("job_id", "query", false));
  }
  if (spec.method == Method::del || spec.method == Method::patch) {
    out.push(parameter("X-Session-Token", "header", false));
  }
  if (spec.operation == "getAttribution") out.push(parameter("If-None-Match", "header", false));
  if (spec.body != BodyKind::none) out.push(parameter("Content-Encoding", "header", false));
  return out;
}

Json operation_of(const RouteSpec& spec) {
  Json out = Json::object();
  out.set("operationId", Json::of(spec.operation)).set("summary", Json::of(spec.summary));
  if (const Json parameters = parameters_of(spec); parameters.size() > 0) {
    out.set("parameters", parameters);
  }
  if (spec.body != BodyKind::none) {
    out.set("requestBody", Json::object()
                               .set("required", Json::of(true))
                               .set("content", content("application/json", spec.body_schema)));
  }
  out.set("responses", responses_of(spec));
  if (spec.is_open) out.set("security", Json::array());
  return out;
}

}  // namespace

std::string openapi_json(const Router& router) {
  Json paths = Json::object();
  for (const Route& route : router.routes()) {
    const RouteSpec& spec = route.spec;
    // Calls of the administrator's socket are not for those who read this.
    if (spec.is_admin) continue;
    if (!paths.has(spec.pattern)) paths.set(spec.pattern, Json::object());
    Json path = paths.get(spec.pattern);
    path.set(lower(to_string(spec.method)), operation_of(spec));
  }
  const auto schemas = Json::parse(kSchemas);
  assert(schemas.has_value());
  Json bearer = Json::object().set("type", Json::of("http")).set("scheme", Json::of("bearer"));
  Json out = Json::object();
  out.set("openapi", Json::of("3.1.0"));
  out.set("info", Json::object()
                      .set("title", Json::of("nvab-service"))
                      .set("version", Json::of(build_info().version)));
  out.set("paths", std::move(paths));
  Json components = Json::object().set("schemas", *schemas);
  components.set("securitySchemes", Json::object().set("bearer", std::move(bearer)));
  out.set("components", std::move(components));
  // Either, as the site has it: a token, or none.
  Json security = Json::array().push(Json::object());
  security.push(Json::object().set("bearer", Json::array()));
  out.set("security", std::move(security));
  return out.dump();
}

}  // namespace nvab
