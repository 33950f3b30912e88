// SPDX-License-Identifier: Apache-2.0
// A faulty port is often silent while its peers complain about it: where communication errors name
// their peer, the node that most other nodes name, and that names nobody itself, is the suspect. Of
// those who are no party (a switch, the subnet manager, the controller) one is enough.
#include <algorithm>
#include <map>
#include <set>

#include "common/engine/refine/refine.hh"

namespace nvab {
namespace {

struct Vote {
  std::set<std::string> accusers;
  bool by_outsider = false;
};

// A switch, a subnet manager, a controller or a file server: no party to the quarrel, and no
// program of the user's wrote its log.
bool is_trusted_outsider(const Event& event) {
  return event.source == Source::syslog && event.trust != Trust::user &&
         !event.place.observer.empty() && event.place.node.empty();
}

}  // namespace

void judge_silent_peer(Analysis& a) {
  if (a.hypotheses.empty()) return;
  Hypothesis& best = a.hypotheses.front();
  const Event& root = a.events[static_cast<std::size_t>(best.root)];
  if (root.rule->blames != Blame::peer) return;
  // Who names a list of nodes is the scheduler, which has lost them: no peer that accuses another.
  if (!root.capture("nodes").empty()) return;
  std::map<std::string, Vote> votes;
  for (const int index : best.events) {
    const Event& event = a.events[static_cast<std::size_t>(index)];
    if (event.rule->blames != Blame::peer) continue;
    for (const std::string& peer : event.place.peers) {
      if (!event.place.node.empty() && event.place.node != peer)
        votes[peer].accusers.insert(event.place.node);
      votes[peer].by_outsider |= is_trusted_outsider(event);
    }
  }
  std::vector<std::string> told;
  for (const auto& [node, vote] : votes) {
    if (vote.by_outsider) told.push_back(node);
  }
  best.nodes.clear();
  if (!told.empty()) {
    best.nodes = std::move(told);
    return;
  }
  std::size_t most = 0, second = 0;
  std::string suspect;
  for (const auto& [node, vote] : votes) {
    const std::size_t count = vote.accusers.size();
    if (count > most) {
      second = most;
      most = count;
      suspect = node;
    } else {
      second = std::max(second, count);
    }
  }
  // Two that accuse each other leave it open; so does a crowd that accuses everybody.
  if (most >= 2 && most > second) {
    best.nodes = {suspect};
    best.note = std::to_string(most) + " nodes lost their connection to " + suspect;
  } else {
    best.weigh(best.confidence * 0.6, "nodes accuse each other");
  }
}

}  // namespace nvab
