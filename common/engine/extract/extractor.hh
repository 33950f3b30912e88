// SPDX-License-Identifier: Apache-2.0
// Extraction: entries become events. Pure functions over one entry, sample series or fact.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/engine/event.hh"
#include "common/engine/ruleset.hh"
#include "common/model/context.hh"
#include "common/model/observation.hh"

namespace nvab {

// Appends the events of one log entry (a line or a block). An entry whose message is still a raw
// line is parsed first. Where several rules match, benign wins over all, then specific over generic
// (the others are appended marked superseded).
void extract_entry(const Ruleset& rules, const LogEntry& entry, Source source,
                   std::vector<Event>* events);
// The same for an entry that is known to be parsed.
void extract_parsed(const Ruleset& rules, const LogEntry& entry, Source source,
                    std::vector<Event>* events);
// Parses an entry whose message is still a raw line (no time and no program or node known): fills
// what its head says and leaves the message.
void parse_raw_entry(Source source, LogEntry* entry);

// Scheduler facts as lines, so that rules match them like any other (source "scheduler"); the
// grammar is in nvab-rules(5):
//   job state=FAILED exit=1:0 derived=1:0 reason="NonZeroExitCode" cancelled_by=owner|admin|none …
//   step 1234.0 name=python state=CANCELLED exit=0:15 nodes=n1,n2
//   node n2 state=DOWN* reason="Not responding"
std::vector<LogEntry> scheduler_facts(const ExecutionContext& context);

// Whether it is the job's script, or salloc's shell: that is a task to Slurm, and no rank.
bool is_script(const TaskExit& task);

// A task's end as a line (source "task_exits"):
//   task 2 node=n3 step=0 exit=0 signal=6 core=1 oom_kills=0
//   script node=n3 step=batch exit=139 signal=0 core=0 oom_kills=0
std::vector<LogEntry> task_facts(const TaskExit& task);

// The metric rules over all samples of one series (same name and labels, ascending in time).
void extract_series(const Ruleset& rules, std::span<const MetricSample> series,
                    const ExecutionContext& context, std::vector<Event>* events);

}  // namespace nvab
