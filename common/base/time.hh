// SPDX-License-Identifier: Apache-2.0
// Points in time as the whole program uses them: UTC, microseconds. Parsing of log dialects' time
// stamps lives in common/engine/dialect; here is only what formats need.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace nvab {

using Duration = std::chrono::microseconds;
using Time = std::chrono::sys_time<Duration>;

// RFC 3339 with 'T' or a space, any fraction (cut to microseconds), 'Z' or an offset; no offset
// means UTC. Anything else: nothing.
std::optional<Time> parse_rfc3339(std::string_view text);

// "2026-03-01T10:59:58Z", with ".123" or ".123456" only where the fraction is not zero.
std::string format_rfc3339(Time time);

// "1h 05m", "12.3s", "340ms": for people, never parsed again.
std::string format_duration(Duration duration);

// "90", "90s", "15m", "2h", "7d", "500ms". Nothing for anything else, or when it would overflow.
std::optional<Duration> parse_duration(std::string_view text);

inline Time from_unix_seconds(double seconds) {
  return Time(Duration(static_cast<long long>(seconds * 1e6)));
}
inline double to_unix_seconds(Time time) {
  return static_cast<double>(time.time_since_epoch().count()) / 1e6;
}
inline double to_seconds(Duration duration) { return static_cast<double>(duration.count()) / 1e6; }

}  // namespace nvab
