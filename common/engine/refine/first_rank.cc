// SPDX-License-Identifier: Apache-2.0
// The rank that failed first: from the task record where there is one (it saw every exit, to the
// microsecond), else the rank of the root, else what the launcher noted. None where ranks fail
// together or nothing is seen to fail first.
#include <algorithm>
#include <map>
#include <set>

#include "common/engine/extract/extractor.hh"
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

// The program's rank; the Slurm task where no rank is known.
std::optional<int> rank_of(const Event& event) {
  return event.place.rank ? event.place.rank : event.place.task;
}

// The ranks of those of the hypothesis' events that `wanted` picks, in the order of their first
// one.
template <typename Wanted>
std::vector<RankTime> ranks_of(const Analysis& a, const Hypothesis& best, Wanted wanted) {
  std::set<int> seen;
  std::vector<RankTime> ranks;
  for (const int index : best.events) {
    const Event& event = a.events[static_cast<std::size_t>(index)];
    const std::optional<int> rank = rank_of(event);
    if (rank && wanted(event) && seen.insert(*rank).second) ranks.push_back({*rank, event.time});
  }
  return ranks;
}

bool all_together(const Analysis& a, const std::vector<RankTime>& ranks) {
  const auto all = static_cast<double>(a.placement.rank_count());
  if (ranks.size() < 2 || static_cast<double>(ranks.size()) < kMostRanks * all) return false;
  if (!ranks.front().time || !ranks.back().time) return true;
  return *ranks.back().time - *ranks.front().time <= kTogether;
}

// The task record's first abnormal end. Tasks are ranks only where one task is one rank.
std::optional<int> first_abnormal_task(const Analysis& a) {
  const TaskExit* first = nullptr;
  for (const auto& [key, task] : a.tasks) {
    if (!task.task || !task.end || is_script(task)) continue;
    const bool abnormal = task.signal.value_or(0) != 0 || task.exit_code.value_or(0) != 0;
    if (abnormal && (first == nullptr || *task.end < *first->end)) first = &task;
  }
  if (first == nullptr || a.tasks.size() < 2) return std::nullopt;
  return first->task;
}

const Event* launcher_word(const Analysis& a) {
  for (const Event& event : a.events) {
    const bool usable =
        event.counts() || event.mark == Mark::teardown || event.mark == Mark::superseded;
    if (usable && is_launcher_word(event)) return &event;
  }
  return nullptr;
}

// Where a node is to blame, only a rank of that node can have failed first.
std::optional<int> launcher_rank(const Analysis& a, const Hypothesis& best) {
  const Event* word = launcher_word(a);
  if (word == nullptr) return std::nullopt;
  const auto& nodes = best.nodes;
  const bool there = nodes.empty() || word->place.node.empty() ||
                     std::find(nodes.begin(), nodes.end(), word->place.node) != nodes.end();
  return there ? rank_of(*word) : std::nullopt;
}

// A node's fault that only the program's output tells of is on the node of the rank that ended
// first.
void blame_node_of_launcher(const Analysis& a, Hypothesis* best) {
  const OutcomeRow* row = find_outcome(a.outcome);
  if (row == nullptr || !row->blames_node || !best->nodes.empty()) return;
  const Event* word = launcher_word(a);
  if (word != nullptr && !word->place.node.empty()) best->nodes.push_back(word->place.node);
}

bool rank_matters(const Analysis& a) {
  switch (sub_domain_of(a.outcome)) {
    case SubDomain::network_fabric:
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

// Where memory ran out, the task that srun saw killed is the one that the kernel chose.
std::optional<int> killed_rank(const Analysis& a) {
  if (sub_domain_of(a.outcome) != SubDomain::host_memory) return std::nullopt;
  std::set<int> killed;
  for (const Event& event : a.events) {
    const std::string_view exit = event.capture("exit");
    const bool by_signal_9 = event.text.find(": Killed") != std::string::npos || exit == "137" ||
                             exit == "-9" || event.capture("signal") == "9";
    if (event.source == Source::applog && by_signal_9 && rank_of(event))
      killed.insert(*rank_of(event));
  }
  return killed.size() == 1 ? std::optional<int>(*killed.begin()) : std::nullopt;
}

// A program of one process has no first rank.
bool is_single_process(const Analysis& a) {
  return a.context.ntasks == 1 && a.placement.rank_count() <= 1;
}

std::optional<int> rank_by_evidence(const Analysis& a, const Hypothesis& best) {
  const Event& root = a.events[static_cast<std::size_t>(best.root)];
  const std::vector<RankTime> own = ranks_of(a, best, [&](const Event& event) {
    const bool alike = event.rule->outcome == root.rule->outcome && event.cause < 0 &&
                       event.rule->role == root.rule->role && event.source == root.source;
    return event.rule == root.rule || alike;
  });
  if (!own.empty()) {
    return all_together(a, own) ? std::nullopt : std::optional<int>(own.front().rank);
  }
  if (const auto killed = killed_rank(a)) return killed;
  // A fault of a node or service: the rank that ran into it first.
  const std::vector<RankTime> hit = ranks_of(a, best, [&](const Event& event) {
    const bool there =
        best.nodes.empty() || event.place.node.empty() ||
        std::find(best.nodes.begin(), best.nodes.end(), event.place.node) != best.nodes.end();
    const bool failed = event.rule->role == Role::root || event.rule->outcome == root.rule->outcome;
    return event.cause >= 0 && failed && there;
  });
  if (!hit.empty() && !all_together(a, hit)) return hit.front().rank;
  return launcher_rank(a, best);
}

}  // namespace

// Victims of the clean-up (SIGTERM, SIGKILL) are no testimony.
bool is_launcher_word(const Event& event) {
  constexpr std::string_view kCleanUp[] = {"9", "15", "-9", "-15", "137", "143"};
  const Role role = event.rule->role;
  if (event.source != Source::applog || role == Role::teardown || role == Role::progress)
    return false;
  if (role == Role::placement || role == Role::benign) return false;
  const std::string_view exit =
      event.capture("exit").empty() ? event.capture("signal") : event.capture("exit");
  if (std::find(std::begin(kCleanUp), std::end(kCleanUp), exit) != std::end(kCleanUp)) return false;
  if (!event.capture("task").empty()) return true;
  // MPI names the rank that aborted; other lines with a rank only what that rank saw.
  return !event.capture("rank").empty() &&
         (!exit.empty() || event.rule->id.starts_with("mpi.abort"));
}

void find_first_rank(Analysis& a) {
  if (a.hypotheses.empty() || a.outcome == "unknown" || is_single_process(a)) return;
  Hypothesis& best = a.hypotheses.front();
  blame_node_of_launcher(a, &best);
  if (best.root < 0 || !rank_matters(a) || best.outcome == "collective_desync") return;
  if (domain_of(sub_domain_of(a.outcome)) == Domain::workload && !a.tasks.empty()) {
    best.first_rank = first_abnormal_task(a);
    if (best.first_rank) return;
  }
  best.first_rank = rank_by_evidence(a, best);
}

}  // namespace nvab
