// SPDX-License-Identifier: Apache-2.0
// See problem.hh. The codes are documented in nvab-service(8) and nvab-web(8); a test holds both
// together.
#include "service/problem.hh"

#include <cassert>

namespace nvab {
namespace {

using P = Problem;

// Long enough for a burst to pass, short enough that nobody gives up.
constexpr int kSoon = 1;
constexpr int kLater = 5;

constexpr ProblemRow kProblems[] = {
    {P::bad_path, 400, "bad_path", "The path cannot be read"},
    {P::bad_query, 400, "bad_query", "A query parameter cannot be read"},
    {P::bad_header, 400, "bad_header", "The headers contradict each other"},
    {P::bad_encoding, 400, "bad_encoding", "The body is not what its Content-Encoding says"},
    {P::bad_json, 400, "bad_json", "The body is not JSON"},
    {P::bad_workload, 422, "bad_workload", "The workload cannot be used"},
    {P::bad_observation, 422, "bad_observation", "The observation cannot be used"},
    {P::bad_annotation, 422, "bad_annotation", "The remark cannot be used"},
    {P::unknown_ruleset, 422, "unknown_ruleset", "There is no ruleset of this name"},
    {P::unauthorized, 401, "unauthorized", "The service demands a credential"},
    {P::wrong_token, 403, "wrong_token", "The session token is wrong"},
    {P::token_required, 403, "token_required", "The service demands the session token for this"},
    {P::no_such_path, 404, "no_such_path", "There is nothing at this path"},
    {P::no_such_session, 404, "no_such_session", "There is no session of this id"},
    {P::no_such_run, 404, "no_such_run", "There is no run of this id"},
    {P::method_not_allowed, 405, "method_not_allowed", "The path does not know this method"},
    {P::request_timeout, 408, "request_timeout", "The request took too long to arrive", kSoon},
    {P::session_exists, 409, "session_exists", "A session for this context is open"},
    {P::observation_exists, 409, "observation_exists", "The session has this observation"},
    {P::workload_mismatch, 409, "workload_mismatch", "The workload is another than the session's"},
    {P::body_too_large, 413, "body_too_large", "The body is larger than the service takes"},
    {P::session_full, 413, "session_full", "The session holds all that one may"},
    {P::unsupported_media_type, 415, "unsupported_media_type", "The body must be JSON"},
    {P::unsupported_encoding, 415, "unsupported_encoding",
     "The Content-Encoding is neither gzip nor zstd"},
    {P::unsupported_source, 422, "unsupported_source", "The service does not know this source"},
    {P::unsupported_format, 422, "unsupported_format", "The service does not know this format"},
    {P::too_many_sessions, 429, "too_many_sessions", "As many sessions are open as may be", kLater},
    {P::too_many_connections_of_client, 429, "too_many_connections_of_client",
     "This client has as many connections as it may", kSoon},
    {P::internal, 500, "internal", "The service failed"},
    {P::rules_broken, 500, "rules_broken", "The rules cannot be loaded; the old ones stay"},
    {P::too_many_connections, 503, "too_many_connections",
     "The service has as many connections as it may", kSoon},
    {P::out_of_memory, 503, "out_of_memory", "The service holds as much as it may", kLater},
    {P::starting, 503, "starting", "The service is reading its journal", kSoon},
    {P::stopping, 503, "stopping", "The service is about to end", kLater},
    {P::journal_unavailable, 503, "journal_unavailable", "The journal cannot be written", kLater},
    {P::results_unavailable, 503, "results_unavailable", "The result database cannot be read",
     kLater},
};

}  // namespace

std::span<const ProblemRow> problems() { return kProblems; }

const ProblemRow& row_of(Problem problem) {
  const ProblemRow& row = kProblems[static_cast<int>(problem)];
  assert(row.problem == problem);
  return row;
}

std::string problem_json(Problem problem, std::string_view detail, const Json& members) {
  const ProblemRow& row = row_of(problem);
  Json out = Json::object();
  out.set("type", Json::of("urn:nvab:problem:" + std::string(row.code)));
  out.set("title", Json::of(row.title));
  out.set("status", Json::of(row.status));
  out.set("code", Json::of(row.code));
  if (!detail.empty()) out.set("detail", Json::of(detail));
  members.each([&](std::string_view key, const Json& value) { out.set(key, value); });
  return out.dump();
}

Response problem_response(Problem problem, std::string_view detail, const Json& members) {
  const ProblemRow& row = row_of(problem);
  Response response;
  response.status = row.status;
  response.content_type = "application/problem+json";
  response.body = problem_json(problem, detail, members);
  if (row.retry_after > 0) response.with("Retry-After", std::to_string(row.retry_after));
  if (problem == Problem::unauthorized) response.with("WWW-Authenticate", "Bearer");
  return response;
}

}  // namespace nvab
