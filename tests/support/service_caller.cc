// SPDX-License-Identifier: Apache-2.0
// See service_caller.hh.
#include "tests/support/service_caller.hh"

#include <fmt/core.h>

#include "common/base/text.hh"

namespace nvab::test {
namespace {

// Whether `value` is what the schema says, as far as its type, required members and properties go.
std::string mismatch(const Json& schema, const Json& value, const Json& document,
                     const std::string& place) {
  if (const auto ref = schema.get("$ref").as_string()) {
    const std::string name = ref->substr(ref->rfind('/') + 1);
    const Json target = document.get("components").get("schemas").get(name);
    if (target.is_null()) return place + ": no schema " + name;
    return mismatch(target, value, document, place);
  }
  for (const Json& part : schema.get("allOf").elements()) {
    if (auto wrong = mismatch(part, value, document, place); !wrong.empty()) return wrong;
  }
  std::vector<std::string> types = strings_of(schema.get("type"));
  if (const auto type = schema.get("type").as_string()) types.push_back(*type);
  bool fits = types.empty();
  for (const std::string& type : types) {
    fits |= (type == "object" && value.is_object()) || (type == "array" && value.is_array()) ||
            (type == "string" && value.is_string()) || (type == "null" && value.is_null()) ||
            (type == "boolean" && value.is_bool()) ||
            (type == "integer" && value.as_int().has_value());
  }
  if (!fits) return place + ": wrong type: " + value.dump().substr(0, 100);
  for (const std::string& name : strings_of(schema.get("required"))) {
    if (!value.has(name) && value.dump().find("\"" + name + "\":null") == std::string::npos) {
      return place + ": lacks " + name;
    }
  }
  std::string wrong;
  schema.get("properties").each([&](std::string_view name, const Json& property) {
    if (!wrong.empty() || !value.is_object() || !value.has(name)) return;
    wrong = mismatch(property, value.get(name), document, place + "." + std::string(name));
  });
  for (const Json& element : value.elements()) {
    if (!wrong.empty() || schema.get("items").is_null()) break;
    wrong = mismatch(schema.get("items"), element, document, place + "[]");
  }
  return wrong;
}

}  // namespace

ServiceSettings test_service_settings() {
  const auto section =
      ComponentSettings::of(service_spec, "", {{"state", "memory"}, {"rules_dir", "/nonexistent"}});
  if (!section) return {};
  return read_service_settings(*section).value_or(ServiceSettings{});
}

ServiceCaller::ServiceCaller(Service& service)
    : service_(service), document_(Json::parse(service.openapi()).value_or(Json())) {}

std::string ServiceCaller::check(const Request& request, const Reply& reply) const {
  if (request.route == nullptr || request.route->spec.is_admin) return "";
  if (request.method == Method::options || request.method == Method::head) return "";
  const RouteSpec& spec = request.route->spec;
  const Json operation =
      document_.get("paths").get(spec.pattern).get(lower(to_string(spec.method)));
  const Json answer = operation.get("responses").get(std::to_string(reply.status));
  const std::string place =
      fmt::format("{} {} -> {}", to_string(spec.method), spec.pattern, reply.status);
  if (answer.is_null()) return place + " is not described";
  if (!reply.code.empty() &&
      answer.get("description").as_string().value_or("").find(reply.code) == std::string::npos) {
    return place + " does not name " + reply.code;
  }
  const Json content = answer.get("content");
  if (content.is_null()) return reply.body.empty() ? "" : place + " has a body";
  const Json media = content.get(media_type(reply.content_type));
  if (media.is_null()) return place + " has the type " + reply.content_type;
  if (reply.json.is_null()) return "";
  return mismatch(media.get("schema"), reply.json, document_, place);
}

Reply ServiceCaller::ask(const Call& call) {
  Request request;
  request.method = method_from(call.method);
  request.method_word = call.method;
  request.target = call.target;
  request.client = "test";
  request.door = call.door;
  request.headers.content_type = call.content_type;
  request.headers.content_encoding = call.encoding;
  request.headers.authorization = call.authorization;
  request.headers.session_token = call.session_token;
  request.headers.if_none_match = call.if_none_match;
  request.content_length = call.body.size();
  std::optional<Response> response = service_.begin(request);
  if (!response && call.body.size() > service_.body_limit(request)) {
    response = problem_response(Problem::body_too_large, "");
  }
  if (!response) {
    request.body = call.body;
    response = service_.handle(request);
  }
  Exchange exchange;
  exchange.status = response->status;
  service_.done(request, exchange);
  Reply reply;
  reply.status = response->status;
  reply.body = response->body;
  reply.content_type = response->content_type;
  reply.json = Json::parse(response->body).value_or(Json());
  if (reply.status >= 400) reply.code = reply.text("code");
  for (const auto& [name, value] : response->headers) {
    if (name == "Allow") reply.allow = value;
    if (name == "ETag") reply.etag = value;
    if (name == "Retry-After") reply.retry_after = value;
    if (name == "Location") reply.location = value;
  }
  reply.undocumented = check(request, reply);
  return reply;
}

std::string sample_session(const std::string& job_id) {
  return R"({"workload":{"scheduler":"slurm","cluster":"c9","job_id":")" + job_id +
         R"(","state":"FAILED","exit_code":"1:0","submit_time":"2026-01-05T09:59:00Z",)"
         R"("start_time":"2026-01-05T10:00:00Z","end_time":"2026-01-05T11:00:00Z",)"
         R"("nodes":["w[1-2]"],"ntasks":16,"gpus_per_node":8},)"
         R"("metadata":{"agent":"test","tenant":"t","ruleset":"default"}})";
}

std::string sample_observation(const std::string& node, int second) {
  return fmt::format(
      R"({{"source":"syslog","connector":"log.test","entry_timeseries":[{{"timestamp":)"
      R"("2026-01-05T10:59:{:02}Z","node":"{}","app":"kernel","trust":"kernel","message":)"
      R"("NVRM: Xid (PCI:0000:41:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off )"
      R"(the bus."}}]}})",
      second, node);
}

}  // namespace nvab::test
