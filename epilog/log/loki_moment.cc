// SPDX-License-Identifier: Apache-2.0
// See loki_moment.hh.
#include "epilog/log/loki_moment.hh"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <string_view>

namespace nvab {
namespace {

// Characters of a line that are looked at; RE2 refuses to repeat more than 1000 times.
constexpr std::size_t kMaxPrefix = 400;

// The first characters of valid UTF-8, as code points.
std::vector<std::uint32_t> characters(std::string_view text) {
  std::vector<std::uint32_t> out;
  for (std::size_t i = 0; i < text.size() && out.size() < kMaxPrefix;) {
    const auto lead = static_cast<unsigned char>(text[i++]);
    std::uint32_t code = lead < 0x80   ? lead
                         : lead < 0xE0 ? lead & 0x1FU
                         : lead < 0xF0 ? lead & 0x0FU
                                       : lead & 0x07U;
    while (i < text.size() && (static_cast<unsigned char>(text[i]) & 0xC0U) == 0x80U) {
      code = code << 6 | (static_cast<unsigned char>(text[i++]) & 0x3FU);
    }
    out.push_back(code);
  }
  return out;
}

struct Split {
  std::size_t place = 0;
  std::uint32_t last = 0;   // of the characters of the first half
  std::size_t smaller = 0;  // lines of the smaller half
};

// The best split by the characters at `place`, of which `codes` are sorted; lines that end before
// it belong to the other half.
void try_place(std::size_t place, const std::vector<std::uint32_t>& codes, std::size_t lines,
               Split* best) {
  for (std::size_t i = 0; i < codes.size(); ++i) {
    if (i + 1 < codes.size() && codes[i + 1] == codes[i]) continue;
    const std::size_t smaller = std::min(i + 1, lines - (i + 1));
    if (smaller > best->smaller) *best = {place, codes[i], smaller};
  }
}

}  // namespace

std::optional<std::string> split_lines(const std::vector<std::string>& lines) {
  std::vector<std::vector<std::uint32_t>> all;
  all.reserve(lines.size());
  for (const std::string& line : lines) all.push_back(characters(line));
  Split best;
  for (std::size_t place = 0; place < kMaxPrefix; ++place) {
    std::vector<std::uint32_t> codes;
    for (const auto& line : all) {
      if (place < line.size()) codes.push_back(line[place]);
    }
    if (codes.empty()) break;
    std::sort(codes.begin(), codes.end());
    try_place(place, codes, lines.size(), &best);
    if (best.smaller * 3 >= lines.size()) break;  // good enough
  }
  if (best.smaller == 0) return std::nullopt;
  return fmt::format(R"(^(?s:.{{{}}})[\x{{0}}-\x{{{:x}}}])", best.place, best.last);
}

}  // namespace nvab
