// SPDX-License-Identifier: Apache-2.0
// /v1 and /latest: the API of older clients, on the same sessions.
#include "service/handlers.hh"
#include "service/workload_body.hh"

namespace nvab {
namespace {

constexpr Problem kCreateProblems[] = {Problem::bad_json,           Problem::bad_workload,
                                       Problem::unknown_ruleset,    Problem::session_exists,
                                       Problem::too_many_sessions,  Problem::out_of_memory,
                                       Problem::journal_unavailable};
constexpr Problem kObservationProblems[] = {
    Problem::bad_json,           Problem::bad_observation, Problem::unsupported_source,
    Problem::unsupported_format, Problem::no_such_session, Problem::observation_exists,
    Problem::session_full,       Problem::out_of_memory,   Problem::journal_unavailable};
constexpr Problem kSessionProblems[] = {Problem::no_such_session};
constexpr Problem kDeleteProblems[] = {Problem::no_such_session, Problem::wrong_token,
                                       Problem::token_required, Problem::journal_unavailable};

Response post_session(Service& service, Request& request) {
  auto session = parse_session_v1(request.body);
  if (!session) return to_response(session.error());
  return create_session(service, std::move(*session));
}

// The verdict has the older answer's list; an id stands before it.
Response get_attribution(Service& service, Request& request) {
  const auto session = service.store().find(request.id);
  if (!session) return no_such_session();
  const auto verdict = service.store().attribution(*session);
  Response response;
  response.body =
      "{\"attributor_id\":\"" + session->identity().id + "\"," + verdict->json.substr(1);
  return response;
}

struct Names {
  std::string_view create, observe, attribution, remove;
};
struct Patterns {
  std::string_view sessions, session, observation, attribution;
};

void add_routes(Service& s, const Patterns& at, const Names& names, std::vector<Route>* routes) {
  routes->push_back({{.method = Method::post,
                      .pattern = at.sessions,
                      .operation = names.create,
                      .summary = "Open a session about one workload",
                      .body = BodyKind::workload,
                      .body_schema = "NewAttributorV1",
                      .success = 201,
                      .answer_schema = "CreatedAttributor",
                      .problems = kCreateProblems},
                     [&s](Request& r) { return post_session(s, r); }});
  routes->push_back({{.method = Method::post,
                      .pattern = at.observation,
                      .operation = names.observe,
                      .summary = "Tell a session Loki streams or Prometheus series",
                      .body = BodyKind::observation,
                      .body_schema = "ObservationV1",
                      .success = 201,
                      .answer_schema = "TakenObservation",
                      .problems = kObservationProblems},
                     [&s](Request& r) { return post_observation(s, r, 1); }});
  routes->push_back({{.method = Method::get,
                      .pattern = at.attribution,
                      .operation = names.attribution,
                      .summary = "The verdict so far, with an item for each node",
                      .answer_schema = "VerdictV1",
                      .problems = kSessionProblems},
                     [&s](Request& r) { return get_attribution(s, r); }});
  routes->push_back({{.method = Method::del,
                      .pattern = at.session,
                      .operation = names.remove,
                      .summary = "End a session",
                      .success = 204,
                      .problems = kDeleteProblems},
                     [&s](Request& r) { return delete_session(s, r); }});
}

}  // namespace

std::vector<Route> routes_v1(Service& s) {
  std::vector<Route> routes;
  add_routes(s,
             {"/v1/attributor", "/v1/attributor/{id}", "/v1/attributor/{id}/observation",
              "/v1/attributor/{id}/attribution"},
             {"createAttributorV1", "postObservationV1", "getAttributionV1", "deleteAttributorV1"},
             &routes);
  add_routes(s,
             {"/latest/attributor", "/latest/attributor/{id}",
              "/latest/attributor/{id}/observation", "/latest/attributor/{id}/attribution"},
             {"createAttributorLatest", "postObservationLatest", "getAttributionLatest",
              "deleteAttributorLatest"},
             &routes);
  return routes;
}

}  // namespace nvab
