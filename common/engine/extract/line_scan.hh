// SPDX-License-Identifier: Apache-2.0
// Lines in raw bytes. A line ends at '\n' or at '\r' (progress bars redraw themselves with it);
// line numbers count '\n' alone, as editors do.
#pragma once

#include <cstdint>
#include <string_view>

namespace nvab {

inline bool is_line_end(char c) { return c == '\n' || c == '\r'; }

// Where the line that holds `at` ends: the place of its end character, or bytes.size().
std::size_t line_end(std::string_view bytes, std::size_t at);
// Where the line that holds `at` begins.
std::size_t line_begin(std::string_view bytes, std::size_t at);
// The place behind the last end character; 0 when there is none.
std::size_t complete_length(std::string_view bytes);
std::uint64_t count_newlines(std::string_view bytes);

// The last bytes read (`before`) and the bytes being read (`now`), as one text with offsets of the
// stream. Both hold whole lines.
struct TextWindow {
  std::string_view before, now;
  std::uint64_t base = 0;  // offset of `now`

  std::uint64_t begin() const { return base - before.size(); }
  std::uint64_t end() const { return base + now.size(); }
  // The line that begins at or first behind `offset`, without its end; nothing at the end. Sets
  // `offset` to where it begins.
  bool line_at(std::uint64_t* offset, std::string_view* line) const;
  // The line before the one that begins at `offset`.
  bool line_before(std::uint64_t* offset, std::string_view* line) const;
};

}  // namespace nvab
