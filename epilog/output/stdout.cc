// SPDX-License-Identifier: Apache-2.0
// See stdout.hh. Written by write(2), so that a full disk or a closed pipe is seen.
#include "epilog/output/stdout.hh"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

#include "common/base/text.hh"
#include "epilog/connector.hh"

namespace nvab {
namespace {

// Wider cards are harder to read, not easier.
constexpr int kMaxCardWidth = 120;
constexpr int kPlainWidth = 100;  // of text that does not go to a terminal

int width_of(int fd) {
  winsize size{};
  if (::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    return std::min<int>(size.ws_col, kMaxCardWidth);
  }
  const char* columns = ::getenv("COLUMNS");
  const auto given = columns != nullptr ? parse_int(columns) : std::nullopt;
  if (given && *given > 0) return static_cast<int>(std::min<long long>(*given, kMaxCardWidth));
  return kPlainWidth;
}

bool wants_color(int fd) {
  if (::isatty(fd) == 0) return false;
  const char* no_color = ::getenv("NO_COLOR");
  if (no_color != nullptr && *no_color != '\0') return false;
  const char* term = ::getenv("TERM");
  return term != nullptr && std::strcmp(term, "dumb") != 0;
}

class Stdout final : public Output {
 public:
  explicit Stdout(const StdoutOptions& options)
      : fd_(options.fd),
        is_text_(options.format == StdoutFormat::text ||
                 (options.format == StdoutFormat::automatic && ::isatty(options.fd) != 0)),
        style_{width_of(options.fd), wants_color(options.fd), options.explain} {}

  Result<void> write(const AttributionResult& result) override {
    std::string text = is_text_ ? text_card(result, style_) : to_json(result).dump() + "\n";
    if (is_text_ && written_before_) text.insert(0, "\n");
    written_before_ = true;
    return write_all(text);
  }

 private:
  Result<void> write_all(std::string_view text);

  int fd_;
  bool is_text_;
  CardStyle style_;
  bool written_before_ = false;
};

Result<void> Stdout::write_all(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd_, text.data(), text.size());
    const int error_number = errno;
    if (written < 0 && error_number == EINTR) continue;
    if (written < 0) return tl::unexpected<Error>(from_errno(error_number, "writing to stdout"));
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

constexpr ParamSpec kParams[] = {
    {.name = "format",
     .fallback = "auto",
     .help = "auto is text on a terminal and JSON lines otherwise",
     .choices = "auto|text|json"},
    {.name = "explain",
     .type = ParamType::boolean,
     .fallback = "false",
     .help = "Text also shows the chain, what was dropped, and alternatives"},
};

Result<std::unique_ptr<Output>> open_stdout(const ComponentSettings& settings, Host&) {
  StdoutOptions options;
  const std::string& format = settings.text("format");
  if (format == "text") options.format = StdoutFormat::text;
  if (format == "json") options.format = StdoutFormat::json;
  options.explain = settings.flag("explain");
  return make_stdout_output(options);
}

}  // namespace

std::unique_ptr<Output> make_stdout_output(const StdoutOptions& options) {
  return std::make_unique<Stdout>(options);
}

extern const OutputComponent output_stdout;
constinit const OutputComponent output_stdout = {
    .spec = {.framework = "output",
             .name = "stdout",
             .help = "JSON lines or cards on stdout",
             .params = kParams},
    .query = nullptr,
    .open = open_stdout,
};

}  // namespace nvab
