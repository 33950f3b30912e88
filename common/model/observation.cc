// SPDX-License-Identifier: Apache-2.0
// Observations both ways, and their id.
#include "common/model/observation.hh"

#include <algorithm>
#include <span>

#include "common/base/digest.hh"
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

StreamCoverage read_stream(JsonFields in) {
  StreamCoverage stream;
  stream.stream = in.text("stream");
  stream.node = in.text("node");
  stream.rank = in.small("rank");
  stream.task = in.small("task");
  stream.first = in.time("first");
  stream.last = in.time("last");
  stream.gap_start = in.time("gap_start");
  stream.gap_end = in.time("gap_end");
  stream.lines = in.count("lines");
  stream.last_line = excerpt(in.text("last_line"), kMaxLastLine);
  return stream;
}

Json to_json(const Coverage& coverage) {
  Json out = Json::object();
  out.set("bytes_scanned", Json::of(coverage.bytes_scanned));
  out.set("lines_scanned", Json::of(coverage.lines_scanned));
  if (coverage.bytes_replaced > 0) out.set("bytes_replaced", Json::of(coverage.bytes_replaced));
  out.set("prefiltered", Json::of(coverage.prefiltered));
  if (!coverage.rules_digest.empty()) out.set("rules_digest", Json::of(coverage.rules_digest));
  out.set("truncated", Json::of(coverage.truncated));
  out.set("streams", json_list(coverage.streams, to_json));
  return out;
}

Coverage read_coverage(JsonFields in) {
  Coverage coverage;
  coverage.bytes_scanned = in.count("bytes_scanned");
  coverage.lines_scanned = in.count("lines_scanned");
  coverage.bytes_replaced = in.count("bytes_replaced");
  coverage.prefiltered = in.flag("prefiltered");
  coverage.rules_digest = in.text("rules_digest");
  coverage.truncated = in.flag("truncated");
  coverage.streams = in.items("streams", read_stream);
  return coverage;
}

Json entries_json(const Observation& observation) {
  Json entries = Json::array();
  for (const LogEntry& entry : observation.entries) entries.push(to_json(entry));
  for (const MetricSample& sample : observation.samples) entries.push(to_json(sample));
  for (const TaskExit& exit : observation.task_exits) entries.push(to_json(exit));
  for (const FlightDump& dump : observation.dumps) entries.push(to_json(dump));
  return entries;
}

void read_entries(JsonFields& in, Observation& observation) {
  constexpr std::string_view kEntries = "entry_timeseries";
  switch (observation.source) {
    case Source::applog:
    case Source::syslog:
    case Source::scheduler:
      observation.entries = in.items(kEntries, read_log_entry);
      break;
    case Source::node_metrics:
      observation.samples = in.items(kEntries, read_sample);
      break;
    case Source::task_exits:
      observation.task_exits = in.items(kEntries, read_task_exit);
      break;
    case Source::flight_recorder:
      observation.dumps = in.items(kEntries, read_dump);
      break;
  }
}

Json observation_json(const Observation& observation, std::string_view connector) {
  Json out = Json::object();
  out.set("source", Json::of(to_string(observation.source)));
  out.set("connector", Json::of(connector));
  Json interval = Json::object();
  interval.set("start", json_or_null(observation.start)).set("end", json_or_null(observation.end));
  out.set("time_interval", std::move(interval));
  out.set("coverage", to_json(observation.coverage));
  out.set("entry_timeseries", entries_json(observation));
  return out;
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
  Observation observation;
  const auto source = in.word<Source>("source", source_from);
  if (!source) in.complain("source", "is missing");
  observation.source = source.value_or(Source::applog);
  observation.connector = in.text("connector");
  JsonFields interval = in.member("time_interval");
  observation.start = interval.time("start");
  observation.end = interval.time("end");
  observation.coverage = read_coverage(in.member("coverage"));
  if (!in.has("entry_timeseries")) in.complain("entry_timeseries", "is missing");
  if (!in.failed()) read_entries(in, observation);
  if (in.failed()) return fail("reading an observation", std::move(error));
  return observation;
}

Json to_json(const Observation& observation) {
  return observation_json(observation, observation.connector);
}

std::string observation_id(const Observation& observation) {
  // Which connector delivered it is no part of what it says: two that read the same file at the
  // same place are one observation.
  return sha256_hex(observation_json(observation, "").dump());
}

}  // namespace nvab
