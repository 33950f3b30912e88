// SPDX-License-Identifier: Apache-2.0
// Counters of the service, and how they look to Prometheus (text format 0.0.4). Counting is for any
// thread and takes no lock.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/time.hh"
#include "service/router.hh"

namespace nvab {

// Upper bounds of the latency histogram, seconds: from a call that is answered from memory to a
// verdict on a large job.
inline constexpr std::array<double, 12> kLatencyBounds = {0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03,
                                                          0.1,    0.3,    1,     3,     10,   30};

class RequestMetrics {
 public:
  // One row a route, and one for requests that found none.
  explicit RequestMetrics(const Router& router);
  // `route` may be null. Status 0: the client was gone first.
  void count(const Route* route, int status, Duration took, std::uint64_t bytes_in,
             std::uint64_t bytes_out);
  void write(std::string* out) const;

 private:
  static constexpr int kMaxStatus = 600;
  struct Row {
    std::array<std::atomic<std::uint64_t>, kMaxStatus> by_status{};
    std::array<std::atomic<std::uint64_t>, kLatencyBounds.size() + 1> by_latency{};
    std::atomic<std::uint64_t> microseconds{0}, bytes_in{0}, bytes_out{0};
  };
  std::string_view name_of(std::size_t row) const;

  const Router& router_;
  std::vector<std::unique_ptr<Row>> rows_;
};

// One family of samples: HELP, TYPE and lines.
class MetricFamily {
 public:
  MetricFamily(std::string* out, std::string_view name, std::string_view type,
               std::string_view help);
  using Label = std::pair<std::string_view, std::string_view>;
  void sample(double value, std::initializer_list<Label> labels = {});
  void sample(std::uint64_t value, std::initializer_list<Label> labels = {});
  // Of a histogram: "_bucket", "_sum", "_count".
  void sample(std::string_view suffix, std::string_view value, std::initializer_list<Label> labels);

 private:
  std::string* out_;
  std::string_view name_;
};

}  // namespace nvab
