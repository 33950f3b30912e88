// SPDX-License-Identifier: Apache-2.0
// metrics.json: any bytes in any chunks are read or refused; the elements do not depend on chunks.
#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "epilog/metric/array_splitter.hh"
#include "epilog/metric/metrics_json.hh"

namespace {

std::vector<std::string> elements_of(std::string_view bytes, std::size_t chunk) {
  std::vector<std::string> elements;
  nvab::ArraySplitter splitter(1024, [&](std::string_view text) {
    elements.emplace_back(text);
    return true;
  });
  while (!bytes.empty() && splitter.feed(bytes.substr(0, chunk))) {
    bytes.remove_prefix(std::min(chunk, bytes.size()));
  }
  return elements;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::vector<std::string> elements = elements_of(bytes, 3);
  assert(elements == elements_of(bytes, 4096));
  for (const std::string& element : elements) {
    const auto samples = nvab::parse_series(element);
    if (!samples || samples->empty()) continue;
    const auto again = nvab::parse_series(nvab::series_to_json(*samples).dump());
    assert(again.has_value() && again->size() == samples->size());
    assert(again->front().timestamp == samples->front().timestamp);
  }
  return 0;
}
