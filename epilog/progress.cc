// SPDX-License-Identifier: Apache-2.0
// See progress.hh. One line on stderr, drawn over itself.
#include "epilog/progress.hh"

#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <mutex>
#include <string>

#include "common/base/text.hh"
#include "epilog/output/text_layout.hh"

namespace nvab {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kQuietFor = std::chrono::seconds(1);
constexpr auto kRedrawEvery = std::chrono::milliseconds(200);

class TerminalProgress final : public ProgressMeter {
 public:
  ~TerminalProgress() override {
    if (is_drawn_) std::fputs("\r\x1b[K", stderr);
  }
  void begin_file(std::string_view path) override {
    const std::lock_guard lock(mutex_);
    ++files_;
    path_ = sanitize(path);
    draw();
  }
  void add_bytes(std::uint64_t bytes) override {
    const std::lock_guard lock(mutex_);
    bytes_ += bytes;
    draw();
  }

 private:
  void draw();  // under the lock

  std::mutex mutex_;
  Clock::time_point begin_ = Clock::now();
  Clock::time_point next_ = begin_ + kQuietFor;
  std::uint64_t files_ = 0, bytes_ = 0;
  std::string path_;
  bool is_drawn_ = false;
};

void TerminalProgress::draw() {
  const Clock::time_point now = Clock::now();
  if (now < next_) return;
  next_ = now + kRedrawEvery;
  winsize size{};
  const bool is_known = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
  const std::size_t width = is_known ? size.ws_col - 1u : 79u;
  const double seconds = std::chrono::duration<double>(now - begin_).count();
  const auto rate = static_cast<std::uint64_t>(static_cast<double>(bytes_) / seconds);
  const std::string line = cut_to(
      fmt::format("file {}, {}, {}/s  {}", files_, format_bytes(bytes_), format_bytes(rate), path_),
      width);
  std::fprintf(stderr, "\r%s\x1b[K", line.c_str());
  std::fflush(stderr);
  is_drawn_ = true;
}

}  // namespace

std::unique_ptr<ProgressMeter> make_terminal_progress() {
  if (::isatty(STDERR_FILENO) == 0) return nullptr;
  return std::make_unique<TerminalProgress>();
}

std::string format_bytes(std::uint64_t bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < std::size(kUnits)) {
    value /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", value, kUnits[unit]);
}

}  // namespace nvab
