// SPDX-License-Identifier: Apache-2.0
// Which rank kept the others waiting: a wait-for graph over process groups, from flight-recorder
// dumps. A rank waits at its first collective that is not complete; it waits for the members of
// that group that have not come so far, and in a send or receive for its peer. Those that are
// waited for and wait for nobody are the ones that stopped; everybody else is a victim, in however
// many groups they wait. Where ranks met in one collective with different operations or sizes, they
// are out of step: a bug of the program.
#include <algorithm>
#include <map>
#include <set>

#include "common/base/text.hh"
#include "common/engine/refine/refine.hh"

namespace nvab {
namespace {

struct RankState {
  const FlightDump* dump = nullptr;
  const CollectiveRecord* waits_at = nullptr;            // first that is not complete; null: none
  std::map<std::string_view, std::uint64_t> first_open;  // process group -> its first open sequence
};

bool is_open(const CollectiveRecord& record) { return record.state != "completed"; }

std::map<int, RankState> read_states(const Analysis& a) {
  std::map<int, RankState> states;
  for (const auto& [key, dump] : a.dumps) {
    RankState& state = states[dump.rank];
    state.dump = &dump;
    for (const CollectiveRecord& record : dump.entries) {
      if (!is_open(record)) continue;
      if (state.waits_at == nullptr) state.waits_at = &record;
      if (!record.is_p2p) state.first_open.emplace(record.process_group, record.sequence);
    }
  }
  return states;
}

const FlightDump::Group* find_group(const FlightDump& dump, std::string_view id) {
  for (const FlightDump::Group& group : dump.groups) {
    if (group.id == id) return &group;
  }
  return nullptr;
}

// "nccl:send 0->1", "nccl:recv 1<-0": positions in the group.
std::optional<int> p2p_peer(const CollectiveRecord& record, const FlightDump::Group& group) {
  const bool sends = record.op.find("->") != std::string::npos;
  const std::size_t arrow = record.op.find(sends ? "->" : "<-");
  if (arrow == std::string::npos) return std::nullopt;
  const auto position = parse_int(trim(std::string_view(record.op).substr(arrow + 2)));
  if (!position || *position < 0 || *position >= static_cast<long long>(group.ranks.size())) {
    return std::nullopt;
  }
  return group.ranks[static_cast<std::size_t>(*position)];
}

// Whether `member` has not come as far as sequence `at` of the group.
bool is_behind(const RankState& member, std::string_view group, std::uint64_t at) {
  const auto open = member.first_open.find(group);
  if (open != member.first_open.end()) return open->second < at;
  const FlightDump::Group* status = find_group(*member.dump, group);
  return status == nullptr || status->last_enqueued < 0 ||
         status->last_enqueued < static_cast<std::int64_t>(at);
}

std::vector<int> waits_for(const std::map<int, RankState>& states, int rank) {
  const RankState& state = states.at(rank);
  if (state.waits_at == nullptr) return {};
  const FlightDump::Group* group = find_group(*state.dump, state.waits_at->process_group);
  if (group == nullptr) return {};
  if (state.waits_at->is_p2p) {
    const auto peer = p2p_peer(*state.waits_at, *group);
    return peer && *peer != rank ? std::vector<int>{*peer} : std::vector<int>{};
  }
  std::vector<int> blockers;
  for (const int member : group->ranks) {
    if (member == rank) continue;
    const auto found = states.find(member);
    // A rank without a dump could not even write one.
    if (found == states.end() ||
        is_behind(found->second, state.waits_at->process_group, state.waits_at->sequence)) {
      blockers.push_back(member);
    }
  }
  return blockers;
}

std::vector<int> ranks_that_stopped(const std::map<int, RankState>& states) {
  std::set<int> waited_for, waiting;
  for (const auto& [rank, state] : states) {
    const std::vector<int> blockers = waits_for(states, rank);
    if (!blockers.empty()) waiting.insert(rank);
    waited_for.insert(blockers.begin(), blockers.end());
  }
  std::vector<int> stopped;
  std::set_difference(waited_for.begin(), waited_for.end(), waiting.begin(), waiting.end(),
                      std::back_inserter(stopped));
  return stopped;
}

// Operations whose members must agree on size.
bool sizes_must_agree(std::string_view op) {
  return op.find("all_reduce") != std::string_view::npos ||
         op.find("allreduce") != std::string_view::npos ||
         op.find("broadcast") != std::string_view::npos;
}

// A sentence when two ranks met in one collective with something different; else empty.
std::string out_of_step(const std::map<int, RankState>& states) {
  std::map<std::pair<std::string_view, std::uint64_t>, std::pair<int, const CollectiveRecord*>> met;
  for (const auto& [rank, state] : states) {
    for (const CollectiveRecord& record : state.dump->entries) {
      if (record.is_p2p || !is_open(record)) continue;
      const auto [first, added] =
          met.emplace(std::make_pair(std::string_view(record.process_group), record.sequence),
                      std::make_pair(rank, &record));
      if (added) continue;
      const CollectiveRecord& other = *first->second.second;
      const bool differ =
          other.op != record.op || (sizes_must_agree(record.op) && other.sizes != record.sizes);
      if (differ) {
        return "In collective " + std::to_string(record.sequence) + " of group " +
               record.process_group + " rank " + std::to_string(first->second.first) + " ran " +
               other.op + " and rank " + std::to_string(rank) + " ran " + record.op;
      }
    }
  }
  return {};
}

std::string name_ranks(const std::vector<int>& ranks) {
  constexpr std::size_t kNamed = 8;
  std::string text = ranks.size() == 1 ? "Rank " : "Ranks ";
  for (std::size_t i = 0; i < ranks.size() && i < kNamed; ++i) {
    text += (i > 0 ? ", " : "") + std::to_string(ranks[i]);
  }
  if (ranks.size() > kNamed) text += " and " + std::to_string(ranks.size() - kNamed) + " more";
  return text;
}

// The same from the watchdogs' lines, where no dumps were kept: each says the sequence number, the
// operation and the size that its rank timed out in.
std::string watchdogs_disagree(const Analysis& a) {
  std::map<std::pair<std::string, std::string>, const Event*> met;
  for (const Event& event : a.events) {
    const std::string_view seq = event.capture("seq"), op = event.capture("op");
    if (!event.counts() || seq.empty() || op.empty() || !event.place.rank) continue;
    // Without the group's name a small number may be two groups' that count alike.
    if (event.capture("pg").empty() && seq.size() < 3) continue;
    const auto [first, added] =
        met.emplace(std::make_pair(std::string(event.capture("pg")), std::string(seq)), &event);
    if (added) continue;
    const Event& other = *first->second;
    const bool differ =
        other.capture("op") != op || other.capture("numel") != event.capture("numel");
    if (differ && other.rule == event.rule) {
      return "In collective " + std::string(seq) + " rank " + std::to_string(*other.place.rank) +
             " ran " + std::string(other.capture("op")) + " and rank " +
             std::to_string(*event.place.rank) + " ran " + std::string(op) +
             (other.capture("op") == op ? " of another size" : "");
    }
  }
  return {};
}

// What the groups tell matters only where nothing better explains the end.
bool is_open_question(const Analysis& a) {
  if (a.is_state("COMPLETED") || a.is_state("CANCELLED") || a.is_state("PREEMPTED")) return false;
  if (a.hypotheses.empty()) return true;
  const Hypothesis& best = a.hypotheses.front();
  return best.root < 0 ||
         a.events[static_cast<std::size_t>(best.root)].rule->role == Role::cascade ||
         a.events[static_cast<std::size_t>(best.root)].source == Source::scheduler;
}

Hypothesis& answer(Analysis& a) {
  if (a.hypotheses.empty()) a.hypotheses.push_back({});
  return a.hypotheses.front();
}

}  // namespace

void judge_collectives(Analysis& a) {
  if (!is_open_question(a)) return;
  const std::map<int, RankState> states = read_states(a);
  std::string desync = out_of_step(states);
  if (desync.empty()) desync = watchdogs_disagree(a);
  if (!desync.empty()) {
    Hypothesis& hypothesis = answer(a);
    hypothesis.outcome = "collective_desync";
    hypothesis.weigh(std::max(hypothesis.confidence, 0.8), "ranks were in different collectives");
    hypothesis.action = Action::fix_before_retry;
    hypothesis.note = desync;
    return;
  }
  const std::vector<int> stopped = ranks_that_stopped(states);
  if (stopped.empty() || stopped.size() * 2 > states.size()) return;
  Hypothesis& hypothesis = answer(a);
  hypothesis.ranks = stopped;
  if (stopped.size() == 1) hypothesis.first_rank = stopped.front();
  if (hypothesis.outcome.empty()) hypothesis.outcome = "unknown";
  hypothesis.note = name_ranks(stopped) + (stopped.size() == 1 ? " was" : " were") +
                    " waited for by all others and waited for nobody";
}

}  // namespace nvab
