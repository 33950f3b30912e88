// SPDX-License-Identifier: Apache-2.0
// The rank that failed first: from the task record where there is one (it saw every exit, to the
// microsecond), else the rank of the root, else what the launcher noted. None where ranks fail
// together or nothing is seen to fail first.
#include <algorithm>
#include <map>
#include <set>

#include "common/engine/refine/refine.hh"

namespace nvab {
namespace {

// Ranks that fail within this of each other, all of them, fail together.
constexpr Duration kTogether = std::chrono::seconds(5);
constexpr double kMostRanks = 0.8;

struct RankTime {
  int rank = 0;
  std::optional<Time> time;
};

// Where each rank first showed the root's symptom, earliest first.
std::vector<RankTime> ranks_of_root(const Analysis& a, const Hypothesis& best) {
  const Event& root = a.events[static_cast<std::size_t>(best.root)];
  std::map<int, std::optional<Time>> first;
  for (const int index : best.events) {
    const Event& event = a.events[static_cast<std::size_t>(index)];
    const bool same =
        event.rule == root.rule || (event.rule->outcome == root.rule->outcome && event.cause < 0);
    if (same && event.place.rank) first.emplace(*event.place.rank, event.time);
  }
  std::vector<RankTime> ranks;
  for (const auto& [rank, time] : first) ranks.push_back({rank, time});
  std::stable_sort(ranks.begin(), ranks.end(), [](const RankTime& l, const RankTime& r) {
    if (l.time.has_value() != r.time.has_value()) return l.time.has_value();
    return l.time < r.time;
  });
  return ranks;
}

bool all_together(const Analysis& a, const std::vector<RankTime>& ranks) {
  if (ranks.size() < 2 || static_cast<double>(ranks.size()) <
                              kMostRanks * static_cast<double>(a.placement.rank_count())) {
    return false;
  }
  if (!ranks.front().time || !ranks.back().time) return true;
  return *ranks.back().time - *ranks.front().time <= kTogether;
}

// The task record's first abnormal end. Tasks are ranks only where one task is one rank.
std::optional<int> first_abnormal_task(const Analysis& a) {
  const TaskExit* first = nullptr;
  for (const auto& [key, task] : a.tasks) {
    if (!task.task || !task.end || task.step.ends_with("batch")) continue;
    const bool abnormal = task.signal.value_or(0) != 0 || task.exit_code.value_or(0) != 0;
    if (abnormal && (first == nullptr || *task.end < *first->end)) first = &task;
  }
  if (first == nullptr || a.tasks.size() < 2) return std::nullopt;
  return first->task;
}

// "Root Cause (first observed failure)" of the launcher: often a victim, so only where the root
// itself has no rank and the program is the root.
std::optional<int> launcher_rank(const Analysis& a) {
  for (const Event& event : a.events) {
    if (event.rule->id == "torch.elastic.root_cause" && event.place.rank) return event.place.rank;
  }
  return std::nullopt;
}

bool rank_matters(const Analysis& a) {
  switch (sub_domain_of(a.outcome)) {
    case SubDomain::network_fabric:
    case SubDomain::host_os:
    case SubDomain::host_hardware:
    case SubDomain::scheduler:
    case SubDomain::time_limit:
    case SubDomain::user_cancel:
    case SubDomain::none:
    case SubDomain::unknown:
      return false;
    default:
      return true;
  }
}

}  // namespace

void find_first_rank(Analysis& a) {
  if (a.hypotheses.empty() || a.outcome == "unknown") return;
  Hypothesis& best = a.hypotheses.front();
  if (best.root < 0 || !rank_matters(a) || best.outcome == "collective_desync") return;
  const Domain domain = domain_of(sub_domain_of(a.outcome));
  if (domain == Domain::workload && !a.tasks.empty()) {
    best.first_rank = first_abnormal_task(a);
    if (best.first_rank) return;
  }
  const std::vector<RankTime> ranks = ranks_of_root(a, best);
  if (!ranks.empty()) {
    if (!all_together(a, ranks)) best.first_rank = ranks.front().rank;
    return;
  }
  if (domain == Domain::workload) best.first_rank = launcher_rank(a);
}

}  // namespace nvab
