// SPDX-License-Identifier: Apache-2.0
// What the handlers of v1 and v2 share.
#include "common/base/encode.hh"
#include "service/digest.hh"
#include "service/handlers.hh"

namespace nvab {
namespace {

// Smaller bodies gain little from packing.
constexpr std::size_t kPackFrom = 2048;

}  // namespace

Response to_response(const BodyError& error) {
  return problem_response(error.problem, error.detail);
}

Response to_response(const StoreError& error) {
  Json members;
  if (!error.existing_id.empty()) {
    members = Json::object().set("attributor_id", Json::of(error.existing_id));
  }
  return problem_response(error.problem, error.detail, members);
}

Response no_such_session() {
  return problem_response(Problem::no_such_session,
                          "It was never created, has been deleted, or has expired.");
}

Response create_session(Service& service, NewSession session) {
  const std::string id = session.id;
  const auto created = service.store().create(std::move(session));
  if (!created) return to_response(created.error());
  Json out = Json::object();
  out.set("attributor_id", Json::of(id)).set("session_token", Json::of(created->token));
  out.set("ruleset", Json::object()
                         .set("name", Json::of(created->ruleset.name))
                         .set("version", Json::of(created->ruleset.version))
                         .set("digest", Json::of(created->ruleset.digest)));
  Response response;
  response.status = 201;
  response.body = out.dump();
  response.with("Location", "/v2/attributor/" + id).with("Cache-Control", "no-store");
  return response;
}

BodyToKeep body_to_keep(Service& service, const Request& request, int version) {
  BodyToKeep keep;
  keep.version = version;
  if (!service.store().keeps_bodies()) return keep;
  if (!request.packed.empty()) {
    keep.encoding = request.packed_encoding;
    keep.bytes = request.packed;
    return keep;
  }
  if (request.body.size() >= kPackFrom) keep.bytes = zstd_pack(request.body);
  if (!keep.bytes.empty()) {
    keep.encoding = "zstd";
  } else {
    keep.bytes = request.body;
  }
  return keep;
}

Response post_observation(Service& service, Request& request, int version) {
  const auto session = service.store().find(request.id);
  if (!session) return no_such_session();
  BodyToKeep keep = body_to_keep(service, request, version);
  auto parsed = parse_observation(*session, version, std::move(request.body));
  if (!parsed) return to_response(parsed.error());
  const auto submitted = service.store().submit(*session, std::move(*parsed), std::move(keep));
  if (!submitted) return to_response(submitted.error());
  if (submitted->is_duplicate) {
    return problem_response(Problem::observation_exists, "It counts once, and is delivered.",
                            Json::object().set("observation_id", Json::of(submitted->id)));
  }
  Json out = Json::object().set("observation_id", Json::of(submitted->id));
  if (submitted->prefiltered_by_others) {
    out.set("warnings", Json::array().push(Json::of(
                            "It was filtered by rules that are not the session's; what those did "
                            "not select is not seen.")));
  }
  Response response;
  response.status = 201;
  response.body = out.dump();
  return response;
}

std::optional<Response> refuse_token(const Service& service, const Request& request,
                                     const LiveSession& session) {
  std::string token(request.headers.session_token);
  if (token.empty()) token = request.query("session_token").value_or("");
  if (token.empty()) {
    if (!service.settings().require_session_token) return std::nullopt;
    return problem_response(Problem::token_required,
                            "Send what creating the session returned as X-Session-Token.");
  }
  Sha256 digest;
  digest.update(token);
  if (equal_secrets(digest.finish(), session.identity().token_digest)) return std::nullopt;
  return problem_response(Problem::wrong_token, "Only who created the session may do this.");
}

Response delete_session(Service& service, const Request& request) {
  const auto session = service.store().find(request.id);
  if (!session) return no_such_session();
  if (auto refusal = refuse_token(service, request, *session)) return std::move(*refusal);
  const auto removed = service.store().remove(*session);
  if (!removed) return to_response(removed.error());
  Response response;
  response.status = 204;
  return response;
}

}  // namespace nvab
