// SPDX-License-Identifier: Apache-2.0
// Logging to stderr. Nothing but results ever goes to stdout. May be called from any thread.
#pragma once

#include <optional>
#include <string_view>

namespace nvab {

enum class LogLevel { debug, info, warning, error, off };
enum class LogFormat { text, json };

std::optional<LogLevel> log_level_from(std::string_view word);
std::optional<LogFormat> log_format_from(std::string_view word);

// What is shown from now on (warnings and errors as text, until it is called). Call it before there
// are threads. In text a line is "nvab-run: warning: …"; in JSON an object with time, level,
// program and message.
void log_start(std::string_view program, LogLevel level, LogFormat format);

// One line each; what is not fit for a terminal is taken out of the message.
void log_debug(std::string_view message);
void log_info(std::string_view message);
void log_warning(std::string_view message);
void log_error(std::string_view message);

}  // namespace nvab
