// SPDX-License-Identifier: Apache-2.0
// The outcome: what the scheduler's word and the ranked hypotheses say together. A state that
// proves something (preempted, out of memory, a node lost) outranks what clocks and logs suggest;
// where the evidence does not say, "unknown" is the answer.
#include <algorithm>

#include "common/base/text.hh"
#include "common/engine/refine/refine.hh"

namespace nvab {
namespace {

// Below this the answer is "unknown": on the scenarios, hypotheses under it were right in less than
// half of the cases.
constexpr double kUnknownBelow = 0.35;
// A job that printed progress and then nothing for this long before its time limit had hung;
// shorter silences are checkpoints and evaluations.
constexpr Duration kHungAfter = std::chrono::minutes(15);
constexpr int kHungIntervals = 8;

bool is_one_of(std::string_view outcome, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), outcome) != words.end();
}

// Moves the first hypothesis for which `wanted` holds to the front; false when there is none.
template <typename Wanted>
bool prefer(Analysis& a, std::string_view why, Wanted wanted) {
  const auto found = std::find_if(a.hypotheses.begin(), a.hypotheses.end(), wanted);
  if (found == a.hypotheses.end()) return false;
  for (auto it = a.hypotheses.begin(); it != found; ++it) it->why_not = why;
  std::rotate(a.hypotheses.begin(), found, found + 1);
  return true;
}

template <typename Unwanted>
void drop(Analysis& a, Unwanted unwanted) {
  std::erase_if(a.hypotheses, unwanted);
}

// An answer that follows from the scheduler's word alone.
void assume(Analysis& a, std::string_view outcome, double confidence) {
  Hypothesis hypothesis;
  hypothesis.outcome = outcome;
  hypothesis.weigh(confidence, "the scheduler says " + std::string(a.context.base_state()));
  a.hypotheses.insert(a.hypotheses.begin(), std::move(hypothesis));
}

bool cancelled_by_owner(const ExecutionContext& c) {
  if (c.cancelled_by.empty()) return true;  // most cancels are; the confidence says so
  const std::string_view who = trim(c.cancelled_by);
  const std::string_view name = who.substr(0, who.find(' '));
  if (!c.user.empty() && name == c.user) return true;
  return c.uid && who.find(std::to_string(*c.uid)) != std::string_view::npos;
}

void decide_cancelled(Analysis& a) {
  const auto is_order = [](const Hypothesis& h) {
    return is_one_of(h.outcome, {"user_cancel", "admin_cancel", "preempted", "launch_failure"});
  };
  if (prefer(a, "the job was cancelled; this did not end it", is_order)) return;
  const bool known = !a.context.cancelled_by.empty();
  assume(a, cancelled_by_owner(a.context) ? "user_cancel" : "admin_cancel", known ? 0.9 : 0.55);
}

// Where no progress line is known or dated, the last stamp of the program's own output; a handful
// of lines says nothing.
std::optional<Time> last_sign_of_life(const Analysis& a) {
  constexpr std::uint64_t kFewLines = 20;
  if (a.progress.last_time) return a.progress.last_time;
  std::optional<Time> last;
  for (const auto& [key, stream] : a.streams) {
    if (!key.starts_with("applog") || stream.lines < kFewLines || !stream.last) continue;
    if (!last || *stream.last > *last) last = stream.last;
  }
  return last;
}

std::optional<Duration> silence_before_end(const Analysis& a) {
  const std::optional<Time> last = last_sign_of_life(a);
  if (!last || !a.context.end_time) return std::nullopt;
  return *a.context.end_time - *last;
}

bool had_hung(const Analysis& a) {
  const auto silence = silence_before_end(a);
  if (!silence) return false;
  Duration limit = kHungAfter;
  if (a.progress.interval) limit = std::max(limit, *a.progress.interval * kHungIntervals);
  return *silence > limit;
}

void decide_timeout(Analysis& a) {
  const auto is_limit = [](const Hypothesis& h) { return h.outcome == "time_limit"; };
  const bool hung = had_hung(a);
  const auto is_reason = [&](const Hypothesis& h) {
    if (h.is_slowdown) return true;
    if (is_one_of(h.outcome, {"time_limit", "unknown", "user_cancel"})) return false;
    const bool infrastructure = domain_of(sub_domain_of(h.outcome)) == Domain::infrastructure;
    const double enough = hung ? 0.45 : infrastructure ? 0.45 : 0.7;
    return h.confidence >= enough && (hung || !last_sign_of_life(a));
  };
  if (prefer(a, "the job had stopped before its time limit", is_reason)) return;
  if (hung) {
    drop(a, is_limit);
    assume(a, "unknown", 0.5);
    a.hypotheses.front().note = "The job made no progress for " +
                                format_duration(*silence_before_end(a)) +
                                " before its time limit, and nothing says why";
    return;
  }
  if (prefer(a, "the job was still progressing when its time was over", is_limit)) return;
  assume(a, "time_limit", a.progress.last_time ? 0.9 : 0.75);
}

