// SPDX-License-Identifier: Apache-2.0
// Raw bytes of one stream in, the entries that may matter out: lines that stage one selects, whole
// multi-line blocks around them, sampled progress, and the coverage that makes silence evidence.
// Only selected lines are parsed; memory is bounded whatever the stream and however long its lines.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "common/engine/extract/dialect.hh"
#include "common/engine/ruleset.hh"
#include "common/model/observation.hh"

namespace nvab {

// A line longer than this is cut for matching; its rest is skipped and counted.
inline constexpr std::size_t kMaxLine = 64 * 1024;
// A block ends at this many lines at the latest.
inline constexpr std::size_t kMaxBlockLines = 512;
// Progress lines are all taken in the first kSampledHead and the last kSampledTail bytes of a
// stream, and between them in the kSampledLines bytes before each multiple of a stride: the narrow
// one up to kNarrowPart, so that a small log shows whether the job went on after a fault, the wide
// one beyond. Which lines that are does not depend on the chunking.
inline constexpr std::uint64_t kSampledHead = 64 * 1024;
inline constexpr std::size_t kSampledTail = 128 * 1024;
inline constexpr std::uint64_t kSampledLines = 2048;
inline constexpr std::uint64_t kNarrowStride = 64 * 1024;
inline constexpr std::uint64_t kNarrowPart = 16 * 1024 * 1024;
inline constexpr std::uint64_t kWideStride = 1024 * 1024;
// A stamp is read at each multiple of this offset: what silence and inherited times are found with.
inline constexpr std::uint64_t kStampStride = 64 * 1024;

class StreamReader {
 public:
  using Sink = std::function<void(LogEntry&&)>;

  // Both references must outlive the reader. `select_all`: every line becomes an entry.
  StreamReader(const Ruleset& rules, StreamInfo stream, Sink sink, bool select_all = false);
  ~StreamReader();

  // Consecutive bytes in pieces of any size; the entries do not depend on the pieces.
  void feed(std::string_view bytes);
  // The same for whole lines, each with its end, that a log server received at this time, not
  // earlier than those before: what their own stamps leave open is known from it. A stream has
  // either all of its bytes fed so, or none.
  void feed(std::string_view lines, Time received);
  // Ends the stream; the coverage of what was read.
  StreamCoverage finish();
  // Bytes of the parsed lines that were no valid UTF-8 or control characters, and bytes of overlong
  // lines that were not looked at.
  std::uint64_t bytes_replaced() const;
  std::uint64_t bytes_skipped() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace nvab
