// SPDX-License-Identifier: Apache-2.0
// {"status":"success","data":{"resultType":"streams","result":[{"stream":{…},"values":[["ns","line",
// {"structuredMetadata":{…},"parsed":{…}}],…]},…],"stats":{…}},"warnings":[…]}, as Loki's HTTP API
// documentation has it; the third element of a line is there since Loki 3 only.
#include "epilog/log/loki_answer.hh"

#include <utility>

#include "common/base/text.hh"

namespace nvab {
namespace {

// A server has a handful of them to say.
constexpr std::size_t kMaxWarnings = 20;

}  // namespace

LokiAnswer::Place LokiAnswer::inner(bool is_object) const {
  if (places_.empty()) return is_object ? Place::document : Place::elsewhere;
  switch (places_.back()) {
    case Place::document:
      if (is_object && key_ == "data") return Place::data;
      return !is_object && key_ == "warnings" ? Place::warnings : Place::elsewhere;
    case Place::data:
      return !is_object && key_ == "result" ? Place::result : Place::elsewhere;
    case Place::result:
      return is_object ? Place::stream : Place::elsewhere;
    case Place::stream:
      if (is_object && key_ == "stream") return Place::labels;
      return !is_object && key_ == "values" ? Place::values : Place::elsewhere;
    case Place::values:
      return is_object ? Place::elsewhere : Place::value;
    case Place::value:
    case Place::metadata:
      return is_object ? Place::metadata : Place::elsewhere;
    default:
      return Place::elsewhere;
  }
}

bool LokiAnswer::refuse(const char* why) {
  refusal_ = why;
  return false;
}

bool LokiAnswer::begin(bool is_object) {
  const Place next = inner(is_object);
  if (places_.empty() && next != Place::document) return refuse("it is no JSON object");
  if (next == Place::stream) {
    labels_.clear();
    has_labels_ = false;
    ++streams_;
  }
  if (next == Place::values && !has_labels_)
    return refuse("a stream's lines come before its labels");
  if (next == Place::value) {
    line_.clear();
    metadata_.clear();
  }
  places_.push_back(next);
  return true;
}

bool LokiAnswer::end(bool /*is_object*/) {
  const Place ended = place();
  places_.pop_back();
  if (ended == Place::labels) has_labels_ = true;
  return ended != Place::value || take_line();
}

bool LokiAnswer::take_line() {
  const auto time = line_.size() < 2 ? std::nullopt : parse_int(line_[0]);
  if (!time || *time < 0) return refuse("a line is not [time in nanoseconds, text]");
  take_({streams_, labels_, metadata_, *time, line_[1]});
  return true;
}

bool LokiAnswer::key(std::string_view name) {
  key_ = name;
  return true;
}

bool LokiAnswer::text(std::string_view value) {
  switch (place()) {
    case Place::document:
      if (key_ == "status") status_ = value;
      if (key_ == "error") error_ = value;
      return true;
    case Place::data:
      if (key_ != "resultType") return true;
      type_ = value;
      return type_ == "streams" ||
             refuse("it holds no log lines but values: the query is a metric query");
    case Place::labels:
      labels_[key_] = value;
      return true;
    case Place::metadata:
      metadata_[key_] = value;
      return true;
    case Place::value:
      line_.emplace_back(value);
      return true;
    case Place::warnings:
      if (warnings_.size() < kMaxWarnings) warnings_.emplace_back(value);
      return true;
    default:
      return true;
  }
}

bool LokiAnswer::number(double /*value*/) {
  return place() != Place::value || refuse("a line is not [time in nanoseconds, text]");
}

std::string LokiAnswer::problem() const {
  if (refusal_ != nullptr) return refusal_;
  if (!error_.empty()) return error_;
  if (status_ != "success") return "it does not say success";
  return type_ == "streams" ? "" : "it holds no streams";
}

}  // namespace nvab
