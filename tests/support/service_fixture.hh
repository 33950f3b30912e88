// SPDX-License-Identifier: Apache-2.0
// A service of its own for each test, called without sockets; an answer that the OpenAPI document
// does not describe fails the test.
#pragma once

#include <memory>
#include <string>

#include "tests/support/service_caller.hh"

// Last: its macro fail() must not meet ours.
#include "tests/cmocka.hh"

#define assert_text(a, b) assert_string_equal((a).c_str(), b)

namespace nvab::test {

struct Fixture {
  explicit Fixture(void (*change)(ServiceSettings*) = nullptr) {
    ServiceSettings settings = test_service_settings();
    if (change != nullptr) change(&settings);
    auto created = Service::create(std::move(settings));
    if (!created) fail_msg("%s", created.error().message.c_str());
    service = std::move(*created);
    if (auto started = service->start(); !started) fail_msg("%s", started.error().message.c_str());
    caller = std::make_unique<ServiceCaller>(*service);
  }
  // Calls, and fails where the document does not describe the answer.
  Reply ask(const Call& call) {
    Reply reply = caller->ask(call);
    if (!reply.undocumented.empty()) fail_msg("%s", reply.undocumented.c_str());
    return reply;
  }
  Reply get(const std::string& target) { return ask({.target = target}); }
  Reply post(const std::string& target, const std::string& body) {
    return ask({.method = "POST", .target = target, .body = body});
  }
  std::string open(const std::string& job = "77") {
    return post("/v2/attributor", sample_session(job)).text("attributor_id");
  }
  std::unique_ptr<Service> service;
  std::unique_ptr<ServiceCaller> caller;
};

}  // namespace nvab::test
