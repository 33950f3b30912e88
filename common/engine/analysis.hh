// SPDX-License-Identifier: Apache-2.0
// What attribute() works on: the events of one context, who is where, and the hypotheses that the
// passes build and weigh. A pass is a function over this; the table of passes (passes.cc) is the
// engine's order of work.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/engine/event.hh"
#include "common/engine/place/placement.hh"
#include "common/engine/ruleset.hh"
#include "common/model/context.hh"
#include "common/model/verdict.hh"

namespace nvab {

// Clocks of different writers are trusted this far: an order inside it is no order.
inline constexpr Duration kClockSlack = std::chrono::seconds(10);
// A line without a stamp of its own was written after the time that it inherited, up to so much
// later.
inline constexpr Duration kInheritedSpan = std::chrono::minutes(10);

// The last signs of life of the job, from its progress lines.
struct ProgressFacts {
  std::optional<Time> last_time, last_checkpoint;
  std::optional<long long> last_step;
  // Per stream (and rank): the last progress line, for streams without time stamps.
  std::map<std::string, std::uint64_t> last_line;
  std::optional<Duration> interval;  // typical time between two progress lines, where known
  std::optional<Time> done_time;     // the program said that its work was complete
  std::map<std::string, std::uint64_t> done_line;  // stream -> line of that
  bool any = false, done = false;
};

// One answer to "why did it end?", with what speaks for it.
struct Hypothesis {
  int root = -1;            // index into events
  std::string outcome;      // the rule's, or what a refiner made of it
  std::vector<int> events;  // root, and those that it explains or that confirm it
  std::vector<std::string> nodes;
  std::vector<GpuRef> gpus;
  std::vector<NicRef> nics;
  std::vector<int> ranks;
  std::optional<int> first_rank;
  std::optional<Action> action;  // unless the outcome's own
  bool drain = false;
  bool is_slowdown = false;           // it slowed the job until its time was over
  double confidence = 0;              // 0..1
  std::string note;                   // what a refiner found, a sentence for the explanation
  std::string why_not;                // why another was preferred
  std::vector<ConfidenceStep> steps;  // how `confidence` came about

  // Sets the confidence and notes why, where it makes a difference.
  void weigh(double to, std::string_view why);
};

struct Analysis {
  const ExecutionContext& context;
  const Ruleset& rules;
  Placement placement;
  std::vector<Event> events;  // event_less order
  std::vector<Event> shadow;  // of rules in shadow mode, apart: no pass but `locate` looks at them
  const std::map<std::string, StreamCoverage>& streams;
  const std::map<std::string, TaskExit>& tasks;
  const std::map<std::string, FlightDump>& dumps;

  bool tasks_are_ranks = true;  // in the task record
  ProgressFacts progress;
  // When something outside the program told it to end (cancel, preemption, time limit).
  std::optional<Time> told_to_end;
  std::vector<Hypothesis> hypotheses;  // best first once ranked
  std::string outcome;                 // the answer; "unknown" is one
  std::vector<std::string> missing;
  Verdict verdict;

  bool is_state(std::string_view state) const { return context.base_state() == state; }
  const Hypothesis* best() const { return hypotheses.empty() ? nullptr : &hypotheses.front(); }
};

enum class Phase { place, filter, cause, rank, final, outcome, post_outcome, collect };
std::string_view to_string(Phase phase);

// A named step, listed by `nvab-rules list` beside the rules.
struct Pass {
  std::string_view name;
  Phase phase;
  std::string_view help;
  void (*run)(Analysis&);
};
std::span<const Pass> passes();

// True when `id` is named by one of the globs.
bool names_rule(std::span<const std::string> globs, std::string_view id);

// Whether `later` is after `earlier` as far as can be known: lines of one stream by their order,
// else clocks beyond their slack. Unknown is false.
bool surely_after(const Event& later, const Event& earlier);
// The latest that an event with a time can have happened.
Time latest_time(const Event& event);

}  // namespace nvab
