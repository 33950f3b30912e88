// SPDX-License-Identifier: Apache-2.0
// Patience with HTTP servers: an answer that asks for it, or none, is tried again after a pause
// that doubles and is spread at random, so that many clients do not come back at once.
#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "common/base/http.hh"

namespace nvab {

struct RetryPolicy {
  int attempts = 5;
  Duration first_pause = std::chrono::milliseconds(200);  // doubles with each
  Duration longest_pause = std::chrono::seconds(10);
  // A server that asks (Retry-After) to be left alone for longer than this, or than there is time,
  // is not asked again.
  Duration longest_asked = std::chrono::minutes(2);
  // Asking a server again that was too slow makes it slower.
  bool repeats_timeouts = false;
  std::function<bool()> is_over = {};  // told to end: no further try; may be empty
};

// 429, 502, 503, 504 (and 408): the same may succeed later.
bool may_pass(int status);

// Calls `send` until its answer is final; the last one. `deadline` is that of all tries together.
Result<HttpAnswer> send_patiently(const std::function<Result<HttpAnswer>()>& send,
                                  const RetryPolicy& policy, Deadline deadline);

// The Retry-After header: seconds, or a date (RFC 9110). Nothing for anything else.
std::optional<Duration> parse_retry_after(std::string_view text, Time now);

}  // namespace nvab
