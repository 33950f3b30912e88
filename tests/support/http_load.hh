// SPDX-License-Identifier: Apache-2.0
// Many connections that keep a server busy from one thread: each sends what `next` gives, waits for
// the answer and goes on. For benchmarks.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace nvab::test {

struct LoadPlan {
  std::string address;  // "127.0.0.1:8000"
  int connections = 1;
  std::chrono::milliseconds time{2000};  // after which nothing more is sent
  long calls = -1;                       // at most; -1: any number
  // The next request of a connection, all of its bytes.
  std::function<std::string(int connection)> next;
  // May be null. The status is that of the answer.
  std::function<void(int connection, int status, std::string_view body)> answered;
};

struct LoadResult {
  long calls = 0, failures = 0;     // failures: broken connections, and answers of 400 and more
  double seconds = 0;               // until the last answer
  std::vector<double> latency_ms;   // of each call, sorted
  std::vector<long> of_connection;  // answers that each connection had
  double longest_gap_ms = 0;        // that any connection had to wait for an answer
  double per_second() const { return seconds > 0 ? static_cast<double>(calls) / seconds : 0; }
  double percentile(double part) const;
};

LoadResult run_load(const LoadPlan& plan);

// A request with a JSON body, or without one.
std::string http_request(std::string_view method, std::string_view target,
                         std::string_view body = {});

}  // namespace nvab::test
