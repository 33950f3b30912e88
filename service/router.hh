// SPDX-License-Identifier: Apache-2.0
// The routing table: which calls there are, whom they serve, and what they may answer. The OpenAPI
// document is made from it.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "service/http.hh"
#include "service/problem.hh"

namespace nvab {

// What a call takes as its body; each kind has a limit of its own.
enum class BodyKind { none, workload, observation };

// The constant part of a call.
struct RouteSpec {
  Method method = Method::get;
  std::string_view pattern = {};  // "/v2/attributor/{id}/observation"; one parameter at most
  std::string_view operation =
      {};  // "postObservation": unique, names the call in metrics and OpenAPI
  std::string_view summary = {};
  BodyKind body = BodyKind::none;
  std::string_view body_schema = {};  // names in the OpenAPI document; empty: none
  int success = 200;
  std::string_view answer_schema = {};
  std::string_view answer_type = "application/json";
  std::span<const Problem> problems = {};  // beside those that any call may answer
  bool is_open = false;                    // answers without credentials, and while starting
  bool is_admin = false;                   // exists on the administrator's socket only
};

struct Route {
  RouteSpec spec;
  std::function<Response(Request&)> handle;  // from any thread, several at once
};

class Router {
 public:
  explicit Router(std::vector<Route> routes) : routes_(std::move(routes)) {}

  // Finds the route by path, method and door (HEAD is GET), and decodes the path's parameter; or
  // answers: 400, 404, 405 with Allow, and OPTIONS. For the head of a request.
  std::optional<Response> resolve(Request& request) const;

  std::span<const Route> routes() const { return routes_; }
  std::size_t index_of(const Route& route) const {
    return static_cast<std::size_t>(&route - routes_.data());
  }

 private:
  std::vector<Route> routes_;
};

}  // namespace nvab
