// SPDX-License-Identifier: Apache-2.0
// Any bytes as JSON, and any JSON as each document of ours: what is taken must print and be taken
// again as the same bytes.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "common/model/result.hh"

using namespace nvab;

namespace {

template <typename T>
void round_trip(const Json& json, Result<T> (*read)(const Json&)) {
  const Result<T> first = read(json);
  if (!first) {
    if (first.error().message.size() < 10) std::abort();
    return;
  }
  const std::string bytes = to_json(*first).dump();
  const auto again = Json::parse(bytes);
  if (!again) std::abort();
  const Result<T> second = read(*again);
  if (!second || to_json(*second).dump() != bytes) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto json = Json::parse({reinterpret_cast<const char*>(data), size});
  if (!json) return 0;
  const std::string bytes = json->dump();
  const auto again = Json::parse(bytes);
  if (!again || again->dump() != bytes) std::abort();
  if (!Json::parse(json->dump_pretty())) std::abort();
  round_trip(*json, context_from_json);
  round_trip(*json, observation_from_json);
  round_trip(*json, verdict_from_json);
  round_trip(*json, result_from_json);
  return 0;
}
