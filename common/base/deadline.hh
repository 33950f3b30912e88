// SPDX-License-Identifier: Apache-2.0
// When to stop trying, on the monotonic clock. Passed down by value; whoever waits or loops asks
// it.
#pragma once

#include <algorithm>
#include <atomic>
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

  // Has also passed as soon as `stop` is not 0: somebody asked for the end. `stop` must outlive it.
  Deadline stopped_by(const std::atomic<int>& stop) const {
    Deadline deadline = *this;
    deadline.stop_ = &stop;
    return deadline;
  }

  bool passed() const {
    return is_stopped() || (at_ != Clock::time_point::max() && Clock::now() >= at_);
  }
  bool is_never() const { return at_ == Clock::time_point::max(); }
  // Not negative; for a deadline that never comes, Duration::max().
  Duration left() const {
    if (is_stopped()) return Duration{0};
    if (is_never()) return Duration::max();
    return std::max(Duration{0}, std::chrono::duration_cast<Duration>(at_ - Clock::now()));
  }
  Deadline earlier(Deadline other) const {
    Deadline deadline = other.at_ < at_ ? other : *this;
    if (deadline.stop_ == nullptr) deadline.stop_ = stop_ != nullptr ? stop_ : other.stop_;
    return deadline;
  }

 private:
  bool is_stopped() const {
    return stop_ != nullptr && stop_->load(std::memory_order_relaxed) != 0;
  }

  const std::atomic<int>* stop_ = nullptr;
  Clock::time_point at_ = Clock::time_point::max();
};

}  // namespace nvab
