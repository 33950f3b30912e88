// SPDX-License-Identifier: Apache-2.0
// Whole lines from blocks of any size, for small line formats; a line over the limit is skipped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace nvab {

class LineSplitter {
 public:
  explicit LineSplitter(std::size_t max_line) : max_line_(max_line) {}

  // Calls line(text) for each line that is complete now, without its '\n'.
  template <typename Line>
  void feed(std::string_view block, Line&& line) {
    while (!block.empty()) {
      const std::size_t end = block.find('\n');
      const std::string_view part = block.substr(0, end);
      if (!is_skipping_ && partial_.size() + part.size() > max_line_) {
        is_skipping_ = true;
        ++skipped_;
        partial_.clear();
      }
      if (end == std::string_view::npos) {
        if (!is_skipping_) partial_.append(part);
        return;
      }
      if (!is_skipping_) {
        if (partial_.empty()) {
          line(part);
        } else {
          line(std::string_view(partial_.append(part)));
        }
      }
      partial_.clear();
      is_skipping_ = false;
      block.remove_prefix(end + 1);
    }
  }

  // The last line, where it has no line end.
  template <typename Line>
  void finish(Line&& line) {
    if (!partial_.empty()) line(std::string_view(partial_));
    partial_.clear();
  }

  std::uint64_t skipped() const { return skipped_; }

 private:
  std::size_t max_line_;
  std::string partial_;
  bool is_skipping_ = false;
  std::uint64_t skipped_ = 0;
};

}  // namespace nvab
