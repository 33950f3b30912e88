// SPDX-License-Identifier: Apache-2.0
// How far a symptom spreads says what it is: on every node of the job it is the job's environment
// or a central service, on some it is those nodes; many links that drop at once are one switch.
#include <algorithm>
#include <set>

#include "common/engine/refine/refine.hh"

namespace nvab {
namespace {

// Ports of one switch drop within seconds; clocks of nodes differ a little more.
constexpr Duration kTogether = std::chrono::seconds(30);
// Fewer nodes than this may share a coincidence or a cable run.
constexpr std::size_t kSwitchNodes = 4;

std::set<std::string> nodes_showing(const Analysis& a, const Hypothesis& hypothesis) {
  const Event& root = a.events[static_cast<std::size_t>(hypothesis.root)];
  std::set<std::string> nodes;
  for (const Event& event : a.events) {
    if (!event.counts() && event.mark != Mark::superseded) continue;
    if (event.rule != root.rule) continue;
    // Who tells of others does not show it itself.
    if (event.rule->blames == Blame::peer) {
      nodes.insert(event.place.peers.begin(), event.place.peers.end());
    } else if (!event.place.node.empty()) {
      nodes.insert(event.place.node);
    }
  }
  return nodes;
}

void apply_spread(Analysis& a, Hypothesis* hypothesis) {
  const Event& root = a.events[static_cast<std::size_t>(hypothesis->root)];
  const Rule& rule = *root.rule;
  if (rule.everywhere.empty() && rule.only_some.empty()) return;
  const std::size_t all = a.context.nodes.size();
  const std::set<std::string> shown = nodes_showing(a, *hypothesis);
  if (all < 2 || shown.empty()) return;
  const std::string& outcome = shown.size() >= all ? rule.everywhere : rule.only_some;
  if (outcome.empty()) return;
  hypothesis->outcome = outcome;
  const OutcomeRow* row = find_outcome(outcome);
  hypothesis->nodes.clear();
  if (row->blames_node) hypothesis->nodes.assign(shown.begin(), shown.end());
  hypothesis->action = row->action;
  // That each node shows it by itself is no accident.
  if (outcome == rule.everywhere) {
    hypothesis->weigh(1 - (1 - hypothesis->confidence) * 0.6, "every node of the job shows it");
  }
  hypothesis->note = shown.size() >= all ? "Every node of the job shows it"
                                         : std::to_string(shown.size()) + " of " +
                                               std::to_string(all) + " nodes show it";
}

// Nodes of the other hypotheses with the same outcome whose roots fell together with the best
// one's.
void merge_together(Analysis& a, Hypothesis* best) {
  const Event& root = a.events[static_cast<std::size_t>(best->root)];
  for (std::size_t i = 1; i < a.hypotheses.size();) {
    Hypothesis& other = a.hypotheses[i];
    const Event& event = a.events[static_cast<std::size_t>(other.root)];
    const bool together = root.time && event.time && *event.time - *root.time <= kTogether &&
                          *root.time - *event.time <= kTogether;
    if (other.outcome != best->outcome || other.nodes.empty() || !together) {
      ++i;
      continue;
    }
    for (const std::string& node : other.nodes) {
      if (std::find(best->nodes.begin(), best->nodes.end(), node) == best->nodes.end()) {
        best->nodes.push_back(node);
      }
    }
    best->gpus.insert(best->gpus.end(), other.gpus.begin(), other.gpus.end());
    best->nics.insert(best->nics.end(), other.nics.begin(), other.nics.end());
    best->events.insert(best->events.end(), other.events.begin(), other.events.end());
    a.hypotheses.erase(a.hypotheses.begin() + static_cast<long>(i));
  }
  std::sort(best->events.begin(), best->events.end());
}

}  // namespace

void judge_spread(Analysis& a) {
  for (Hypothesis& hypothesis : a.hypotheses) apply_spread(a, &hypothesis);
  if (a.hypotheses.empty()) return;
  Hypothesis& best = a.hypotheses.front();
  if (best.nodes.empty()) return;
  merge_together(a, &best);
  const bool links = best.outcome == "link_down" || best.outcome == "fabric_error";
  if (links && best.nodes.size() >= kSwitchNodes) {
    best.outcome = "switch_down";
    best.drain = false;
    best.nics.clear();
    best.note = std::to_string(best.nodes.size()) +
                " nodes lost their links together: a switch, not so many bad nodes";
  }
}

}  // namespace nvab
