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

// The program's rank; the Slurm task where no rank is known, and there are several.
std::optional<int> rank_of(const Analysis& a, const Event& event) {
  if (event.place.rank || a.context.ntasks == 1) return event.place.rank;
  return event.place.task;
}

// What a rank, its launcher or the task record says of it; not what follows from the GPU that it
// should use.
bool is_said(const Event& event) {
  return !event.place.rank_by_gpu &&
         (event.source == Source::applog || event.source == Source::task_exits);
}

// The ranks of those of the hypothesis' events that `wanted` picks, in the order of their first
// one.
template <typename Wanted>
std::vector<RankTime> ranks_of(const Analysis& a, const Hypothesis& best, Wanted wanted) {
  std::set<int> seen;
  std::vector<RankTime> ranks;
  for (const int index : best.events) {
    const Event& event = a.events[static_cast<std::size_t>(index)];
    const std::optional<int> rank = rank_of(a, event);
    if (rank && is_said(event) && wanted(event) && seen.insert(*rank).second)
      ranks.push_back({*rank, event.time});
  }
  return ranks;
}

bool near(const RankTime& first, const RankTime& last) {
  if (!first.time || !last.time) return true;
  return *last.time - *first.time <= kTogether;
}

// What is wrong for every rank of a node or of the job alike: the first to say so was only quicker.
bool is_common_trouble(const Analysis& a, const Event& root) {
  const SubDomain sub = sub_domain_of(a.outcome);
  const bool of_node = root.rule->blames == Blame::node && sub != SubDomain::nvlink;
  return sub == SubDomain::user_config || sub == SubDomain::external_service ||
         sub == SubDomain::storage || a.outcome == "user_gpu_fault" || of_node;
}

bool all_together(const Analysis& a, const Event& root, const std::vector<RankTime>& ranks) {
  if (ranks.size() < 2) return false;
  if (is_common_trouble(a, root) && near(ranks[0], ranks[1])) return true;
  const auto all = static_cast<double>(a.placement.rank_count());
  if (static_cast<double>(ranks.size()) < kMostRanks * all) return false;
  return near(ranks.front(), ranks.back());
}

bool ended_by_clean_up(const TaskExit& task) {
  const int signal = task.signal.value_or(0);
  return signal == 15 || signal == 9;
}

// The task record's first abnormal end, where tasks are ranks; none where most ended by themselves
// in the same moment, or where the first was told to end.
std::optional<int> first_abnormal_task(const Analysis& a) {
  constexpr Duration kSameMoment = std::chrono::milliseconds(500);
  if (!a.tasks_are_ranks) return std::nullopt;
  const TaskExit* first = nullptr;
  std::vector<const TaskExit*> by_themselves;
  for (const auto& [key, task] : a.tasks) {
    if (!task.task || !task.end || is_script(task)) continue;
    const bool abnormal = task.signal.value_or(0) != 0 || task.exit_code.value_or(0) != 0;
    if (abnormal && !ended_by_clean_up(task)) by_themselves.push_back(&task);
    if (abnormal && (first == nullptr || *task.end < *first->end)) first = &task;
  }
  if (first == nullptr || a.tasks.size() < 2) return std::nullopt;
  const bool short_of_memory = sub_domain_of(a.outcome) == SubDomain::host_memory;
  if (ended_by_clean_up(*first) && !(short_of_memory && first->signal == 9)) return std::nullopt;
  const auto together =
      std::count_if(by_themselves.begin(), by_themselves.end(),
                    [&](const TaskExit* t) { return *t->end - *first->end <= kSameMoment; });
  if (static_cast<double>(together) >= kMostRanks * static_cast<double>(a.tasks.size()))
    return std::nullopt;
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

// What is wrong for all alike: rank 0 speaks for the others, and a second rank shows that it is so.
bool speaks_for_others(const Analysis& a, const Event& word) {
  if (rank_of(a, word) == 0) return true;
  return std::any_of(a.events.begin(), a.events.end(), [&](const Event& event) {
    const bool usable = event.counts() || event.mark == Mark::superseded;
    return usable && is_launcher_word(event) && rank_of(a, event) != rank_of(a, word);
  });
}

// Where a node is to blame, only a rank of that node can have failed first.
std::optional<int> launcher_rank(const Analysis& a, const Hypothesis& best) {
  const Event* word = launcher_word(a);
  if (word == nullptr) return std::nullopt;
  const Event& root = a.events[static_cast<std::size_t>(best.root)];
  if (is_common_trouble(a, root) && speaks_for_others(a, *word)) return std::nullopt;
  const auto& nodes = best.nodes;
  const bool there = nodes.empty() || word->place.node.empty() ||
                     std::find(nodes.begin(), nodes.end(), word->place.node) != nodes.end();
  return there ? rank_of(a, *word) : std::nullopt;
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
  // What ended the job came from outside of its ranks, or every rank saw it.
  const bool from_outside = a.is_state("TIMEOUT") || a.is_state("DEADLINE") ||
                            a.is_state("CANCELLED") || a.is_state("PREEMPTED");
  if (from_outside || a.outcome == "collective_desync" || a.outcome == "teardown_failure")
    return false;
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
    if (event.source == Source::applog && by_signal_9 && rank_of(a, event))
      killed.insert(*rank_of(a, event));
  }
  return killed.size() == 1 ? std::optional<int>(*killed.begin()) : std::nullopt;
}

