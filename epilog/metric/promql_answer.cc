// SPDX-License-Identifier: Apache-2.0
// See promql_answer.hh.
#include "epilog/metric/promql_answer.hh"

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/base/text.hh"
#include "epilog/metric/metrics_json.hh"

namespace nvab {

// What a value that begins here is.
PromqlAnswer::Place PromqlAnswer::inside(bool is_object) const {
  if (open_.empty()) return is_object ? Place::root : Place::foreign;
  switch (open_.back()) {
    case Place::root:
      if (is_object && key_ == "data") return Place::data;
      return !is_object && key_ == "warnings" ? Place::warnings : Place::foreign;
    case Place::data:
      return !is_object && key_ == "result" ? Place::results : Place::foreign;
    case Place::results:
      return is_object ? Place::series : Place::foreign;
    case Place::series:
      if (is_object) return key_ == "metric" ? Place::metric : Place::foreign;
      if (key_ == "value") return Place::pair;
      return key_ == "values" ? Place::values : Place::foreign;
    case Place::values:
      return is_object ? Place::foreign : Place::pair;
    default:
      return Place::foreign;
  }
}

bool PromqlAnswer::begin(bool is_object) {
  open_.push_back(inside(is_object));
  if (open_.back() == Place::series) series_ = MetricSeries();
  if (open_.back() == Place::pair) in_pair_ = 0;
  has_results_ |= open_.back() == Place::results;
  return true;
}

bool PromqlAnswer::end(bool) {
  const Place place = open_.back();
  open_.pop_back();
  return place != Place::series || end_series();
}

bool PromqlAnswer::key(std::string_view name) {
  key_ = name;
  return true;
}

bool PromqlAnswer::text(std::string_view value) {
  if (open_.empty()) return true;
  switch (open_.back()) {
    case Place::root:
      if (key_ == "status") status_ = value;
      if (key_ == "error") error_ = sanitize(value.substr(0, kMaxWarningBytes));
      break;
    case Place::data:
      if (key_ == "resultType") type_ = value;
      break;
    case Place::metric:
      if (key_.size() + value.size() > kMaxLabelBytes || series_.labels.size() >= kMaxLabels) {
        trouble_ = "the labels of a series are no exporter's";
        return false;
      }
      if (key_ == "__name__") {
        series_.name = value;
      } else {
        series_.labels.emplace(key_, value);
      }
      break;
    case Place::pair:
      if (const auto number = parse_double(value)) take_number(*number);
      ++in_pair_;
      break;
    case Place::warnings:
      if (warnings_.size() < kMaxWarnings && !value.starts_with("PromQL ")) {
        warnings_.push_back(sanitize(value.substr(0, kMaxWarningBytes)));
      }
      break;
    default:
      break;
  }
  return true;
}

bool PromqlAnswer::number(double value) {
  if (open_.empty() || open_.back() != Place::pair) return true;
  if (in_pair_ == 0) time_ = value;
  if (in_pair_ == 1) take_number(value);
  ++in_pair_;
  return true;
}

void PromqlAnswer::take_number(double value) {
  constexpr double kMaxUnixSeconds = 253402300799.0;  // the year 9999
  if (in_pair_ != 1 || !std::isfinite(value) || !(time_ >= 0 && time_ <= kMaxUnixSeconds)) return;
  if (series_.points.size() < kMaxSeriesPoints) {
    series_.points.push_back({Time(Duration(std::llround(time_ * 1e6))), value});
  } else {
    trouble_ = "a series has more points than any server gives";
  }
}

bool PromqlAnswer::end_series() {
  if (!trouble_.empty()) return false;
  const auto earlier = [](const MetricPoint& a, const MetricPoint& b) { return a.time < b.time; };
  if (!std::is_sorted(series_.points.begin(), series_.points.end(), earlier)) {
    std::stable_sort(series_.points.begin(), series_.points.end(), earlier);
  }
  return series_.points.empty() || sink_(std::move(series_));
}

std::string PromqlAnswer::trouble() const {
  if (!trouble_.empty()) return trouble_;
  if (status_ == "error") return error_.empty() ? "the server says only that it failed" : error_;
  if (status_ != "success" || !has_results_) return "the answer is not one of the Prometheus API";
  if (type_ != "matrix" && type_ != "vector") return "the query gives no series but a " + type_;
  return {};
}

}  // namespace nvab
