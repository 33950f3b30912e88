// SPDX-License-Identifier: Apache-2.0
// A log file as a stream of plain bytes, whatever it is packed in: plain, gzip (isa-l) or zstd,
// told apart by the first bytes and not by the name. Memory is bounded by the block, whatever the
// file.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "common/base/file.hh"
#include "common/base/result.hh"

namespace nvab {

// Measured: 256 KiB to 1 MiB blocks read fastest with pread, and still fit the L2 cache.
inline constexpr std::size_t kReadBlock = 512 * 1024;

struct DecodeSummary {
  std::uint64_t bytes_read = 0;     // from the file
  std::uint64_t bytes_decoded = 0;  // handed on
  bool truncated = false;           // a compressed file ended in the middle, or was damaged there
  bool shrunk = false;              // the file lost bytes while it was read (copytruncate)
};

// Calls `block` with consecutive plain bytes until the end as seen at the start (a file that grows
// while it is read is not followed) or until `block` returns false. A damaged compressed tail ends
// the stream with `truncated`, it is not an error. Errors: those of reading.
Result<DecodeSummary> decode_file(const Fd& file,
                                  const std::function<bool(std::string_view)>& block);

// The whole of a small packed buffer, at most `limit` bytes of plain text (for HTTP bodies).
// `encoding` is "gzip" or "zstd". Errors: malformed, unsupported, unavailable (over the limit).
Result<std::string> decode_buffer(std::string_view packed, std::string_view encoding,
                                  std::size_t limit);

}  // namespace nvab
