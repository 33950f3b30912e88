// SPDX-License-Identifier: Apache-2.0
// The answer of Loki's query_range while it arrives: its lines one by one, and what it says of
// itself. Only one line is in memory at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/json_sax.hh"

namespace nvab {

using LokiLabels = std::map<std::string, std::string>;

struct LokiLine {
  std::uint64_t stream_number = 0;  // in the answer, from 1
  const LokiLabels& stream;         // labels
  const LokiLabels& metadata;       // structured metadata and parsed labels of this line alone
  std::int64_t time_ns = 0;         // since 1970
  std::string_view text;
};

class LokiAnswer final : public JsonEvents {
 public:
  using Take = std::function<void(const LokiLine&)>;
  explicit LokiAnswer(Take take) : take_(std::move(take)) {}

  // What is wrong with what has been read; empty when nothing is. An answer that is whole must have
  // been a success with streams.
  std::string problem() const;
  // Of the server: parts of the answer are missing.
  const std::vector<std::string>& warnings() const { return warnings_; }

  bool key(std::string_view name) override;
  bool text(std::string_view value) override;
  bool number(double value) override;
  bool other() override { return true; }
  bool begin(bool is_object) override;
  bool end(bool is_object) override;

 private:
  // Where in the document we are: what the innermost open object or array is.
  enum class Place {
    document,
    data,
    result,
    stream,    // an element of result
    labels,    // its "stream"
    values,    // its "values"
    value,     // one line
    metadata,  // its third element
    warnings,
    elsewhere,
  };
  Place inner(bool is_object) const;
  Place place() const { return places_.empty() ? Place::elsewhere : places_.back(); }
  bool refuse(const char* why);
  bool take_line();

  Take take_;
  std::vector<Place> places_;
  std::string key_;
  std::string status_, type_, error_;
  std::vector<std::string> warnings_;
  LokiLabels labels_, metadata_;
  bool has_labels_ = false;
  std::uint64_t streams_ = 0;
  std::vector<std::string> line_;  // the strings of the line that is being read
  const char* refusal_ = nullptr;
};

}  // namespace nvab
