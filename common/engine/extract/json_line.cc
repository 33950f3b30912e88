// SPDX-License-Identifier: Apache-2.0
// Log lines that are JSON objects: structured loggers, container runtimes, the journal's export.
#include <cmath>

#include "common/base/json.hh"
#include "common/base/text.hh"
#include "common/engine/extract/dialect.hh"
#include "common/engine/extract/head_parts.hh"

namespace nvab {
namespace {

constexpr std::string_view kMessageKeys[] = {"message", "msg",          "MESSAGE",  "log", "body",
                                             "text",    "message_text", "@message", "line"};
constexpr std::string_view kTimeKeys[] = {"time",    "timestamp", "ts",   "@timestamp",
                                          "asctime", "datetime",  "date", "observed_time"};
constexpr std::string_view kNodeKeys[] = {"host",     "hostname",  "node",      "node_name",
                                          "nodename", "_HOSTNAME", "host.name", "k8s.node.name"};
constexpr std::string_view kAppKeys[] = {
    "app", "SYSLOG_IDENTIFIER", "program", "ident", "service", "_COMM", "appname", "service.name"};
constexpr std::string_view kLevelKeys[] = {"level",         "severity", "levelname",
                                           "severity_text", "lvl",      "PRIORITY"};
constexpr std::string_view kRankKeys[] = {"rank", "global_rank", "RANK"};
constexpr std::string_view kPidKeys[] = {"pid", "process", "_PID", "process_id"};

// The journal writes bytes that are no UTF-8 as an array of numbers.
std::string bytes_of(const Json& array) {
  std::string bytes;
  for (const Json& element : array.elements()) {
    const auto byte = element.as_int();
    if (!byte || *byte < 0 || *byte > 255) return "";
    bytes += static_cast<char>(*byte);
  }
  return bytes;
}

std::string text_of(const Json& value) {
  if (auto text = value.as_string()) return *text;
  if (value.is_array()) return bytes_of(value);
  if (value.is_object()) {  // OTLP: {"body": {"stringValue": "…"}}, {"host": {"name": "…"}}
    for (std::string_view key : {"stringValue", "string_value", "name"}) {
      if (auto text = value.get(key).as_string()) return *text;
    }
  }
  if (auto number = value.as_int()) return std::to_string(*number);
  return "";
}

template <typename Keys>
std::string first_text(const Json& object, const Keys& keys) {
  for (std::string_view key : keys) {
    if (!object.has(key)) continue;
    std::string text = text_of(object.get(key));
    if (!text.empty()) return text;
  }
  return "";
}

// Of the line itself, else of what OpenTelemetry and its shippers keep beside it:
// {"body": …, "attributes": {"hostname": …, "appname": …}, "resources": {"host.name": …}}.
template <typename Keys>
std::string text_around(const Json& object, const Keys& keys) {
  std::string text = first_text(object, keys);
  for (std::string_view holder : {"attributes", "resources", "resource"}) {
    if (text.empty()) text = first_text(object.get(holder), keys);
  }
  return text;
}

template <typename Keys>
std::optional<int> first_int(const Json& object, const Keys& keys) {
  const auto number = parse_int(first_text(object, keys));
  if (!number || *number < 0 || *number > 1'000'000'000) return std::nullopt;
  return static_cast<int>(*number);
}

// Seconds, milli-, micro- or nanoseconds since 1970, told apart by size.
std::optional<Time> time_of_number(double value) {
  if (!std::isfinite(value) || value < 1e9) return std::nullopt;
  while (value > 1e11) value /= 1000;
  return from_unix_seconds(value);
}

std::optional<Time> time_of(const Json& value) {
  if (const auto number = value.as_double()) return time_of_number(*number);
  const auto text = value.as_string();
  if (!text) return std::nullopt;
  if (const auto stamp = iso_stamp(*text)) return stamp->time;
  if (const auto number = parse_double(*text)) return time_of_number(*number);
  return std::nullopt;
}

std::optional<Time> first_time(const Json& object) {
  for (std::string_view key : {"_SOURCE_REALTIME_TIMESTAMP", "__REALTIME_TIMESTAMP"}) {
    if (const auto time = time_of(object.get(key))) return time;
  }
  for (std::string_view key : kTimeKeys) {
    if (const auto time = time_of(object.get(key))) return time;
  }
  return std::nullopt;
}

std::string level_of(const Json& object) {
  const std::string word = first_text(object, kLevelKeys);
  if (const auto number = parse_int(word)) {
    return std::string(severity_of_number(static_cast<int>(*number)));
  }
  return std::string(severity_word(word));
}

}  // namespace

std::optional<JsonLine> unwrap_json(std::string_view line) {
  line = trim(line);
  if (line.size() < 8 || line.front() != '{' || line.back() != '}' || line[1] == '\'')
    return std::nullopt;
  const auto object = Json::parse(line);
  if (!object || !object->is_object()) return std::nullopt;
  JsonLine out;
  out.message = first_text(*object, kMessageKeys);
  while (!out.message.empty() && (out.message.back() == '\n' || out.message.back() == '\r')) {
    out.message.pop_back();
  }
  out.message = sanitize(out.message);
  if (out.message.empty()) return std::nullopt;
  out.time = first_time(*object);
  out.node = sanitize(text_around(*object, kNodeKeys));
  out.app = sanitize(text_around(*object, kAppKeys));
  out.severity = level_of(*object);
  out.rank = first_int(*object, kRankKeys);
  out.pid = first_int(*object, kPidKeys);
  // What processes write to /dev/kmsg comes by the same transport, with another facility.
  const std::string facility = text_of(object->get("SYSLOG_FACILITY"));
  out.is_kernel =
      object->get("_TRANSPORT").as_string() == "kernel" && (facility.empty() || facility == "0");
  if (out.is_kernel) out.app = "kernel";
  return out;
}

}  // namespace nvab
