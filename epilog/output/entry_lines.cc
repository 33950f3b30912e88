// SPDX-License-Identifier: Apache-2.0
// See entry_lines.hh. The front of a line follows dialects that common/engine/extract reads, so
// that a bundle without its index is still a bundle.
#include "epilog/output/entry_lines.hh"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "common/base/text.hh"
#include "common/model/entries_json.hh"

namespace nvab {
namespace {

// "2026-03-01T10:59:58.123456Z n2 kernel: "
std::string syslog_front(const LogEntry& entry) {
  std::string front;
  if (entry.timestamp) front += format_rfc3339(*entry.timestamp) + " ";
  if (entry.node.empty() && entry.app.empty()) return front;
  front += (entry.node.empty() ? "-" : entry.node) + " ";
  if (entry.app.empty()) return front;
  front += entry.app;
  if (entry.pid) front += fmt::format("[{}]", *entry.pid);
  return front + ": ";
}

// "2026-03-01T10:59:58.123456Z [rank3]: "; a time that was only inherited is not the line's own.
std::string applog_front(const LogEntry& entry) {
  std::string front;
  if (entry.timestamp && entry.time_quality == TimeQuality::exact) {
    front += format_rfc3339(*entry.timestamp) + " ";
  }
  if (entry.rank) {
    front += fmt::format("[rank{}]: ", *entry.rank);
  } else if (entry.task) {
    front += fmt::format("{}: ", *entry.task);
  }
  return front;
}

std::string front_of(const LogEntry& entry, Source source) {
  std::string front = source == Source::applog ? applog_front(entry) : syslog_front(entry);
  std::replace(front.begin(), front.end(), '\n', ' ');
  return front;
}

}  // namespace

std::string plain_lines(const LogEntry& entry, Source source) {
  const std::string front = front_of(entry, source);
  std::string lines;
  for (const std::string_view part : split(entry.message, '\n')) {
    lines += front;
    lines += part;
    lines += '\n';
  }
  return lines;
}

std::string index_line(const LogEntry& entry) {
  LogEntry without = entry;
  without.message.clear();
  Json index = to_json(without);
  const auto breaks = std::count(entry.message.begin(), entry.message.end(), '\n');
  if (breaks > 0) index.set("lines", Json::of(static_cast<std::int64_t>(breaks) + 1));
  return index.dump();
}

std::size_t lines_of(const Json& index) {
  const auto count = index.get("lines").as_int();
  return count && *count > 1 ? static_cast<std::size_t>(*count) : 1;
}

Result<LogEntry> entry_of(const Json& index, std::span<const std::string> lines, Source source,
                          std::size_t* changed) {
  Error error;
  LogEntry entry = read_log_entry(JsonFields(index, "", error));
  if (!error.message.empty()) return tl::unexpected<Error>(error);
  entry.message.clear();
  const std::string front = front_of(entry, source);
  for (const std::string& line : lines) {
    if (&line != lines.data()) entry.message += '\n';
    const bool is_as_saved = line.starts_with(front);
    // What was saved is clean already; a bundle may come from anybody.
    entry.message += sanitize(std::string_view(line).substr(is_as_saved ? front.size() : 0));
    if (!is_as_saved) ++*changed;
  }
  return entry;
}

std::string plain_path(Source source, std::string_view name) {
  return fmt::format("{}/{}", to_string(source), name);
}

std::string index_path(Source source, std::string_view name) {
  return fmt::format("index/{}/{}.ndjson", to_string(source), name);
}

}  // namespace nvab
