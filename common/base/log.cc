// SPDX-License-Identifier: Apache-2.0
// The only user of spdlog. It serialises writers and filters levels; the line's form is ours, so
// that a hostile message cannot break it.
#include "common/base/log.hh"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>

#include "common/base/json.hh"
#include "common/base/text.hh"
#include "common/base/time.hh"

namespace nvab {
namespace {

constexpr std::string_view kLevels[] = {"debug", "info", "warning", "error", "off"};

// A message from a log file may be long; nobody reads more on a terminal.
constexpr std::size_t kMaxLogMessage = 4096;

struct Logger {
  std::string program = "nvab";
  LogFormat format = LogFormat::text;
  std::shared_ptr<spdlog::logger> sink;  // spdlog's registry and we hold it
};

// Made at first use and never destroyed: a late destructor may still log.
Logger& logger() {
  static Logger* const only = [] {
    auto* made = new Logger;
    made->sink =
        std::make_shared<spdlog::logger>("nvab", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made->sink->set_pattern("%v");
    made->sink->set_level(spdlog::level::warn);
    return made;
  }();
  return *only;
}

spdlog::level::level_enum spdlog_level(LogLevel level) {
  switch (level) {
    case LogLevel::debug:
      return spdlog::level::debug;
    case LogLevel::info:
      return spdlog::level::info;
    case LogLevel::warning:
      return spdlog::level::warn;
    case LogLevel::error:
      return spdlog::level::err;
    case LogLevel::off:
      return spdlog::level::off;
  }
  return spdlog::level::warn;
}

std::string line_of(const Logger& log, LogLevel level, std::string_view message) {
  std::string text = excerpt(sanitize(message), kMaxLogMessage);
  const std::string_view word = kLevels[static_cast<int>(level)];
  if (log.format == LogFormat::json) {
    Json line = Json::object();
    const auto now = std::chrono::system_clock::now();
    line.set("time", Json::of(std::chrono::time_point_cast<Duration>(now)));
    line.set("level", Json::of(word)).set("program", Json::of(log.program));
    line.set("message", Json::of(text));
    return line.dump();
  }
  std::replace(text.begin(), text.end(), '\n', ' ');
  return log.program + ": " + std::string(word) + ": " + text;
}

void write(LogLevel level, std::string_view message) {
  const Logger& log = logger();
  const auto at = spdlog_level(level);
  if (log.sink->should_log(at)) log.sink->log(at, line_of(log, level, message));
}

}  // namespace

std::optional<LogLevel> log_level_from(std::string_view word) {
  const auto* const found = std::find(std::begin(kLevels), std::end(kLevels), word);
  if (found == std::end(kLevels)) return std::nullopt;
  return static_cast<LogLevel>(found - std::begin(kLevels));
}

std::optional<LogFormat> log_format_from(std::string_view word) {
  if (word == "text") return LogFormat::text;
  if (word == "json") return LogFormat::json;
  return std::nullopt;
}

void log_start(std::string_view program, LogLevel level, LogFormat format) {
  Logger& log = logger();
  log.program = program;
  log.format = format;
  log.sink->set_level(spdlog_level(level));
}

void log_debug(std::string_view message) { write(LogLevel::debug, message); }
void log_info(std::string_view message) { write(LogLevel::info, message); }
void log_warning(std::string_view message) { write(LogLevel::warning, message); }
void log_error(std::string_view message) { write(LogLevel::error, message); }

}  // namespace nvab
