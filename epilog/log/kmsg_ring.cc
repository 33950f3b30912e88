// SPDX-License-Identifier: Apache-2.0
// The records of /dev/kmsg and their times; see kmsg.hh.
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "common/base/file.hh"
#include "common/base/text.hh"
#include "epilog/log/kmsg.hh"

namespace nvab {
namespace {

// One read of /dev/kmsg is one record; the kernel's longest has 8 KB with its dictionary.
constexpr std::size_t kReadBytes = 64 * 1024;

Duration clock_of(clockid_t id) {
  timespec now = {};
  ::clock_gettime(id, &now);
  return std::chrono::seconds(now.tv_sec) +
         std::chrono::duration_cast<Duration>(std::chrono::nanoseconds(now.tv_nsec));
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

// The kernel writes controls, backslashes and bytes over 127 as \x1b.
std::string unescape(std::string_view text) {
  std::string plain;
  plain.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_escape = text[i] == '\\' && i + 3 < text.size() && text[i + 1] == 'x' &&
                           hex_digit(text[i + 2]) >= 0 && hex_digit(text[i + 3]) >= 0;
    if (!is_escape) {
      plain += text[i];
      continue;
    }
    plain += static_cast<char>(hex_digit(text[i + 2]) * 16 + hex_digit(text[i + 3]));
    i += 3;
  }
  return plain;
}

// How long the machine slept just before this record, as far as it says so.
std::optional<Duration> told_sleep(std::string_view text) {
  constexpr std::string_view kWords = "Timekeeping suspended for ";
  const std::size_t at = text.find(kWords);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view rest = text.substr(at + kWords.size());
  const auto seconds = parse_double(rest.substr(0, rest.find(' ')));
  constexpr double kYear = 366.0 * 86400;
  if (!seconds || *seconds < 0 || *seconds > kYear) return std::nullopt;
  return Duration(static_cast<std::int64_t>(*seconds * 1e6));
}

void append_records(std::string_view text, KernelRing* ring) {
  for (const std::string_view line : split(text, '\n')) {
    auto record = parse_kernel_record(line);
    if (!record) continue;
    if (!ring->records.empty() && record->sequence > ring->records.back().sequence + 1) {
      ring->lost += record->sequence - ring->records.back().sequence - 1;
    }
    ring->records.push_back(std::move(*record));
  }
}

}  // namespace

std::optional<KernelRecord> parse_kernel_record(std::string_view line) {
  const std::size_t head_end = line.find(';');
  if (head_end == std::string_view::npos || line.front() == ' ') return std::nullopt;
  const auto fields = split(line.substr(0, head_end), ',');
  if (fields.size() < 3) return std::nullopt;
  const auto priority = parse_int(fields[0]), sequence = parse_int(fields[1]),
             uptime = parse_int(fields[2]);
  if (!priority || !sequence || !uptime) return std::nullopt;
  if (*priority < 0 || *priority > 0x7fff || *sequence < 0 || *uptime < 0) return std::nullopt;
  KernelRecord record;
  record.severity = static_cast<int>(*priority % 8);
  record.facility = static_cast<int>(*priority / 8);
  record.sequence = static_cast<std::uint64_t>(*sequence);
  record.uptime = Duration(*uptime);
  record.text = unescape(line.substr(head_end + 1));
  return record;
}

KernelClock KernelClock::here() {
  KernelClock clock;
  clock.now = std::chrono::floor<Duration>(std::chrono::system_clock::now());
  clock.monotonic = clock_of(CLOCK_MONOTONIC);
  clock.slept = clock_of(CLOCK_BOOTTIME) - clock.monotonic;
  return clock;
}

std::vector<Time> times_of(const std::vector<KernelRecord>& records, const KernelClock& clock) {
  const auto slept_at = [](const KernelRecord& record) {
    return record.is_of_kernel() ? told_sleep(record.text) : std::nullopt;
  };
  const auto woke = [](const KernelRecord& record) {
    return record.is_of_kernel() && record.text.starts_with("PM: suspend exit");
  };
  // Below a second it is the time between reading the two clocks.
  constexpr Duration kShortest = std::chrono::seconds(1);
  const bool is_told = std::any_of(records.begin(), records.end(),
                                   [&](const auto& r) { return slept_at(r).has_value(); });
  const bool is_single = !is_told && clock.slept >= kShortest &&
                         std::count_if(records.begin(), records.end(), woke) == 1;
  std::vector<Time> times(records.size());
  Time boot = clock.now - clock.monotonic;
  for (std::size_t i = records.size(); i-- > 0;) {
    times[i] = boot + records[i].uptime;
    if (const auto slept = slept_at(records[i])) boot -= *slept;
    if (is_single && woke(records[i])) boot -= clock.slept;
  }
  return times;
}

Result<KernelRing> read_kernel_ring(const std::string& path, Deadline deadline) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!fd) return tl::unexpected(from_errno(errno, "opening " + path));
  KernelRing ring;
  std::string carry;
  std::vector<char> piece(kReadBytes);
  for (std::size_t bytes = 0;;) {
    if (deadline.passed()) return fail(Error::Code::timeout, "the time for reading was over");
    const ssize_t got = ::read(fd.get(), piece.data(), piece.size());
    // EPIPE: the kernel has overwritten what was next, and goes on with what is there.
    if (got < 0 && (errno == EINTR || errno == EPIPE)) continue;
    if (got < 0 && errno != EAGAIN) return tl::unexpected(from_errno(errno, "reading " + path));
    if (got <= 0) break;
    bytes += static_cast<std::size_t>(got);
    ring.truncated = bytes > kMaxKernelBytes;
    if (ring.truncated) break;
    carry.append(piece.data(), static_cast<std::size_t>(got));
    const std::size_t end = carry.rfind('\n');
    if (end == std::string::npos) continue;
    append_records(std::string_view(carry).substr(0, end), &ring);
    carry.erase(0, end + 1);
  }
  append_records(carry, &ring);
  return ring;
}

}  // namespace nvab
