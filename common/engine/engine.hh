// SPDX-License-Identifier: Apache-2.0
// The rules engine for one context. Pure and incremental: no clock, no I/O, no threads; ingest()
// and attribute() in any order, any number of times; the same observations in any order and any
// chunking give the same verdict, byte for byte. Keeps events, not lines.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "common/engine/event.hh"
#include "common/engine/ruleset.hh"
#include "common/model/context.hh"
#include "common/model/observation.hh"
#include "common/model/verdict.hh"

namespace nvab {

struct IngestCounts {
  std::uint64_t accepted = 0;    // entries that were new
  std::uint64_t duplicates = 0;  // entries already ingested
};

// What an observation comes to once the rules have read it: all that the engine keeps of it.
struct Extracted {
  Source source = Source::applog;
  std::vector<Event> events;
  std::vector<MetricSample> samples;
  std::vector<TaskExit> task_exits;
  std::vector<FlightDump> dumps;
  std::vector<StreamCoverage> streams;
};

// A verdict with all that it was made from, for tools that look into the engine.
struct Judgement {
  Verdict verdict;
  std::vector<Event> events;  // marked and linked, in event_less order
  std::vector<Event> shadow;  // of rules in shadow mode
  int root = -1;              // the event that is the root cause, -1: none
  std::vector<int> support;   // events that speak for the answer, the root among them
};

// The expensive half of ingestion, without any state: a service does it outside its locks, each
// thread with a clone of the ruleset of its own. The events point to the rules of `rules`.
Extracted extract(const Ruleset& rules, const Observation& observation);

// For one thread at a time.
class Engine {
 public:
  // `rules`, or a clone of it, must outlive the engine.
  Engine(const Ruleset& rules, ExecutionContext context);
  ~Engine();
  Engine(Engine&&) noexcept;

  const ExecutionContext& context() const;
  void update(ExecutionContext context);  // a later word of the scheduler (RUNNING -> final)
  IngestCounts add(Extracted extracted);
  IngestCounts ingest(const Observation& observation);
  Verdict attribute() const;
  // With the caller's clone of the same ruleset.
  Verdict attribute(const Ruleset& rules) const;
  Judgement judge(const Ruleset& rules) const;
  std::uint64_t event_count() const;  // kept, for limits and metrics

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace nvab
