// SPDX-License-Identifier: Apache-2.0
// The engine's order of work, as a table: what `nvab-rules list` shows beside the rules.
#include <cmath>

#include "common/base/text.hh"
#include "common/engine/analysis.hh"
#include "common/engine/collect.hh"
#include "common/engine/filter/filters.hh"
#include "common/engine/place/locate.hh"
#include "common/engine/refine/refine.hh"

namespace nvab {
namespace {

constexpr Pass kPasses[] = {
    {"locate", Phase::place, "node, rank, GPU and port of each event", locate},
    {"quoted", Phase::filter, "command lines, echoes and quotations do not count", mark_quoted},
    {"window", Phase::filter, "nor what lies before or after the job", mark_outside_window},
    {"ownership", Phase::filter, "nor other jobs, nodes and GPUs", mark_not_this_job},
    {"progress", Phase::filter, "the job's signs of life", read_progress},
    {"teardown", Phase::filter, "nor what follows an order to end", mark_teardown},
    {"recovered", Phase::filter, "nor what the job lived through", mark_recovered},
    {"causes", Phase::cause, "which event explains which", link_causes},
    {"ended", Phase::cause, "trouble that was over and left no trace", mark_ended},
    {"hypotheses", Phase::rank, "what nothing else explains", build_hypotheses},
    {"confidence", Phase::rank, "how likely each is", rank_hypotheses},
    {"same_unit", Phase::final, "one GPU again and again, or several", judge_same_unit},
    {"silent_peer", Phase::final, "whom the others complain about", judge_silent_peer},
    {"spread", Phase::final, "everywhere, on some nodes, behind one switch", judge_spread},
    {"collectives", Phase::final, "which rank kept the others waiting", judge_collectives},
    {"after_done", Phase::final, "crashes after the work was complete", judge_after_done},
    {"slowdown", Phase::final, "slower and slower until the time limit", judge_slowdown},
    {"outcome", Phase::outcome, "the scheduler's word and the evidence together", decide_outcome},
    {"first_rank", Phase::post_outcome, "the rank that failed first", find_first_rank},
    {"work_lost", Phase::post_outcome, "progress and GPU hours lost", measure_progress},
    {"missing", Phase::post_outcome, "what was not there to look at", name_missing},
    {"collect", Phase::collect, "the verdict", collect_verdict},
};

}  // namespace

std::span<const Pass> passes() { return kPasses; }

std::string_view to_string(Phase phase) {
  switch (phase) {
    case Phase::place:
      return "place";
    case Phase::filter:
      return "filter";
    case Phase::cause:
      return "cause";
    case Phase::rank:
      return "rank";
    case Phase::final:
      return "final";
    case Phase::outcome:
      return "outcome";
    case Phase::post_outcome:
      return "post_outcome";
    case Phase::collect:
      return "collect";
  }
  return "";
}

void Hypothesis::weigh(double to, std::string_view why) {
  constexpr double kNoDifference = 0.0005;  // shown with three decimals
  const bool differs = std::abs(to - confidence) >= kNoDifference;
  confidence = to;
  if (differs || steps.empty()) steps.push_back({std::string(why), to});
}

bool names_rule(std::span<const std::string> globs, std::string_view id) {
  for (const std::string& glob : globs) {
    if (glob_match(glob, id)) return true;
  }
  return false;
}

bool surely_after(const Event& later, const Event& earlier) {
  const bool same_stream = later.source == earlier.source && !later.origin.stream.empty() &&
                           later.origin.stream == earlier.origin.stream;
  // A relay may deliver a host's lines out of order; their stamps are of one clock.
  const bool one_clock = same_stream && later.source == Source::syslog &&
                         later.place.observer == earlier.place.observer && later.time &&
                         earlier.time && *later.time != *earlier.time;
  if (one_clock) return *later.time > *earlier.time;
  if (same_stream && later.origin.line > 0 && earlier.origin.line > 0) {
    return later.origin.line > earlier.origin.line;
  }
  if (!later.time || !earlier.time) return false;
  return *later.earliest() > latest_time(earlier) + kClockSlack;
}

Time latest_time(const Event& event) {
  const bool inherited = event.time_quality == TimeQuality::inherited;
  return *event.time + (inherited ? kInheritedSpan : Duration{0});
}

}  // namespace nvab
