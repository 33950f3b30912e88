// SPDX-License-Identifier: Apache-2.0
// Answers of the Prometheus HTTP API (query_range and query: "matrix" and "vector"), one series at
// a time while they arrive. Pure.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/json_sax.hh"
#include "common/engine/extract/series.hh"

namespace nvab {

// Points of one series; servers give 11,000 (Prometheus) or 30,000 (VictoriaMetrics) at most.
inline constexpr std::size_t kMaxSeriesPoints = 50'000;
// Warnings kept of one answer, and bytes of each.
inline constexpr std::size_t kMaxWarnings = 5;
inline constexpr std::size_t kMaxWarningBytes = 300;

class PromqlAnswer final : public JsonEvents {
 public:
  // Gets each series, in the server's order; its node is not filled in. Values that are no finite
  // numbers are left out: a NaN says that there was nothing to say. False ends the reading.
  using Sink = std::function<bool(MetricSeries&& series)>;
  explicit PromqlAnswer(Sink sink) : sink_(std::move(sink)) {}

  bool key(std::string_view name) override;
  bool text(std::string_view value) override;
  bool number(double value) override;
  bool other() override { return true; }
  bool begin(bool is_object) override;
  bool end(bool is_object) override;

  // What is wrong with an answer that was read to its end; empty: nothing.
  std::string trouble() const;
  // What the server says about a result that is less than asked for. Prometheus' hints about the
  // query ("PromQL info: …") are none.
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  enum class Place { root, data, results, series, metric, values, pair, warnings, foreign };
  Place inside(bool is_object) const;
  void take_number(double value);
  bool end_series();

  Sink sink_;
  std::vector<Place> open_;
  std::string key_, status_, error_, type_, trouble_;
  std::vector<std::string> warnings_;
  MetricSeries series_;
  int in_pair_ = 0;
  double time_ = 0;
  bool has_results_ = false;
};

}  // namespace nvab
