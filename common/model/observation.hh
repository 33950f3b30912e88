// SPDX-License-Identifier: Apache-2.0
// What one collector delivered for one source: log entries, metric samples, task exits or
// flight-recorder dumps, with the coverage that makes silence evidence too.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/json.hh"
#include "common/base/result.hh"
#include "common/base/time.hh"

namespace nvab {

enum class Source { applog, syslog, node_metrics, scheduler, task_exits, flight_recorder };
enum class TimeQuality { exact, inherited, uptime, none };
// Who can have written an entry: the kernel (the transport proves it), a system service, any user.
enum class Trust { kernel, system, user };

std::string_view to_string(Source source);
std::string_view to_string(TimeQuality quality);
std::string_view to_string(Trust trust);
std::optional<Source> source_from(std::string_view word);
std::optional<TimeQuality> time_quality_from(std::string_view word);
std::optional<Trust> trust_from(std::string_view word);

// Where an entry was read. Together with the source it is the entry's identity: the same origin is
// the same entry, however often it is delivered.
struct Origin {
  std::string stream;        // path in the bundle, Loki labels, "journal"
  std::uint64_t line = 0;    // from 1; 0 when unknown
  std::uint64_t offset = 0;  // byte offset of the line in the plain stream
  auto operator<=>(const Origin&) const = default;
};

// One log line, or one whole multi-line block (a traceback, a launcher's report) joined by '\n'.
struct LogEntry {
  std::optional<Time> timestamp;
  TimeQuality time_quality = TimeQuality::none;
  std::string node;  // who wrote it, as it names itself; empty when unknown
  std::optional<int> rank, task, local_rank;
  std::string app;  // "kernel", "slurmd", …; empty for program output
  std::optional<int> pid;
  std::string severity, facility;
  Trust trust = Trust::user;
  Origin origin;
  std::string message;  // without the prefixes that became fields; valid UTF-8
  // Only rules in shadow mode asked for it: without them it would not have been read.
  bool only_shadow = false;
};

struct MetricSample {
  Time timestamp;
  std::string name;
  std::map<std::string, std::string> labels;
  double value = 0;
  std::string node;
};

// The plugin's word on one task; see common/wire/task_record.h for the file format.
struct TaskExit {
  std::string node, step;
  std::optional<int> task, local_id, node_id, pid, restart_count;
  std::optional<long long> uid;
  std::vector<std::string> gpu_ids;  // as given: indices, UUIDs, MIG names
  std::vector<std::string> gpu_pci;
  std::optional<Time> start, end;
  std::optional<int> exit_code, signal;
  bool core_dumped = false;
  std::optional<long long> oom_kills;  // of the job's cgroup on that node, at the end
  std::string stdout_path, stderr_path;
  Trust trust = Trust::system;
};

// One collective that one rank knew of.
struct CollectiveRecord {
  std::string process_group, description, op, state;  // "scheduled", "started", "completed"
  std::uint64_t sequence = 0;
  std::vector<std::uint64_t> sizes;
  std::string dtype;
  std::optional<Time> created, started, completed;
  bool is_p2p = false;
};

// One rank's NCCL flight-recorder dump.
struct FlightDump {
  int rank = -1;
  std::string stream;
  struct Group {
    std::string id, description;
    std::vector<int> ranks;
    std::int64_t last_enqueued = -1, last_started = -1, last_completed = -1;
  };
  std::vector<Group> groups;
  std::vector<CollectiveRecord> entries;
};

// What was read of one stream, also where nothing in it mattered.
struct StreamCoverage {
  std::string stream, node;
  std::optional<int> rank, task;
  std::optional<Time> first, last;
  std::optional<Time> gap_start, gap_end;  // the longest silence
  std::uint64_t lines = 0;
  std::string last_line;  // the last line that is not empty, cut to kMaxLastLine
};
inline constexpr std::size_t kMaxLastLine = 512;

struct Coverage {
  std::uint64_t bytes_scanned = 0, lines_scanned = 0, bytes_replaced = 0;
  bool prefiltered = false;
  std::string rules_digest;  // of the rules that prefiltered
  bool truncated = false;
  // The node whose own runner sends this, and has sent with it all that it has; else empty.
  std::string complete_node;
  std::vector<StreamCoverage> streams;
};

// One list is used, the one that belongs to the source: entries (applog, syslog, scheduler lines),
// samples (node_metrics), task_exits, dumps (flight_recorder).
struct Observation {
  Source source = Source::applog;
  std::string connector;  // "log.file.sys"
  std::optional<Time> start, end;
  Coverage coverage;
  std::vector<LogEntry> entries;
  std::vector<MetricSample> samples;
  std::vector<TaskExit> task_exits;
  std::vector<FlightDump> dumps;

  std::size_t size() const {
    return entries.size() + samples.size() + task_exits.size() + dumps.size();
  }
};

Result<Observation> observation_from_json(const Json& body);
Json to_json(const Observation& observation);
// Derived from the content alone: the same observation has the same id wherever it is sent from.
// SHA-256 of what write_identity() calls `sink` with, in consecutive pieces.
std::string observation_id(const Observation& observation);
void write_identity(const Observation& observation,
                    const std::function<void(std::string_view)>& sink);

}  // namespace nvab
