// SPDX-License-Identifier: Apache-2.0
// Trouble that another event says is over (`ends`: a link that came back, a server that answers
// again) and that led to nothing seen did not end the job. Progress after it says the same, where
// progress is dated; a job that hung until its time limit shows no more than that, so there it
// stays.
#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "common/engine/refine/refine.hh"

namespace nvab {
namespace {

// Servers and their parts.
constexpr std::string_view kNames[] = {"target", "server"};

bool agrees(std::string_view l, std::string_view r) { return l.empty() || r.empty() || l == r; }
bool agrees(const std::optional<int>& l, const std::optional<int>& r) { return !l || !r || l == r; }

// What both name is the same; nodes of others are nobody's unit.
bool same_unit(const Event& trouble, const Event& end) {
  const Place &t = trouble.place, &e = end.place;
  const bool named = std::all_of(std::begin(kNames), std::end(kNames), [&](std::string_view name) {
    return agrees(trouble.capture(name), end.capture(name));
  });
  return named && !t.node.empty() && t.node == e.node && agrees(t.nic, e.nic) &&
         agrees(t.port, e.port) && agrees(t.pci, e.pci) && agrees(t.gpu, e.gpu);
}

bool says_over(const Event& event) {
  return !event.rule->ends.empty() && (event.counts() || event.mark == Mark::benign);
}

}  // namespace

void mark_ended(Analysis& a) {
  if (!a.is_state("FAILED")) return;
  std::map<std::string, std::vector<int>> ends;  // node -> events that say that something is over
  std::vector<bool> has_effect(a.events.size());
  for (std::size_t i = 0; i < a.events.size(); ++i) {
    const Event& event = a.events[i];
    if (says_over(event)) ends[event.place.node].push_back(static_cast<int>(i));
    if (event.counts() && event.cause >= 0)
      has_effect[static_cast<std::size_t>(event.cause)] = true;
  }
  for (std::size_t i = 0; i < a.events.size() && !ends.empty(); ++i) {
    Event& trouble = a.events[i];
    const auto found = ends.find(trouble.place.node);
    if (!is_symptom(trouble) || has_effect[i] || found == ends.end()) continue;
    for (const int index : found->second) {
      const Event& end = a.events[static_cast<std::size_t>(index)];
      if (!names_rule(end.rule->ends, trouble.rule->id) || !same_unit(trouble, end)) continue;
      if (!surely_after(end, trouble)) continue;
      trouble.mark = Mark::recovered;
      break;
    }
  }
}

}  // namespace nvab
