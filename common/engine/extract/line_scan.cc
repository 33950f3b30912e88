// SPDX-License-Identifier: Apache-2.0
// Finding and counting line ends at memory speed.
#include "common/engine/extract/line_scan.hh"

#include <algorithm>
#include <cstring>

namespace nvab {
namespace {

// Compilers turn this into the machine's vectors.
constexpr std::size_t kLane = 32;
typedef unsigned char Lane __attribute__((vector_size(kLane)));

std::uint64_t sum(const Lane& lane) {
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < kLane; ++i) total += lane[i];
  return total;
}

}  // namespace

std::size_t line_end(std::string_view bytes, std::size_t at) {
  if (at >= bytes.size()) return bytes.size();
  const void* newline = std::memchr(bytes.data() + at, '\n', bytes.size() - at);
  const std::size_t end =
      newline ? static_cast<std::size_t>(static_cast<const char*>(newline) - bytes.data())
              : bytes.size();
  const void* feed = std::memchr(bytes.data() + at, '\r', end - at);
  return feed ? static_cast<std::size_t>(static_cast<const char*>(feed) - bytes.data()) : end;
}

std::size_t line_begin(std::string_view bytes, std::size_t at) {
  while (at > 0 && !is_line_end(bytes[at - 1])) --at;
  return at;
}

std::size_t complete_length(std::string_view bytes) { return line_begin(bytes, bytes.size()); }

std::uint64_t count_newlines(std::string_view bytes) {
  constexpr std::size_t kRounds = 255;  // until a byte of the lane may overflow
  const Lane newline = Lane{} + static_cast<unsigned char>('\n');
  std::uint64_t total = 0;
  std::size_t at = 0;
  while (bytes.size() - at >= kLane) {
    const std::size_t rounds = std::min(kRounds, (bytes.size() - at) / kLane);
    Lane counts{};
    for (std::size_t i = 0; i < rounds; ++i, at += kLane) {
      Lane lane;
      std::memcpy(&lane, bytes.data() + at, kLane);
      counts -= static_cast<Lane>(lane == newline);
    }
    total += sum(counts);
  }
  for (; at < bytes.size(); ++at) total += bytes[at] == '\n' ? 1 : 0;
  return total;
}

bool TextWindow::line_at(std::uint64_t* offset, std::string_view* line) const {
  std::uint64_t place = std::max(*offset, begin());
  if (place >= end()) return false;
  std::string_view part = place < base ? before : now;
  std::size_t at = static_cast<std::size_t>(place - (place < base ? begin() : base));
  if (at > 0 && !is_line_end(part[at - 1])) {
    at = std::min(part.size(), line_end(part, at) + 1);
    if (at == part.size()) {  // the next line is the first of the other part, or there is none
      if (place >= base || now.empty()) return false;
      part = now;
      at = 0;
      place = base;
    }
  }
  const std::uint64_t part_begin = part.data() == before.data() && place < base ? begin() : base;
  *offset = part_begin + at;
  *line = part.substr(at, line_end(part, at) - at);
  return true;
}

bool TextWindow::line_before(std::uint64_t* offset, std::string_view* line) const {
  if (*offset <= begin() || *offset > end()) return false;
  const bool in_before = *offset <= base;
  const std::string_view part = in_before ? before : now;
  const std::uint64_t part_begin = in_before ? begin() : base;
  const std::size_t last = static_cast<std::size_t>(*offset - part_begin) - 1;  // its end character
  const std::size_t length = is_line_end(part[last]) ? last : last + 1;
  const std::size_t at = line_begin(part, length);
  *offset = part_begin + at;
  *line = part.substr(at, length - at);
  return true;
}

}  // namespace nvab
