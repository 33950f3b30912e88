// SPDX-License-Identifier: Apache-2.0
// The lines of a small-format file one by one, on demand; memory is bounded by the longest line
// that is taken.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/file.hh"

namespace nvab {

class LinePull {
 public:
  LinePull(Fd file, std::size_t max_line) : file_(std::move(file)), max_line_(max_line) {}

  // The next line without its '\n', cut at the limit; nothing at the end or where reading fails.
  // Valid until the next call.
  std::optional<std::string_view> next();
  bool failed() const { return has_failed_; }

 private:
  bool fill();

  Fd file_;
  std::size_t max_line_;
  std::string buffer_;
  std::size_t at_ = 0;
  std::string line_;
  bool is_at_end_ = false, has_failed_ = false;
};

}  // namespace nvab
