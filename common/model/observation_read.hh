// SPDX-License-Identifier: Apache-2.0
// How the JSON of an observation is read, written once for both that hold such JSON: JsonFields
// (documents) and the tape of the service's request path. Missing members are never zero; what is
// wrong is kept by the Fields as their first error.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/text.hh"
#include "common/model/observation.hh"

namespace nvab {

template <typename Fields>
Origin read_origin(Fields in) {
  Origin origin;
  origin.stream = in.text("stream");
  origin.line = in.count("line");
  origin.offset = in.count("offset");
  return origin;
}

template <typename Fields>
LogEntry read_log_entry(Fields in) {
  LogEntry entry;
  entry.timestamp = in.time("timestamp");
  entry.node = in.text("node");
  entry.rank = in.small("rank");
  entry.task = in.small("task");
  entry.local_rank = in.small("local_rank");
  entry.app = in.text("app");
  entry.pid = in.small("pid");
  entry.severity = in.text_or_number("severity");
  entry.facility = in.text_or_number("facility");
  const TimeQuality usual = entry.timestamp ? TimeQuality::exact : TimeQuality::none;
  entry.time_quality = in.word("time_quality", time_quality_from).value_or(usual);
  entry.trust = in.word("trust", trust_from).value_or(Trust::user);
  entry.origin = read_origin(in.member("origin"));
  // A sender that knows no offsets may name the stream alone.
  const std::string stream = in.text("stream");
  if (entry.origin.stream.empty()) entry.origin.stream = stream;
  if (!in.has("message")) in.complain("message", "is missing");
  entry.message = in.text("message");
  entry.only_shadow = in.flag("only_shadow");
  return entry;
}

// Of a system log, whose writers are services unless the sender knows better.
template <typename Fields>
LogEntry read_system_entry(Fields in) {
  const bool is_said = in.has("trust");
  LogEntry entry = read_log_entry(in);
  if (!is_said) entry.trust = Trust::system;
  return entry;
}

template <typename Fields>
MetricSample read_sample(Fields in) {
  MetricSample sample;
  const auto time = in.time("timestamp");
  const auto value = in.number("value");
  sample.name = in.text("name");
  sample.labels = in.text_map("labels");
  sample.node = in.text("node");
  if (!time) in.complain("timestamp", "is missing");
  if (!value) in.complain("value", "is missing");
  if (sample.name.empty()) in.complain("name", "is missing");
  sample.timestamp = time.value_or(Time{});
  sample.value = value.value_or(0);
  return sample;
}

// The task record says {"path": "/…", …} and {"job": 1, …}; a plain value is taken too.
template <typename Fields>
std::string read_path(Fields& in, std::string_view key) {
  if (in.is_object(key)) return in.member(key).text("path");
  return in.text(key);
}

template <typename Fields>
std::optional<long long> read_oom_kill(Fields& in) {
  if (in.is_object("oom_kill")) return in.member("oom_kill").integer("job", 0);
  return in.integer("oom_kill", 0);
}

template <typename Fields>
TaskExit read_task_exit(Fields in) {
  TaskExit exit;
  exit.node = in.text("node");
  exit.step = in.text_or_number("step_id");
  exit.task = in.small("task_id");
  exit.local_id = in.small("local_id");
  exit.node_id = in.small("node_id");
  exit.pid = in.small("pid");
  exit.restart_count = in.small("restart_count");
  exit.uid = in.integer("uid", 0);
  exit.gpu_ids = in.texts("gpu_ids");
  exit.gpu_pci = in.texts("gpu_pci");
  exit.start = in.time("start");
  exit.end = in.time("end");
  exit.exit_code = in.small("exit_code");
  exit.signal = in.small("signal");
  exit.core_dumped = in.flag("core");
  exit.oom_kills = read_oom_kill(in);
  exit.stdout_path = read_path(in, "stdout");
  exit.stderr_path = read_path(in, "stderr");
  exit.trust = in.word("trust", trust_from).value_or(Trust::system);
  return exit;
}

template <typename Fields>
FlightDump::Group read_group(Fields in) {
  FlightDump::Group group;
  group.id = in.text_or_number("id");
  group.description = in.text("description");
  group.ranks = in.ints("ranks");
  group.last_enqueued = in.integer("last_enqueued").value_or(-1);
  group.last_started = in.integer("last_started").value_or(-1);
  group.last_completed = in.integer("last_completed").value_or(-1);
  return group;
}

template <typename Fields>
CollectiveRecord read_collective(Fields in) {
  CollectiveRecord record;
  record.process_group = in.text_or_number("process_group");
  record.description = in.text("description");
  record.op = in.text("op");
  record.state = in.text("state");
  record.sequence = in.count("sequence");
  record.sizes = in.counts("sizes");
  record.dtype = in.text("dtype");
  record.created = in.time("created");
  record.started = in.time("started");
  record.completed = in.time("completed");
  record.is_p2p = in.flag("is_p2p");
  return record;
}

template <typename Fields>
FlightDump read_dump(Fields in) {
  FlightDump dump;
  dump.rank = static_cast<int>(in.integer("rank", -1, 1 << 30).value_or(-1));
  dump.stream = in.text("stream");
  dump.groups = in.items("groups", read_group<Fields>);
  dump.entries = in.items("entries", read_collective<Fields>);
  return dump;
}

template <typename Fields>
StreamCoverage read_stream(Fields in) {
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

template <typename Fields>
Coverage read_coverage(Fields in) {
  Coverage coverage;
  coverage.bytes_scanned = in.count("bytes_scanned");
  coverage.lines_scanned = in.count("lines_scanned");
  coverage.bytes_replaced = in.count("bytes_replaced");
  coverage.prefiltered = in.flag("prefiltered");
  coverage.rules_digest = in.text("rules_digest");
  coverage.truncated = in.flag("truncated");
  coverage.complete_node = in.text("complete_node");
  coverage.streams = in.items("streams", read_stream<Fields>);
  return coverage;
}

template <typename Fields>
void read_entries(Fields& in, Observation& observation) {
  constexpr std::string_view kEntries = "entry_timeseries";
  switch (observation.source) {
    case Source::applog:
      observation.entries = in.items(kEntries, read_log_entry<Fields>);
      break;
    case Source::syslog:
    case Source::scheduler:
      observation.entries = in.items(kEntries, read_system_entry<Fields>);
      break;
    case Source::node_metrics:
      observation.samples = in.items(kEntries, read_sample<Fields>);
      break;
    case Source::task_exits:
      observation.task_exits = in.items(kEntries, read_task_exit<Fields>);
      break;
    case Source::flight_recorder:
      observation.dumps = in.items(kEntries, read_dump<Fields>);
      break;
  }
}

template <typename Fields>
Observation read_observation(Fields& in) {
  Observation observation;
  const auto source = in.word("source", source_from);
  if (!source) in.complain("source", "is missing");
  observation.source = source.value_or(Source::applog);
  observation.connector = in.text("connector");
  Fields interval = in.member("time_interval");
  observation.start = interval.time("start");
  observation.end = interval.time("end");
  observation.coverage = read_coverage(in.member("coverage"));
  if (!in.has("entry_timeseries")) in.complain("entry_timeseries", "is missing");
  if (!in.failed()) read_entries(in, observation);
  return observation;
}

}  // namespace nvab
