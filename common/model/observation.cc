// SPDX-License-Identifier: Apache-2.0
// Observations both ways.
#include "common/model/observation.hh"

#include <algorithm>
#include <span>

#include "common/base/text.hh"
#include "common/model/entries_json.hh"
#include "common/model/json_fields.hh"

namespace nvab {
namespace {

constexpr std::string_view kSources[] = {"applog",    "syslog",     "node_metrics",
                                         "scheduler", "task_exits", "flight_recorder"};
constexpr std::string_view kTimeQualities[] = {"exact", "inherited", "uptime", "none"};
constexpr std::string_view kTrusts[] = {"kernel", "system", "user"};

template <typename Enum>
std::optional<Enum> enum_from(std::span<const std::string_view> words, std::string_view word) {
  const auto found = std::find(words.begin(), words.end(), word);
  if (found == words.end()) return std::nullopt;
  return static_cast<Enum>(found - words.begin());
}

Json to_json(const StreamCoverage& stream) {
  Json out = Json::object();
  out.set("stream", Json::of(stream.stream));
  if (!stream.node.empty()) out.set("node", Json::of(stream.node));
  if (stream.rank) out.set("rank", Json::of(*stream.rank));
  if (stream.task) out.set("task", Json::of(*stream.task));
  if (stream.first) out.set("first", Json::of(*stream.first));
  if (stream.last) out.set("last", Json::of(*stream.last));
  if (stream.gap_start && stream.gap_end) {
    out.set("longest_gap_s", Json::of(to_seconds(*stream.gap_end - *stream.gap_start)));
    out.set("gap_start", Json::of(*stream.gap_start));
    out.set("gap_end", Json::of(*stream.gap_end));
  }
  out.set("lines", Json::of(stream.lines));
  if (!stream.last_line.empty()) out.set("last_line", Json::of(stream.last_line));
  return out;
}

Json to_json(const Coverage& coverage) {
  Json out = Json::object();
  out.set("bytes_scanned", Json::of(coverage.bytes_scanned));
  out.set("lines_scanned", Json::of(coverage.lines_scanned));
  if (coverage.bytes_replaced > 0) out.set("bytes_replaced", Json::of(coverage.bytes_replaced));
  out.set("prefiltered", Json::of(coverage.prefiltered));
  if (!coverage.rules_digest.empty()) out.set("rules_digest", Json::of(coverage.rules_digest));
  out.set("truncated", Json::of(coverage.truncated));
  if (!coverage.complete_node.empty()) out.set("complete_node", Json::of(coverage.complete_node));
  out.set("streams", json_list(coverage.streams, to_json));
  return out;
}

Json entries_json(const Observation& observation) {
  Json entries = Json::array();
  for (const LogEntry& entry : observation.entries) entries.push(to_json(entry));
  for (const MetricSample& sample : observation.samples) entries.push(to_json(sample));
  for (const TaskExit& exit : observation.task_exits) entries.push(to_json(exit));
  for (const FlightDump& dump : observation.dumps) entries.push(to_json(dump));
  return entries;
}

}  // namespace

std::string_view to_string(Source v) { return kSources[static_cast<int>(v)]; }
std::string_view to_string(TimeQuality v) { return kTimeQualities[static_cast<int>(v)]; }
std::string_view to_string(Trust v) { return kTrusts[static_cast<int>(v)]; }
std::optional<Source> source_from(std::string_view word) {
  return enum_from<Source>(kSources, word);
}
std::optional<TimeQuality> time_quality_from(std::string_view word) {
  return enum_from<TimeQuality>(kTimeQualities, word);
}
std::optional<Trust> trust_from(std::string_view word) { return enum_from<Trust>(kTrusts, word); }

Result<Observation> observation_from_json(const Json& body) {
  Error error;
  JsonFields in(body, "", error);
  Observation observation = read_observation(in);
  if (in.failed()) return fail("reading an observation", std::move(error));
  return observation;
}

Json to_json(const Observation& observation) {
  Json out = Json::object();
  out.set("source", Json::of(to_string(observation.source)));
  out.set("connector", Json::of(observation.connector));
  Json interval = Json::object();
  interval.set("start", json_or_null(observation.start)).set("end", json_or_null(observation.end));
  out.set("time_interval", std::move(interval));
  out.set("coverage", to_json(observation.coverage));
  out.set("entry_timeseries", entries_json(observation));
  return out;
}

}  // namespace nvab