void decide_node_failure(Analysis& a) {
  // A node that did not boot for the job was not lost during it.
  const auto not_booted = [](const Hypothesis& h) { return h.outcome == "launch_failure"; };
  if (a.is_state("BOOT_FAIL") && prefer(a, "the nodes did not boot for the job", not_booted))
    return;
  const auto blames_node = [](const Hypothesis& h) {
    const OutcomeRow* row = find_outcome(h.outcome);
    return row != nullptr && row->blames_node && !h.nodes.empty();
  };
  if (prefer(a, "a node was lost; this did not end the job", blames_node)) return;
  if (!a.hypotheses.empty() &&
      domain_of(sub_domain_of(a.best()->outcome)) == Domain::infrastructure)
    return;
  assume(a, "node_lost", 0.6);
  for (const NodeEvent& event : a.context.node_events) {
    const std::string node = a.placement.node(event.node);
    if (event.state.starts_with("DOWN") && !node.empty())
      a.hypotheses.front().nodes.push_back(node);
  }
}

void decide_completed(Analysis& a) {
  const bool step_failed =
      a.context.derived_exit_code &&
      (a.context.derived_exit_code->code != 0 || a.context.derived_exit_code->signal != 0);
  if (step_failed && !a.progress.done && a.best() != nullptr && a.best()->confidence >= 0.6) return;
  const auto success = [](const Hypothesis& h) {
    return is_one_of(h.outcome, {"success", "teardown_failure"});
  };
  for (Hypothesis& h : a.hypotheses) h.why_not = "the job completed";
  if (prefer(a, "the job completed", success)) return;
  assume(a, "success", 0.97);
}

// Whoever puts a job back says seldom why; what the nodes show in such a run may be a reason, and
// the program's own end none: it was told to end.
void decide_requeued(Analysis& a) {
  const auto is_order = [](const Hypothesis& h) {
    return is_one_of(h.outcome, {"requeued", "preempted", "launch_failure"});
  };
  if (prefer(a, "the job was put back into the queue; this did not end it", is_order)) return;
  assume(a, "requeued", 0.9);
}

void decide_failed(Analysis& a) {
  // A step that srun ends after the first failure is cancelled too; nobody cancelled the job. A
  // file that is appended to tells of the run before. Slurm has a state for the time limit; to
  // Kubernetes a Job at its deadline has failed.
  const bool limit_has_a_state = a.context.scheduler != "kueue";
  drop(a, [&](const Hypothesis& h) {
    return is_one_of(h.outcome, {"user_cancel", "success", "requeued"}) ||
           (limit_has_a_state && h.outcome == "time_limit");
  });
}

void decide_by_state(Analysis& a) {
  if (a.is_state("COMPLETED")) return decide_completed(a);
  if (a.is_state("CANCELLED") || a.is_state("REVOKED")) return decide_cancelled(a);
  if (a.is_state("TIMEOUT") || a.is_state("DEADLINE")) return decide_timeout(a);
  if (a.is_state("NODE_FAIL") || a.is_state("BOOT_FAIL")) return decide_node_failure(a);
  if (a.is_state("REQUEUED")) return decide_requeued(a);
  if (a.is_state("PREEMPTED")) {
    const auto preempted = [](const Hypothesis& h) { return h.outcome == "preempted"; };
    if (!prefer(a, "the job was preempted; this did not end it", preempted))
      assume(a, "preempted", 0.95);
    return;
  }
  if (a.is_state("OUT_OF_MEMORY")) {
    const auto memory = [](const Hypothesis& h) {
      return sub_domain_of(h.outcome) == SubDomain::host_memory;
    };
    if (!prefer(a, "the scheduler saw the job run out of memory", memory)) {
      assume(a, "job_out_of_memory", 0.85);
    }
    return;
  }
  decide_failed(a);
}

// A competitor of another kind that is nearly as likely takes up to half of the certainty.
void weigh_competitors(Analysis& a) {
  if (a.hypotheses.size() < 2) return;
  Hypothesis& best = a.hypotheses.front();
  double strongest = 0;
  std::string rival;
  for (std::size_t i = 1; i < a.hypotheses.size(); ++i) {
    const Hypothesis& other = a.hypotheses[i];
    const bool fact_only =
        other.root >= 0 &&
        a.events[static_cast<std::size_t>(other.root)].source == Source::scheduler;
    if (fact_only || !other.why_not.empty() ||
        sub_domain_of(other.outcome) == sub_domain_of(best.outcome))
      continue;
    if (other.confidence <= strongest) continue;
    strongest = other.confidence;
    rival =
        other.root < 0 ? other.outcome : a.events[static_cast<std::size_t>(other.root)].rule->id;
  }
  const double gap = best.confidence - strongest;
  if (strongest <= 0 || gap >= 0.4) return;
  best.weigh(best.confidence * (1.0 - 0.5 * (0.4 - std::max(0.0, gap)) / 0.8),
             rival + " is nearly as likely");
}

}  // namespace

void decide_outcome(Analysis& a) {
  decide_by_state(a);
  weigh_competitors(a);
  const Hypothesis* best = a.best();
  if (best == nullptr || best->confidence < kUnknownBelow) {
    a.outcome = "unknown";
    return;
  }
  a.outcome = best->outcome;
}

}  // namespace nvab
