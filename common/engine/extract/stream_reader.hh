// SPDX-License-Identifier: Apache-2.0
// Raw bytes of one stream in, the entries that may matter out: lines that stage one selects, whole
// multi-line blocks around them, sampled progress, and the coverage that makes silence evidence.
// Only selected lines are parsed; memory is bounded whatever the stream and however long its lines.
#pragma once

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
// Progress lines are all taken in the first and last MiB of a stream, and between them in the last
// lines before each multiple of this offset: the same lines whatever the chunking.
inline constexpr std::size_t kProgressStride = 1024 * 1024;

class StreamReader {
 public:
  using Sink = std::function<void(LogEntry&&)>;

  // Both references must outlive the reader. `select_all`: every line becomes an entry.
  StreamReader(const Ruleset& rules, StreamInfo stream, Sink sink, bool select_all = false);
  ~StreamReader();

  // Consecutive bytes in pieces of any size; the entries do not depend on the pieces.
  void feed(std::string_view bytes);
  // Ends the stream; the coverage of what was read.
  StreamCoverage finish();
  std::uint64_t bytes_replaced() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace nvab
