// SPDX-License-Identifier: Apache-2.0
// Calls a Service without sockets, in the steps that httpd takes, and holds every answer against
// the OpenAPI document.
#pragma once

#include <memory>
#include <string>

#include "common/base/json.hh"
#include "service/service.hh"

namespace nvab::test {

// Memory only, small limits left as they are, built-in rules. `change` may alter the settings.
ServiceSettings test_service_settings();

struct Call {
  std::string method = "GET";
  std::string target;
  std::string body = {};
  std::string content_type = "application/json";
  std::string encoding = {}, authorization = {}, session_token = {}, if_none_match = {};
  Door door = Door::network;
};

struct Reply {
  int status = 0;
  std::string body, content_type;
  Json json;         // null when the body is none
  std::string code;  // of a problem
  std::string allow, etag, retry_after, location;
  // What the OpenAPI document does not know of this answer; empty when all is described.
  std::string undocumented;
  std::string text(const std::string& member) const {
    return json.get(member).as_string().value_or("");
  }
};

class ServiceCaller {
 public:
  explicit ServiceCaller(Service& service);
  Reply ask(const Call& call);
  Reply get(const std::string& target) { return ask({.target = target}); }
  Reply post(const std::string& target, const std::string& body) {
    return ask({.method = "POST", .target = target, .body = body});
  }
  Reply del(const std::string& target, const std::string& token = {}) {
    return ask({.method = "DELETE", .target = target, .session_token = token});
  }

 private:
  std::string check(const Request& request, const Reply& reply) const;
  Service& service_;
  Json document_;
};

// A workload of two nodes, and an observation in which one of them loses a GPU.
std::string sample_session(const std::string& job_id);
std::string sample_observation(const std::string& node, int second = 0);

}  // namespace nvab::test
