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
  const std::string& outcome = event.rule->outcome;
  if (event.rule->role == Role::teardown) return true;
  if (event.rule->role == Role::cascade) {
    const SubDomain sub = sub_domain_of(outcome);  // a result that could not be stored is lost
    return sub != SubDomain::user_config && sub != SubDomain::storage;
  }
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

// The first thing of the machinery that failed after the work was complete; -1: none.
int failure_on_the_way_out(const Analysis& a) {
  for (std::size_t i = 0; i < a.events.size(); ++i) {
    const Event& event = a.events[i];
    const bool failed = is_symptom(event) && event.source == Source::applog && is_machinery(event);
    if (failed && after_done(a, event)) return static_cast<int>(i);
  }
  return -1;
}

bool nothing_else_failed(const Analysis& a) {
  return std::all_of(a.hypotheses.begin(), a.hypotheses.end(), [&](const Hypothesis& h) {
    const Event& root = a.events[static_cast<std::size_t>(h.root)];
    const bool fact = root.source == Source::scheduler || root.source == Source::task_exits;
    return fact || (is_machinery(root) && after_done(a, root));
  });
}

}  // namespace

void judge_after_done(Analysis& a) {
  if (!a.progress.done || !a.is_state("FAILED")) return;
  const int failure = failure_on_the_way_out(a);
  if (failure < 0 || !nothing_else_failed(a)) return;
  if (a.hypotheses.empty()) {
    a.hypotheses.emplace_back();
    a.hypotheses.front().root = failure;
    a.hypotheses.front().events = {failure};
  }
  Hypothesis& best = a.hypotheses.front();
  best.outcome = "teardown_failure";
  best.nodes.clear();
  best.gpus.clear();
  best.nics.clear();
  best.action = Action::none_needed;
  best.weigh(std::max(best.confidence, 0.8), "the work was complete before it");
  best.note = "The program had said that its work was complete";
}

}  // namespace nvab
