// SPDX-License-Identifier: Apache-2.0
// See text_layout.hh.
#include "epilog/output/text_layout.hh"

#include <algorithm>
#include <cstdint>

namespace nvab {
namespace {

struct Character {
  std::size_t bytes = 1;
  std::size_t columns = 1;
};

struct Range {
  std::uint32_t first, last;
};

// East Asian wide and emoji blocks, roughly: a column too few only breaks an alignment.
constexpr Range kWide[] = {
    {0x1100, 0x115F}, {0x2E80, 0x303E},   {0x3041, 0x33FF},   {0x3400, 0x4DBF},  {0x4E00, 0x9FFF},
    {0xA000, 0xA4CF}, {0xAC00, 0xD7A3},   {0xF900, 0xFAFF},   {0xFE30, 0xFE6F},  {0xFF00, 0xFF60},
    {0xFFE0, 0xFFE6}, {0x1F300, 0x1F64F}, {0x1F900, 0x1F9FF}, {0x20000, 0x3FFFD}};
constexpr Range kNoWidth[] = {{0x0300, 0x036F}, {0x200B, 0x200F}, {0x202A, 0x202E},
                              {0x2060, 0x2064}, {0x20D0, 0x20FF}, {0xFE00, 0xFE0F}};

template <std::size_t N>
bool is_in(const Range (&ranges)[N], std::uint32_t code) {
  return std::any_of(std::begin(ranges), std::end(ranges), [code](const Range& range) {
    return code >= range.first && code <= range.last;
  });
}

Character next_character(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  if (lead < 0x80) return {1, lead < 0x20 || lead == 0x7F ? 0u : 1u};
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC0 ? 2 : 1;
  std::uint32_t code = lead & (0xFFu >> (length + 1));
  std::size_t used = 1;
  while (used < length && used < text.size() &&
         (static_cast<unsigned char>(text[used]) & 0xC0) == 0x80) {
    code = code << 6 | (static_cast<unsigned char>(text[used]) & 0x3Fu);
    ++used;
  }
  if (is_in(kNoWidth, code)) return {used, 0};
  return {used, is_in(kWide, code) ? 2u : 1u};
}

// The bytes of `text` that fit `columns`.
std::size_t bytes_that_fit(std::string_view text, std::size_t columns) {
  std::size_t bytes = 0;
  std::size_t used = 0;
  while (bytes < text.size()) {
    const Character c = next_character(text.substr(bytes));
    if (used + c.columns > columns) break;
    used += c.columns;
    bytes += c.bytes;
  }
  return bytes;
}

}  // namespace

std::size_t columns_of(std::string_view text) {
  std::size_t columns = 0;
  for (std::size_t i = 0; i < text.size();) {
    const Character c = next_character(text.substr(i));
    columns += c.columns;
    i += c.bytes;
  }
  return columns;
}

std::string cut_to(std::string_view text, std::size_t columns) {
  std::string line(text);
  std::replace(line.begin(), line.end(), '\n', ' ');
  std::replace(line.begin(), line.end(), '\t', ' ');
  if (columns_of(line) <= columns) return line;
  if (columns == 0) return {};
  return line.substr(0, bytes_that_fit(line, columns - 1)) + "…";
}

std::vector<std::string> wrap(std::string_view text, std::size_t columns) {
  columns = std::max<std::size_t>(columns, 2);  // room for one wide character
  std::vector<std::string> lines;
  std::string line;
  const auto end_line = [&] {
    if (!line.empty()) lines.push_back(std::move(line));
    line.clear();
  };
  while (!text.empty()) {
    const std::size_t start = text.find_first_not_of(" \t\n");
    if (start == std::string_view::npos) break;
    text.remove_prefix(start);
    std::string_view word = text.substr(0, text.find_first_of(" \t\n"));
    text.remove_prefix(word.size());
    const std::size_t space = line.empty() ? 0 : 1;
    if (columns_of(line) + space + columns_of(word) > columns) end_line();
    while (columns_of(word) > columns) {
      const std::size_t bytes = std::max<std::size_t>(1, bytes_that_fit(word, columns));
      lines.emplace_back(word.substr(0, bytes));
      word.remove_prefix(bytes);
    }
    if (!line.empty()) line += ' ';
    line += word;
  }
  end_line();
  return lines;
}

std::string pad_to(std::string_view text, std::size_t columns) {
  const std::size_t used = columns_of(text);
  return std::string(text) + std::string(used < columns ? columns - used : 0, ' ');
}

}  // namespace nvab
