// SPDX-License-Identifier: Apache-2.0
// The head of a log line in every dialect we know: time stamps, host and program of syslog, rank
// and node prefixes of launchers. Pure; any bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/time.hh"
#include "common/model/context.hh"
#include "common/model/observation.hh"

namespace nvab {

enum class StampKind { none, zoned, zoneless, yearless, time_of_day, uptime };

// What one line says of itself, before the message.
struct LineHead {
  StampKind stamp = StampKind::none;
  // zoned: UTC. zoneless: the clock's digits taken as UTC. yearless: in year 1972 (which has a 29
  // February). time_of_day and uptime: since midnight or boot.
  Time time{};
  std::string_view node;  // host of syslog, node of a launcher's or NCCL's prefix
  std::optional<int> rank, task, local_rank;
  std::string_view app;  // "kernel", "slurmd"
  std::optional<int> pid;
  std::string_view severity;
  bool is_kernel = false;  // the transport says so ("kernel:" tag in syslog, a dmesg stream)
  // Of a container runtime's line: "stdout" or "stderr", and whether it goes on in the next line of
  // the same (CRI's flag P: cut at 16 KiB).
  std::string_view container_stream;
  bool is_partial = false;
  std::string_view message;  // what is left; for JSON lines see unwrap_json
};

// What the stream says about all its lines.
struct HeadOptions {
  // Lines begin with the task's number as `srun -l` writes it ("3: "); a program may also number
  // its lines.
  bool task_labels = true;
  bool is_dmesg = false;     // kernel messages without host and program
  bool host_labels = false;  // lines begin with "NODE: ", as pdsh and clush write them
};

// The views point into `line`, which should be sanitised (control bytes are taken as they are).
LineHead parse_head(std::string_view line, Source source, HeadOptions options = {});

// torch.distributed.checkpoint repeats on every rank what failed on some of them, as "Traceback
// (most recent call last): (RANK 3)": the rank that it happened to, where a message begins so.
std::optional<int> rank_of_repeated_traceback(std::string_view message);

// Lines that are JSON objects ({"body":…}, {"log":…}, {"msg":…}, {"MESSAGE":…}): the text and what
// else is known. Nothing when it is not such a line.
struct JsonLine {
  std::string message, node, app, severity;
  std::optional<Time> time;
  bool is_kernel = false;
  std::optional<int> rank, pid;
};
std::optional<JsonLine> unwrap_json(std::string_view line);

// What is known of a whole stream, so that its lines can be dated and placed.
struct StreamInfo {
  std::string name;  // becomes Origin::stream
  Source source = Source::applog;
  std::string node;  // default for lines that name none (file name "gn13.dmesg")
  // From the file name ("task_5.log", "rsl.error.0037", "attempt_0/3/stderr.log").
  std::optional<int> rank, task, local_rank;
  Duration zone{0};          // to subtract from zoneless stamps
  std::optional<int> year;   // of the first line, for yearless stamps
  std::optional<Time> boot;  // for uptime stamps
  std::optional<Time> day;   // midnight before the first line, for time-of-day stamps
  HeadOptions head;
  bool is_journal_export = false;  // see journal_export.hh
  std::string app;                 // default for lines that name none ("slurmctld.log")
  Trust trust = Trust::user;       // system for syslog files, kernel where the transport proves it
};

// Fills a StreamInfo from the file's name and from samples of its head and tail (each up to 64 KiB,
// tail empty when unknown) against the job's window: year across New Year, zone (whole quarters of
// an hour that put the stream into the window), boot time (a wall-clock anchor in the lines, else
// the tail is taken to be no later than the job's end), day.
StreamInfo probe_stream(std::string_view name, Source source, std::string_view head,
                        std::string_view tail, const ExecutionContext& context);

// The stamp as a UTC time, given the stream; nothing where that is not known. `previous` is the
// time of the line before, used for the roll-over of years and days.
std::optional<Time> resolve(const LineHead& head, const StreamInfo& stream,
                            std::optional<Time> previous);
// The same for a line that a log server received at `received`: its own stamp with the zone, day
// and year that bring it closest, or `received` where it has none that fits.
Time resolve_received(const LineHead& head, Time received);

}  // namespace nvab
