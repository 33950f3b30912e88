// SPDX-License-Identifier: Apache-2.0
// What the stamps of a stream tell over its whole length: the time of lines without one, first and
// last, and the longest silence. Stamps are sampled; between two samples that are further apart
// than the longest silence so far, the place of the silence is looked for by halving.
#pragma once

#include <optional>

#include "common/engine/extract/dialect.hh"
#include "common/engine/extract/line_scan.hh"

namespace nvab {

// Below this nobody calls it silence.
inline constexpr Duration kShortestGap = std::chrono::seconds(5);

class StreamClock {
 public:
  explicit StreamClock(const StreamInfo& stream) : stream_(stream) {}

  // A stamped line at `offset` was parsed, offsets ascending; its time, if that is known. `window`
  // must reach back to the line before that was noted (else the silence in between is not looked
  // for).
  std::optional<Time> note(const LineHead& head, std::uint64_t offset, const TextWindow& window);
  // The time of the nearest stamped line before `offset`, within kLookBack bytes, else the last one
  // noted.
  std::optional<Time> inherited(std::uint64_t offset, const TextWindow& window);

  std::optional<Time> first() const { return first_; }
  std::optional<Time> last() const {
    return last_ ? std::optional<Time>(last_->time) : std::nullopt;
  }
  std::optional<Time> gap_start() const { return gap_start_; }
  std::optional<Time> gap_end() const { return gap_end_; }

 private:
  struct Mark {
    std::uint64_t offset = 0;
    Time time{};
  };
  std::optional<Mark> stamped_line(std::uint64_t from, std::uint64_t to, Time previous,
                                   const TextWindow& window) const;
  void search_gap(Mark low, Mark high, int depth, const TextWindow& window);

  const StreamInfo& stream_;
  std::optional<Time> first_, gap_start_, gap_end_;
  std::optional<Mark> last_;
  // Lines that begin in here are known to have no stamp, so that many lines without one, each
  // looking back, do not look at the same lines again and again.
  std::uint64_t blank_begin_ = 0, blank_end_ = 0;
};

// How far back a line looks for a stamp to inherit, and a banner for its beginning.
inline constexpr std::uint64_t kLookBack = 16 * 1024;

// The head of a raw line as the stream reader reads it, JSON lines included. The views point into
// `storage`.
LineHead read_head(std::string_view raw, const StreamInfo& stream, std::string* storage,
                   std::size_t* replaced);

}  // namespace nvab
