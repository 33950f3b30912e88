// SPDX-License-Identifier: Apache-2.0
// /v2/attributor: the calls of the API as it is now.
#include <algorithm>
#include <chrono>

#include "common/base/text.hh"
#include "common/model/attributor_id.hh"
#include "service/handlers.hh"
#include "service/workload_body.hh"

namespace nvab {
namespace {

// Of a page of sessions.
constexpr long long kDefaultPage = 100;
constexpr long long kMaxPage = 1000;

constexpr Problem kCreateProblems[] = {Problem::bad_json,           Problem::bad_workload,
                                       Problem::unknown_ruleset,    Problem::session_exists,
                                       Problem::too_many_sessions,  Problem::out_of_memory,
                                       Problem::journal_unavailable};
constexpr Problem kListProblems[] = {Problem::bad_query};
constexpr Problem kSessionProblems[] = {Problem::no_such_session};
constexpr Problem kObservationProblems[] = {
    Problem::bad_json,        Problem::bad_observation,    Problem::unsupported_source,
    Problem::no_such_session, Problem::observation_exists, Problem::session_full,
    Problem::out_of_memory,   Problem::journal_unavailable};
constexpr Problem kPatchProblems[] = {Problem::bad_json,           Problem::bad_workload,
                                      Problem::no_such_session,    Problem::workload_mismatch,
                                      Problem::wrong_token,        Problem::token_required,
                                      Problem::journal_unavailable};
constexpr Problem kDeleteProblems[] = {Problem::no_such_session, Problem::wrong_token,
                                       Problem::token_required, Problem::journal_unavailable};

Response post_session(Service& service, Request& request) {
  auto session = parse_session_v2(request.body);
  if (!session) return to_response(session.error());
  return create_session(service, std::move(*session));
}

Json sources_json(const SessionCounts& counts) {
  Json out = Json::object();
  for (std::size_t i = 0; i < counts.observations_by_source.size(); ++i) {
    if (counts.observations_by_source[i] == 0) continue;
    out.set(to_string(static_cast<Source>(i)), Json::of(counts.observations_by_source[i]));
  }
  return out;
}

Json summary_of(const LiveSession& session) {
  const SessionIdentity& identity = session.identity();
  const auto age = std::chrono::system_clock::now() - identity.created;
  Json out = Json::object();
  out.set("attributor_id", Json::of(identity.id)).set("created", Json::of(identity.created));
  out.set("age_s", Json::of(std::chrono::duration_cast<std::chrono::seconds>(age).count()));
  out.set("idle_s",
          Json::of(std::chrono::duration_cast<std::chrono::seconds>(session.idle()).count()));
  return out;
}

Response list_sessions(Service& service, Request& request) {
  long long limit = kDefaultPage;
  if (const auto given = request.query("limit")) {
    const auto number = parse_int(*given);
    if (!number || *number < 1) {
      return problem_response(Problem::bad_query, "'limit' wants a number from 1 to 1000.");
    }
    limit = std::min(*number, kMaxPage);
  }
  const std::string after = request.query("after").value_or("");
  const auto job = request.query("job_id");
  const auto sessions = job ? service.store().of_job(*job, static_cast<std::size_t>(limit))
                            : service.store().list(after, static_cast<std::size_t>(limit));
  Json list = Json::array();
  for (const auto& session : sessions) {
    Json item = summary_of(*session);
    item.set("observations", Json::of(session->counts().observations));
    list.push(std::move(item));
  }
  const bool is_full = !job && sessions.size() == static_cast<std::size_t>(limit);
  Json out = Json::object();
  out.set("attributors", std::move(list));
  out.set("total", Json::of(service.store().size()));
  out.set("next", is_full ? Json::of(sessions.back()->identity().id) : Json());
  Response response;
  response.body = out.dump();
  return response;
}

Response get_session(Service& service, Request& request) {
  const auto session = service.store().find(request.id);
  if (!session) return no_such_session();
  const SessionCounts counts = session->counts();
  const RulesetName& name = session->rules().name();
  Json out = summary_of(*session);
  out.set("ruleset", Json::object()
                         .set("name", Json::of(name.name))
                         .set("version", Json::of(name.version))
                         .set("digest", Json::of(name.digest)));
  Json observations = Json::object();
  observations.set("count", Json::of(counts.observations));
  observations.set("duplicates", Json::of(counts.duplicates));
  observations.set("entries", Json::of(counts.entries));
  observations.set("bytes_replaced", Json::of(counts.bytes_replaced));
  observations.set("prefiltered_by_others", Json::of(counts.prefiltered_by_others));
  observations.set("by_source", sources_json(counts));
  out.set("observations", std::move(observations)).set("events", Json::of(counts.events));
  Json nodes = Json::array();
  for (const std::string& node : session->complete_nodes()) nodes.push(Json::of(node));
  out.set("complete_nodes", std::move(nodes));
  Response response;
  response.body = out.dump();
  // Both are JSON already, and may be large.
  response.body.pop_back();
  response.body += ",\"metadata\":" + session->identity().metadata +
                   ",\"workload\":" + session->workload() + "}";
  return response;
}

Response get_attribution(Service& service, Request& request) {
  const auto session = service.store().find(request.id);
  if (!session) return no_such_session();
  const auto verdict = service.store().attribution(*session);
  Response response;
  response.with("ETag", verdict->etag).with("Cache-Control", "no-cache");
  const std::string_view known = request.headers.if_none_match;
  if (known == "*" || known.find(verdict->etag) != std::string_view::npos) {
    response.status = 304;
    return response;
  }
  response.body = verdict->json;
  return response;
}

Response patch_session(Service& service, Request& request) {
  const auto session = service.store().find(request.id);
  if (!session) return no_such_session();
  if (auto refusal = refuse_token(service, request, *session)) return std::move(*refusal);
  const std::string workload = session->workload();
  auto context = apply_patch(workload, request.body);
  if (!context) return to_response(context.error());
  const auto before = context_from_json(Json::parse(workload).value_or(Json()));
  if (!before || before->key() != context->key()) {
    return problem_response(Problem::workload_mismatch,
                            "Cluster, job id and submit time say which session it is.");
  }
  const auto updated = service.store().update(*session, std::move(*context));
  if (!updated) return to_response(updated.error());
  return get_session(service, request);
}

}  // namespace

std::vector<Route> routes_v2(Service& s) {
  return {
      {{.method = Method::post,
        .pattern = "/v2/attributor",
        .operation = "createAttributor",
        .summary = "Open a session about one context",
        .body = BodyKind::workload,
        .body_schema = "NewAttributor",
        .success = 201,
        .answer_schema = "CreatedAttributor",
        .problems = kCreateProblems},
       [&s](Request& r) { return post_session(s, r); }},
      {{.method = Method::get,
        .pattern = "/v2/attributor",
        .operation = "listAttributors",
        .summary = "The open sessions, by pages, or those about the job of one id",
        .answer_schema = "AttributorList",
        .problems = kListProblems},
       [&s](Request& r) { return list_sessions(s, r); }},
      {{.method = Method::get,
        .pattern = "/v2/attributor/{id}",
        .operation = "getAttributor",
        .summary = "A session: its context, and counts of what it was told",
        .answer_schema = "Attributor",
        .problems = kSessionProblems},
       [&s](Request& r) { return get_session(s, r); }},
      {{.method = Method::patch,
        .pattern = "/v2/attributor/{id}",
        .operation = "updateAttributor",
        .summary = "Replace members of the workload (a running job has ended)",
        .body = BodyKind::workload,
        .body_schema = "AttributorPatch",
        .answer_schema = "Attributor",
        .problems = kPatchProblems},
       [&s](Request& r) { return patch_session(s, r); }},
      {{.method = Method::del,
        .pattern = "/v2/attributor/{id}",
        .operation = "deleteAttributor",
        .summary = "End a session",
        .success = 204,
        .problems = kDeleteProblems},
       [&s](Request& r) { return delete_session(s, r); }},
      {{.method = Method::post,
        .pattern = "/v2/attributor/{id}/observation",
        .operation = "postObservation",
        .summary = "Tell a session one observation",
        .body = BodyKind::observation,
        .body_schema = "Observation",
        .success = 201,
        .answer_schema = "TakenObservation",
        .problems = kObservationProblems},
       [&s](Request& r) { return post_observation(s, r, 2); }},
      {{.method = Method::get,
        .pattern = "/v2/attributor/{id}/attribution",
        .operation = "getAttribution",
        .summary = "The verdict on what the session has been told so far",
        .answer_schema = "Verdict",
        .problems = kSessionProblems},
       [&s](Request& r) { return get_attribution(s, r); }},
  };
}

}  // namespace nvab
