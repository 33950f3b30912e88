// SPDX-License-Identifier: Apache-2.0
// The only user of isa-l (2.7 times zlib's speed) and libzstd. A log may end in the middle of a
// member because its writer died: what was readable up to there is evidence all the same.
#include "common/base/decode.hh"

#include <fcntl.h>
#include <isa-l/igzip_lib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <span>
#include <vector>

#include "common/base/text.hh"

namespace nvab {
namespace {

// A scan of more than this would push the next job's files out of the page cache.
constexpr std::uint64_t kDropCacheFrom = 2ULL * 1024 * 1024 * 1024;

enum class Packing { plain, gzip, zstd };

Packing packing_of(std::string_view head) {
  if (head.starts_with("\x1F\x8B\x08")) return Packing::gzip;
  if (head.starts_with("\x28\xB5\x2F\xFD")) return Packing::zstd;
  // pzstd begins with a skippable frame: 5? 2A 4D 18.
  const bool is_skippable = head.size() >= 4 && (static_cast<unsigned char>(head[0]) >> 4) == 5 &&
                            head.substr(1, 3) == "\x2A\x4D\x18";
  return is_skippable ? Packing::zstd : Packing::plain;
}

// Unpacks a stream piece by piece.
class Unpacker {
 public:
  virtual ~Unpacker() = default;
  // Takes bytes off `in`, fills `out` from its start, returns how many. When it returns without
  // filling `out`, `in` is used up or the stream is damaged.
  virtual std::size_t unpack(std::string_view& in, std::span<char> out) = 0;
  bool is_damaged() const { return is_damaged_; }
  // Whether the stream may end here: all that was begun is complete.
  bool is_complete() const { return is_complete_ && !is_damaged_; }

 protected:
  bool is_damaged_ = false;
  bool is_complete_ = true;
};

class Gunzip final : public Unpacker {
 public:
  Gunzip() { isal_inflate_init(&state_); }

  std::size_t unpack(std::string_view& in, std::span<char> out) override {
    std::size_t filled = 0;
    while (!is_damaged_ && filled < out.size()) {
      if (is_complete_ && !begin_member(in)) break;
      const std::size_t room = out.size() - filled;
      const std::size_t before = in.size();
      const std::size_t made = inflate(in, out.subspan(filled));
      filled += made;
      if (is_complete_) continue;
      if (made < room && in.empty()) break;
      if (made == 0 && in.size() == before) is_damaged_ = true;  // no way forward
    }
    return filled;
  }

 private:
  // Members follow one another (logrotate, pigz, `cat a.gz b.gz`); tapes pad with zeros, and what
  // else follows is damage.
  bool begin_member(std::string_view& in) {
    if (is_past_first_) in.remove_prefix(std::min(in.find_first_not_of('\0'), in.size()));
    if (in.empty()) return false;
    if (in.front() != '\x1F') {
      is_damaged_ = true;
      return false;
    }
    isal_inflate_reset(&state_);
    state_.crc_flag = ISAL_GZIP;
    is_complete_ = false;
    is_past_first_ = true;
    return true;
  }

  std::size_t inflate(std::string_view& in, std::span<char> out) {
    // isa-l's pointers are not const, but it only reads there.
    state_.next_in = reinterpret_cast<std::uint8_t*>(const_cast<char*>(in.data()));
    state_.avail_in = static_cast<std::uint32_t>(in.size());
    state_.next_out = reinterpret_cast<std::uint8_t*>(out.data());
    state_.avail_out = static_cast<std::uint32_t>(out.size());
    // On damage isa-l may say that it took more than there was.
    const bool is_sound = isal_inflate(&state_) >= 0 && state_.avail_in <= in.size();
    is_damaged_ = !is_sound;
    in.remove_prefix(is_sound ? in.size() - state_.avail_in : in.size());
    if (is_sound && state_.block_state == ISAL_BLOCK_FINISH) is_complete_ = true;
    return out.size() - std::min<std::size_t>(state_.avail_out, out.size());
  }

  inflate_state state_ = {};
  bool is_past_first_ = false;
};

struct FreeZstd {
  void operator()(ZSTD_DStream* stream) const { ZSTD_freeDStream(stream); }
};

// Frames that need a window over zstd's default of 128 MiB (--long=28 and more) count as damaged:
// memory is bounded whatever the file says.
class Unzstd final : public Unpacker {
 public:
  std::size_t unpack(std::string_view& in, std::span<char> out) override {
    ZSTD_outBuffer sink = {out.data(), out.size(), 0};
    ZSTD_inBuffer source = {in.data(), in.size(), 0};
    while (!is_damaged_ && sink.pos < sink.size) {
      if (source.pos == source.size && is_complete_) break;
      const std::size_t in_before = source.pos, out_before = sink.pos;
      const std::size_t left = ZSTD_decompressStream(stream_.get(), &sink, &source);
      is_damaged_ = ZSTD_isError(left) != 0;
      is_complete_ = left == 0;
      if (source.pos == in_before && sink.pos == out_before) break;
    }
    in.remove_prefix(source.pos);
    if (!in.empty() && sink.pos < sink.size) is_damaged_ = true;
    return sink.pos;
  }

