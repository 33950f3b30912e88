// SPDX-License-Identifier: Apache-2.0
// See workload_body.hh.
#include "service/workload_body.hh"

#include <utility>

#include "common/base/text.hh"
#include "common/model/attributor_id.hh"
#include "service/body_error.hh"

namespace nvab {
namespace {

constexpr std::string_view kDefaultRuleset = "default";

BodyResult<Json> parse_object(std::string_view body) {
  auto document = Json::parse(body);
  if (!document) return body_error(Problem::bad_json, document.error().message);
  if (!document->get("workload").is_object()) {
    return body_error(Problem::bad_workload, "'workload' wants an object");
  }
  return std::move(*document);
}

std::string text_of(const Json& object, std::string_view key) {
  return object.get(key).as_string().value_or("");
}

BodyResult<NewSession> finish_session(const Json& metadata, ExecutionContext context,
                                      const ExecutionContext& identity) {
  if (!metadata.is_null() && !metadata.is_object()) {
    return body_error(Problem::bad_workload, "'metadata' wants an object");
  }
  NewSession session;
  session.ruleset = text_of(metadata, "ruleset");
  if (session.ruleset.empty()) session.ruleset = kDefaultRuleset;
  session.id = attributor_id(identity, session.ruleset);
  if (metadata.is_object()) session.metadata = metadata.dump();
  session.context = std::move(context);
  return session;
}

// "1234:cycle2:1767607200000000000" is attempt 2 of job 1234.
void split_v1_id(const std::string& id, ExecutionContext* context) {
  constexpr std::string_view kCycle = "cycle";
  const auto parts = split(id, ':');
  context->job_id = parts.front();
  for (const std::string_view part : parts) {
    if (part.substr(0, kCycle.size()) != kCycle) continue;
    const auto cycle = parse_int(part.substr(kCycle.size()));
    constexpr long long kMaxCycle = 1'000'000'000;
    if (cycle && *cycle >= 0 && *cycle < kMaxCycle) context->attempt = static_cast<int>(*cycle);
  }
}

// The older names, as the schema's.
Json workload_of_v1(const Json& v1, const Json& metadata) {
  Json out = Json::object();
  const auto copy = [&](std::string_view from, std::string_view to) {
    const Json value = v1.get(from);
    const bool is_unknown = value.as_string() == "unknown" || value.as_string() == "";
    if (!value.is_null() && !is_unknown) out.set(to, value);
  };
  const std::string type = text_of(v1, "type");
  out.set("scheduler", Json::of(type.empty() ? "static" : type));
  copy("job_start_time", "start_time");
  copy("job_end_time", "end_time");
  copy("status", "state");
  copy("nranks", "ntasks");
  copy("nodes", "nodes");
  copy("name", "name");
  copy("username", "user");
  for (const std::string_view kept : {"id", "srun_cmd", "framework", "ranks_per_node"}) {
    copy(kept, kept);
  }
  if (const auto code = v1.get("exit_code_signal").as_int()) {
    out.set("exit_code", Json::of(std::to_string(*code) + ":0"));
  } else {
    copy("exit_code_signal", "exit_code");
  }
  const std::string cluster = text_of(metadata, "cluster"), tenant = text_of(metadata, "tenant");
  if (!cluster.empty()) out.set("cluster", Json::of(cluster));
  if (!tenant.empty() && tenant != "unknown") out.set("account", Json::of(tenant));
  return out;
}

}  // namespace

BodyResult<NewSession> parse_session_v2(std::string_view body) {
  const auto document = parse_object(body);
  if (!document) return tl::unexpected(document.error());
  auto context = context_from_json(document->get("workload"));
  if (!context) return body_error(Problem::bad_workload, context.error().message);
  if (context->job_id.empty()) {
    return body_error(Problem::bad_workload, "'workload.job_id' is missing");
  }
  const ExecutionContext identity = *context;
  return finish_session(document->get("metadata"), std::move(*context), identity);
}

BodyResult<NewSession> parse_session_v1(std::string_view body) {
  const auto document = parse_object(body);
  if (!document) return tl::unexpected(document.error());
  const Json v1 = document->get("workload"), metadata = document->get("metadata");
  std::string id = text_of(v1, "id");
  if (const auto number = v1.get("id").as_int()) id = std::to_string(*number);
  if (id.empty()) return body_error(Problem::bad_workload, "'workload.id' is missing");
  auto context = context_from_json(workload_of_v1(v1, metadata));
  if (!context) return body_error(Problem::bad_workload, context.error().message);
  split_v1_id(id, &*context);
  ExecutionContext identity = *context;
  identity.job_id = id;
  return finish_session(metadata, std::move(*context), identity);
}

BodyResult<ExecutionContext> apply_patch(std::string_view workload, std::string_view body) {
  const auto document = parse_object(body);
  if (!document) return tl::unexpected(document.error());
  const Json patch = document->get("workload");
  Json merged = Json::object();
  const auto old = Json::parse(workload);
  if (!old) return body_error(Problem::internal, old.error().message);
  const auto name_of = [](std::string_view key) {
    if (key == "start") return std::string("start_time");
    if (key == "end") return std::string("end_time");
    return std::string(key);
  };
  old->each([&](std::string_view key, const Json& value) { merged.set(key, value); });
  patch.each([&](std::string_view key, const Json& value) { merged.set(name_of(key), value); });
  auto context = context_from_json(merged);
  if (!context) return body_error(Problem::bad_workload, context.error().message);
  return std::move(*context);
}

}  // namespace nvab
