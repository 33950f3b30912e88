// SPDX-License-Identifier: Apache-2.0
// Bodies of the HTTP API: the first byte says which. What is read as an observation must be read
// the same from what is written of it.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>

#include "service/digest.hh"
#include "service/observation_body.hh"
#include "service/workload_body.hh"

namespace {

using namespace nvab;

// Each line is in one entry, and what was read is an observation that v2 could have brought.
void check_v1(const std::string& body) {
  static const std::unique_ptr<Ruleset> rules = [] {
    auto loaded = Ruleset::load("default", "/nonexistent");
    if (!loaded) std::abort();
    return std::move(*loaded);
  }();
  const auto parsed = parse_observation_v1(body, *rules);
  if (!parsed) return;
  const std::string text = to_json(parsed->observation).dump();
  const auto again = parse_observation_v2(text);
  if (!again || to_json(again->observation).dump() != text) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string body(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 5) {
    case 0: {
      const auto parsed = parse_observation_v2(body);
      if (!parsed) break;
      const std::string text = to_json(parsed->observation).dump();
      const auto again = parse_observation_v2(text);
      if (!again || to_json(again->observation).dump() != text) std::abort();
      break;
    }
    case 1:
      check_v1(body);
      break;
    case 2:
      static_cast<void>(parse_session_v2(body));
      break;
    case 3:
      static_cast<void>(parse_session_v1(body));
      break;
    default:
      static_cast<void>(apply_patch(R"({"job_id":"1","state":"RUNNING"})", body));
      break;
  }
  return 0;
}
