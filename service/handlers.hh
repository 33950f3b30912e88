// SPDX-License-Identifier: Apache-2.0
// The calls of the service as routes; each file makes its own.
#pragma once

#include <vector>

#include "service/router.hh"
#include "service/service.hh"

namespace nvab {

// The service must outlive them.
std::vector<Route> routes_v2(Service& service);
std::vector<Route> routes_v1(Service& service);  // /v1 and /latest
std::vector<Route> routes_ops(Service& service);

// What v1 and v2 share. Answers are those of the HTTP API.
Response to_response(const BodyError& error);
Response to_response(const StoreError& error);
Response no_such_session();
Response create_session(Service& service, NewSession session);
// Keeps the body for the journal, as it came or packed; before it is parsed.
BodyToKeep body_to_keep(Service& service, const Request& request, int version);
Response post_observation(Service& service, Request& request, int version);
Response delete_session(Service& service, const Request& request);
// Why the session may not be changed by this request; nothing when it may.
std::optional<Response> refuse_token(const Service& service, const Request& request,
                                     const LiveSession& session);

}  // namespace nvab
