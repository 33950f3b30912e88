// SPDX-License-Identifier: Apache-2.0
// A job that said its work was complete and then crashed on the way out is complete: heartbeat
// monitors, worker processes and library destructors fail in teardown, not the work.
#include <algorithm>

#include "common/engine/refine/refine.hh"

namespace nvab {
namespace {

// Failures of the machinery around the work. An exception of the program's own code after "done" is
// the next stage of its work failing.
bool is_machinery(const Event& event) {
  if (event.rule->role == Role::cascade || event.rule->role == Role::teardown) return true;
  const std::string& outcome = event.rule->outcome;
  return outcome == "user_crash" || outcome == "framework_error" || outcome == "teardown_failure" ||
         outcome == "unknown";
}

bool after_done(const Analysis& a, const Event& event) {
  const ProgressFacts& facts = a.progress;
  const auto line = facts.done_line.find(event.origin.stream);
  if (line != facts.done_line.end() && event.origin.line > 0)
    return event.origin.line > line->second;
  return facts.done_time && event.time && *event.time > *facts.done_time;
}

}  // namespace

void judge_after_done(Analysis& a) {
  if (!a.progress.done || a.hypotheses.empty() || !a.is_state("FAILED")) return;
  const bool only_machinery =
      std::all_of(a.hypotheses.begin(), a.hypotheses.end(), [&](const Hypothesis& h) {
        const Event& root = a.events[static_cast<std::size_t>(h.root)];
        const bool fact = root.source == Source::scheduler || root.source == Source::task_exits;
        return fact || (is_machinery(root) && after_done(a, root));
      });
  if (!only_machinery) return;
  Hypothesis& best = a.hypotheses.front();
  best.outcome = "teardown_failure";
  best.nodes.clear();
  best.gpus.clear();
  best.nics.clear();
  best.action = Action::none_needed;
  best.note = "The program had said that its work was complete";
}

}  // namespace nvab