// A program of one process has no first rank.
bool is_single_process(const Analysis& a) {
  return a.context.ntasks == 1 && a.placement.rank_count() <= 1;
}

// A crash that a launcher saw: a signal that programs bring upon themselves.
bool is_crash(const Event& event) {
  constexpr std::string_view kSignals[] = {"4",   "6",   "7",   "8",   "11",
                                           "132", "134", "135", "136", "139"};
  const std::string_view exit =
      event.capture("signal").empty() ? event.capture("exit") : event.capture("signal");
  return std::find(std::begin(kSignals), std::end(kSignals), exit) != std::end(kSignals);
}

// The rank that should use the GPU at fault, where that rank was heard to fail.
std::optional<int> rank_of_gpu(const Analysis& a, const Hypothesis& best, const Event& root) {
  if (is_said(root) || !root.place.rank) return std::nullopt;
  if (!root.place.rank_by_gpu && best.gpus.size() == 1) return root.place.rank;
  for (const Event& event : a.events) {
    const bool usable =
        event.counts() || event.mark == Mark::superseded || event.mark == Mark::teardown;
    const bool symptom = event.rule->role == Role::root || is_launcher_word(event);
    if (usable && symptom && is_said(event) && rank_of(a, event) == root.place.rank)
      return root.place.rank;
  }
  // Launchers place ranks in blocks; before the program ran there was none.
  return a.progress.any && best.gpus.size() == 1 ? root.place.rank : std::nullopt;
}

// A central service that several nodes lost: whoever needed it first ran into it first.
bool is_seen_by_many_nodes(const Analysis& a, const Hypothesis& best) {
  if (sub_domain_of(a.outcome) != SubDomain::storage || !best.nodes.empty()) return false;
  const Event& root = a.events[static_cast<std::size_t>(best.root)];
  return std::any_of(a.events.begin(), a.events.end(), [&](const Event& event) {
    const bool seen = event.counts() || event.mark == Mark::recovered;
    return seen && event.rule == root.rule && !event.place.node.empty() &&
           !root.place.node.empty() && event.place.node != root.place.node;
  });
}

// The only rank that failed of it, if it is one; the others waited.
std::optional<int> only_rank_in_trouble(const Analysis& a) {
  std::set<int> ranks;
  for (const Event& event : a.events) {
    const bool failed = event.counts() && is_said(event) && rank_of(a, event) &&
                        sub_domain_of(event.rule->outcome) == SubDomain::storage;
    if (failed) ranks.insert(*rank_of(a, event));
  }
  return ranks.size() == 1 ? std::optional<int>(*ranks.begin()) : std::nullopt;
}

std::optional<int> rank_by_evidence(const Analysis& a, const Hypothesis& best) {
  const Event& root = a.events[static_cast<std::size_t>(best.root)];
  const std::vector<RankTime> own = ranks_of(a, best, [&](const Event& event) {
    const bool alike = event.rule->outcome == root.rule->outcome && event.cause < 0 &&
                       event.rule->role == root.rule->role && event.source == root.source;
    return event.rule == root.rule || alike;
  });
  if (!own.empty()) {
    return all_together(a, root, own) ? std::nullopt : std::optional<int>(own.front().rank);
  }
  if (const auto killed = killed_rank(a)) return killed;
  if (const auto user = rank_of_gpu(a, best, root)) return user;
  // A fault of a node or service: the rank that ran into it first.
  const std::vector<RankTime> hit = ranks_of(a, best, [&](const Event& event) {
    const bool there =
        best.nodes.empty() || event.place.node.empty() ||
        std::find(best.nodes.begin(), best.nodes.end(), event.place.node) != best.nodes.end();
    const bool failed = event.rule->role == Role::root ||
                        event.rule->outcome == root.rule->outcome ||
                        event.rule->id.starts_with("cuda.");  // its own device, not a peer's
    return event.cause >= 0 && failed && there;
  });
  if (!hit.empty()) {
    return all_together(a, root, hit) ? std::nullopt : std::optional<int>(hit.front().rank);
  }
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
  if (a.outcome == "divergence") {  // all ranks hold the same bad numbers; one may stop at them
    const Event* word = launcher_word(a);
    const bool stopped =
        word != nullptr &&
        (is_crash(*word) || (word->rule->id.starts_with("mpi.abort") && rank_of(a, *word) != 0));
    if (stopped) best.first_rank = rank_of(a, *word);
    return;
  }
  if (is_seen_by_many_nodes(a, best)) {
    best.first_rank = only_rank_in_trouble(a);
    return;
  }
  if (domain_of(sub_domain_of(a.outcome)) == Domain::workload && !a.tasks.empty()) {
    best.first_rank = first_abnormal_task(a);
    if (best.first_rank) return;
  }
  best.first_rank = rank_by_evidence(a, best);
}

}  // namespace nvab
