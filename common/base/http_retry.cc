// SPDX-License-Identifier: Apache-2.0
// See http_retry.hh.
#include "common/base/http_retry.hh"

#include <ctime>

#include <algorithm>
#include <random>
#include <string>
#include <thread>

#include "common/base/text.hh"

namespace nvab {
namespace {

// How soon a wait notices that it is over.
constexpr Duration kSlice = std::chrono::milliseconds(50);

double jitter() {
  static thread_local std::minstd_rand random(std::random_device{}());
  return std::uniform_real_distribution<double>(0.5, 1.5)(random);
}

bool is_final(const Result<HttpAnswer>& answer, const RetryPolicy& policy) {
  if (answer) return !may_pass(answer->status);
  const Error::Code code = answer.error().code;
  return code != Error::Code::unavailable &&
         !(code == Error::Code::timeout && policy.repeats_timeouts);
}

// Nothing: it would be too long.
std::optional<Duration> pause_before(int attempt, const Result<HttpAnswer>& answer,
                                     const RetryPolicy& policy) {
  // Doubling ends long before it could overflow.
  const int doublings = std::min(attempt - 1, 20);
  const Duration doubled =
      std::min<Duration>(policy.first_pause * (1LL << doublings), policy.longest_pause);
  const auto pause = std::chrono::duration_cast<Duration>(doubled * jitter());
  if (!answer) return pause;
  const auto now = std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now());
  const auto asked = parse_retry_after(answer->retry_after, now);
  if (!asked) return pause;
  if (*asked > policy.longest_asked) return std::nullopt;
  return std::max(pause, *asked);
}

bool wait(Duration pause, const RetryPolicy& policy) {
  const Deadline until = Deadline::after(pause);
  while (!until.passed()) {
    if (policy.is_over && policy.is_over()) return false;
    std::this_thread::sleep_for(std::min(until.left(), kSlice));
  }
  return !policy.is_over || !policy.is_over();
}

}  // namespace

bool may_pass(int status) {
  return status == 408 || status == 429 || status == 502 || status == 503 || status == 504;
}

std::optional<Duration> parse_retry_after(std::string_view text, Time now) {
  text = trim(text);
  if (const auto seconds = parse_double(text)) {
    constexpr double kDay = 86'400;
    if (!(*seconds >= 0)) return std::nullopt;
    return Duration(static_cast<long long>(std::min(*seconds, kDay) * 1e6));
  }
  std::tm parts{};
  const std::string date(text);
  const char* end = ::strptime(date.c_str(), "%a, %d %b %Y %H:%M:%S GMT", &parts);
  if (end == nullptr || *end != '\0') return std::nullopt;
  const Time at = Time(std::chrono::seconds(::timegm(&parts)));
  return std::max(at - now, Duration{0});
}

Result<HttpAnswer> send_patiently(const std::function<Result<HttpAnswer>()>& send,
                                  const RetryPolicy& policy, Deadline deadline) {
  for (int attempt = 1;; ++attempt) {
    auto answer = send();
    if (attempt >= policy.attempts || is_final(answer, policy)) return answer;
    const auto pause = pause_before(attempt, answer, policy);
    if (!pause || *pause >= deadline.left() || !wait(*pause, policy)) return answer;
  }
}

}  // namespace nvab
