// SPDX-License-Identifier: Apache-2.0
// Whole requests as the HTTP library hands them over: method, target and headers on a line each,
// then the body. Whatever comes, there is an answer, and one that the service means: no 500,
// one that the OpenAPI document describes, and the session that was there before still is.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "common/base/text.hh"
#include "service/service.hh"
#include "tests/support/service_caller.hh"

namespace {

using namespace nvab;

// Sessions that inputs open; past it they are refused, and memory stays bounded.
constexpr std::size_t kSessions = 50;
// Requests after which a service begins anew.
constexpr int kLife = 20'000;

struct Target {
  std::unique_ptr<Service> service;
  std::unique_ptr<test::ServiceCaller> caller;
  std::string id;
  int requests = 0;
};

std::unique_ptr<Target> make_target() {
  ServiceSettings settings = test::test_service_settings();
  settings.store.sessions = kSessions;
  settings.max_body = settings.max_workload = std::size_t{1} << 20;
  settings.require_session_token = true;
  auto target = std::make_unique<Target>();
  auto service = Service::create(std::move(settings));
  if (!service || !(*service)->start()) std::abort();
  target->service = std::move(*service);
  target->caller = std::make_unique<test::ServiceCaller>(*target->service);
  target->id =
      target->caller->post("/v2/attributor", test::sample_session("1")).text("attributor_id");
  if (target->id.empty()) std::abort();
  return target;
}

std::string line(std::string* text) {
  const std::size_t end = text->find('\n');
  std::string first = text->substr(0, end);
  text->erase(0, end == std::string::npos ? text->size() : end + 1);
  return first;
}

// "@" in a target stands for the session that is there.
std::string with_id(std::string target, const std::string& id) {
  const std::size_t at = target.find('@');
  return at == std::string::npos ? target : target.replace(at, 1, id);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static std::unique_ptr<Target> target = make_target();
  if (++target->requests > kLife) target = make_target();
  std::string text(reinterpret_cast<const char*>(data), size);
  test::Call call;
  call.method = line(&text);
  call.target = with_id(line(&text), target->id);
  call.content_type = line(&text);
  call.encoding = line(&text);
  call.session_token = line(&text);
  call.if_none_match = line(&text);
  call.body = std::move(text);
  const test::Reply reply = target->caller->ask(call);
  if (reply.status < 200 || reply.status >= 600 || reply.status == 500) std::abort();
  if (!reply.undocumented.empty()) std::abort();
  if (target->service->store().find(target->id) == nullptr) std::abort();  // without its token
  return 0;
}
