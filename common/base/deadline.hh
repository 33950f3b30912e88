// SPDX-License-Identifier: Apache-2.0
// When to stop trying, on the monotonic clock. Passed down by value; whoever waits or loops asks
// it.
#pragma once

#include <algorithm>
#include <chrono>

#include "common/base/time.hh"

namespace nvab {

class Deadline {
 public:
  using Clock = std::chrono::steady_clock;

  Deadline() = default;  // never
  static Deadline after(Duration left) {
    Deadline deadline;
    deadline.at_ = Clock::now() + left;
    return deadline;
  }

  bool passed() const { return at_ != Clock::time_point::max() && Clock::now() >= at_; }
  bool is_never() const { return at_ == Clock::time_point::max(); }
  // Not negative; for a deadline that never comes, Duration::max().
  Duration left() const {
    if (is_never()) return Duration::max();
    return std::max(Duration{0}, std::chrono::duration_cast<Duration>(at_ - Clock::now()));
  }
  Deadline earlier(Deadline other) const { return other.at_ < at_ ? other : *this; }

 private:
  Clock::time_point at_ = Clock::time_point::max();
};

}  // namespace nvab
