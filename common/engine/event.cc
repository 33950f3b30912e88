// SPDX-License-Identifier: Apache-2.0
// Order and words of events.
#include "common/engine/event.hh"

#include <tuple>

namespace nvab {

std::string_view to_string(Mark mark) {
  switch (mark) {
    case Mark::none:
      return "";
    case Mark::superseded:
      return "superseded";
    case Mark::benign:
      return "benign";
    case Mark::quoted:
      return "quoted";
    case Mark::outside_window:
      return "outside_window";
    case Mark::not_this_job:
      return "not_this_job";
    case Mark::repeat:
      return "repeat";
    case Mark::recovered:
      return "recovered";
    case Mark::teardown:
      return "teardown";
    case Mark::untrusted:
      return "untrusted";
    case Mark::shadow:
      return "shadow";
  }
  return "";
}

std::string_view Event::capture(std::string_view name) const {
  for (const auto& [key, value] : captures) {
    if (key == name) return value;
  }
  return {};
}

bool event_less(const Event& a, const Event& b) {
  const auto key = [](const Event& e) {
    return std::make_tuple(!e.time.has_value(), e.time.value_or(Time{}), e.source,
                           std::string_view(e.origin.stream), e.origin.line, e.origin.offset,
                           std::string_view(e.rule->id), std::string_view(e.text));
  };
  return key(a) < key(b);
}

}  // namespace nvab