 private:
  std::unique_ptr<ZSTD_DStream, FreeZstd> stream_{ZSTD_createDStream()};
};

std::unique_ptr<Unpacker> make_unpacker(Packing packing) {
  if (packing == Packing::gzip) return std::make_unique<Gunzip>();
  if (packing == Packing::zstd) return std::make_unique<Unzstd>();
  return nullptr;
}

// One file from its start to the end that it had when it was opened.
class Reader {
 public:
  Reader(const Fd& file, std::uint64_t size) : file_(file), end_(size), buffer_(kReadBlock) {}

  // The next bytes, empty at the end.
  Result<std::string_view> next() {
    const std::size_t wanted =
        static_cast<std::size_t>(std::min<std::uint64_t>(buffer_.size(), end_ - at_));
    for (;;) {
      const ssize_t got = ::pread(file_.get(), buffer_.data(), wanted, static_cast<off_t>(at_));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return tl::unexpected(from_errno(errno, "reading"));
      at_ += static_cast<std::uint64_t>(got);
      has_shrunk_ = got == 0 && wanted > 0;
      return std::string_view(buffer_.data(), static_cast<std::size_t>(got));
    }
  }
  std::uint64_t bytes_read() const { return at_; }
  // The end came before the place where it was at the start.
  bool has_shrunk() const { return has_shrunk_; }

 private:
  const Fd& file_;
  std::uint64_t at_ = 0, end_;
  bool has_shrunk_ = false;
  std::vector<char> buffer_;
};

using Block = std::function<bool(std::string_view)>;

Result<DecodeSummary> copy_plain(Reader& reader, std::string_view piece, const Block& block) {
  DecodeSummary summary;
  while (!piece.empty()) {
    summary.bytes_decoded += piece.size();
    if (!block(piece)) break;
    auto next = reader.next();
    if (!next) return tl::unexpected(std::move(next.error()));
    piece = *next;
  }
  return summary;
}

Result<DecodeSummary> unpack_all(Reader& reader, std::string_view piece, Unpacker& unpacker,
                                 const Block& block) {
  DecodeSummary summary;
  std::vector<char> plain(kReadBlock);
  std::size_t filled = 0;
  bool is_wanted = true;
  const auto hand_on = [&] {
    summary.bytes_decoded += filled;
    is_wanted = filled == 0 || block(std::string_view(plain.data(), filled));
    filled = 0;
  };
  while (is_wanted && !piece.empty() && !unpacker.is_damaged()) {
    filled += unpacker.unpack(piece, std::span(plain).subspan(filled));
    if (filled == plain.size()) {
      hand_on();
      // Output may wait inside the unpacker although its input is used up.
      while (is_wanted && piece.empty() && filled == 0) {
        filled = unpacker.unpack(piece, plain);
        if (filled < plain.size()) break;
        hand_on();
      }
    }
    if (!piece.empty()) continue;
    auto next = reader.next();
    if (!next) return tl::unexpected(std::move(next.error()));
    piece = *next;
  }
  if (is_wanted) hand_on();
  // Where the caller stopped early, nobody knows how it ends.
  summary.truncated = is_wanted && !unpacker.is_complete();
  return summary;
}

}  // namespace

Result<DecodeSummary> decode_file(const Fd& file, const Block& block) {
  struct stat status = {};
  if (::fstat(file.get(), &status) != 0) return tl::unexpected(from_errno(errno, "reading"));
  ::posix_fadvise(file.get(), 0, 0, POSIX_FADV_SEQUENTIAL);
  Reader reader(file, static_cast<std::uint64_t>(status.st_size));
  auto head = reader.next();
  if (!head) return tl::unexpected(std::move(head.error()));
  const auto unpacker = make_unpacker(packing_of(*head));
  auto summary =
      unpacker ? unpack_all(reader, *head, *unpacker, block) : copy_plain(reader, *head, block);
  if (summary) {
    summary->bytes_read = reader.bytes_read();
    summary->shrunk = reader.has_shrunk();
  }
  if (reader.bytes_read() > kDropCacheFrom) {
    ::posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED);
  }
  return summary;
}

Result<std::string> decode_buffer(std::string_view packed, std::string_view encoding,
                                  std::size_t limit) {
  const Packing packing = encoding == "gzip"   ? Packing::gzip
                          : encoding == "zstd" ? Packing::zstd
                                               : Packing::plain;
  const auto unpacker = make_unpacker(packing);
  if (!unpacker) {
    return fail(Error::Code::unsupported, "unpacking a body: the encoding '" +
                                              excerpt(sanitize(encoding), 32) +
                                              "' is neither gzip nor zstd");
  }
  const bool is_empty = packed.empty();
  // Small steps: a bomb is noticed at the limit, not after it was unpacked.
  constexpr std::size_t kStep = 64 * 1024;
  std::string plain;
  for (bool is_full = true; is_full;) {
    const std::size_t used = plain.size();
    plain.resize(used + kStep);
    const std::size_t made = unpacker->unpack(packed, std::span(plain).subspan(used));
    plain.resize(used + made);
    is_full = made == kStep;
    if (plain.size() > limit) {
      return fail(Error::Code::unavailable,
                  "unpacking a body: it holds more than " + std::to_string(limit) + " bytes");
    }
  }
  if (is_empty || !unpacker->is_complete() || !packed.empty()) {
    return fail(Error::Code::malformed,
                "unpacking a body: the " + std::string(encoding) + " stream is cut or damaged");
  }
  return plain;
}

}  // namespace nvab
