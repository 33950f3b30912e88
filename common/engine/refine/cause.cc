// SPDX-License-Identifier: Apache-2.0
// Which event explains which. Declared by rules (`explains`, `within`, `reach`), bounded in time
// and place, found through per-rule indices: the work grows with events times rules present, never
// with pairs of events. At most one cause an event, never a cycle.
#include <algorithm>
#include <map>
#include <tuple>

#include "common/base/text.hh"
#include "common/engine/refine/refine.hh"

namespace nvab {
namespace {

// All symptoms of one rule, in event order, whole and by place.
struct RuleEvents {
  const Rule* rule = nullptr;
  std::vector<int> all;
  std::map<std::string, std::vector<int>> by_place;
  std::map<std::string, std::vector<int>> by_node;
};

std::string place_key(const Event& event, Reach reach) {
  switch (reach) {
    case Reach::job:
      return {};
    case Reach::same_node:
      return event.place.node;
    case Reach::same_gpu:
      if (event.place.node.empty()) return {};
      if (!event.place.pci.empty()) return event.place.node + '/' + event.place.pci;
      if (event.place.gpu) return event.place.node + '#' + std::to_string(*event.place.gpu);
      return {};
    case Reach::same_rank:
      return event.place.rank ? "r" + std::to_string(*event.place.rank) : std::string();
  }
  return {};
}

bool blames_place(const Rule& rule) {
  return rule.blames == Blame::node || rule.blames == Blame::nic || rule.blames == Blame::gpu;
}

// A fault of one node is no reason for a fault of another: a panic there, a file system that turned
// read-only. What programs and peers say of it may come from anywhere.
bool must_be_local(const Rule& cause, const Event& effect) {
  return blames_place(cause) && effect.rule->role == Role::root &&
         effect.rule->blames == Blame::node && effect.source != Source::applog &&
         !effect.place.node.empty();
}

// Time of `cause` allows it to have led to `effect`. What a state proves outranks what a clock
// suggests: unknown times do not forbid.
bool time_allows(const Event& cause, const Event& effect) {
  if (!cause.time || !effect.time) return true;
  if (cause.time_quality == TimeQuality::uptime || effect.time_quality == TimeQuality::uptime) {
    return true;
  }
  return *cause.earliest() <= latest_time(effect) + kClockSlack &&
         *effect.time <= latest_time(cause) + cause.rule->within;
}

// When two rules explain each other, or a place in the order is needed to break a ring: roots
// before cascades, the surely earlier, the stronger, then the fixed order of events.
bool cause_before(const Analysis& a, int left, int right) {
  const Event& l = a.events[static_cast<std::size_t>(left)];
  const Event& r = a.events[static_cast<std::size_t>(right)];
  if (l.rule->role != r.rule->role) return l.rule->role == Role::root;
  if (surely_after(r, l)) return true;
  if (surely_after(l, r)) return false;
  return std::make_tuple(-l.rule->strength, left) < std::make_tuple(-r.rule->strength, right);
}

// The earliest event of `candidates` (event order) that may have led to `effect`; -1: none.
int first_cause(const Analysis& a, const std::vector<int>& candidates, int effect) {
  const Event& e = a.events[static_cast<std::size_t>(effect)];
  auto from = candidates.begin();
  if (e.time) {
    from = std::partition_point(candidates.begin(), candidates.end(), [&](int index) {
      const Event& c = a.events[static_cast<std::size_t>(index)];
      return c.time && c.time_quality == TimeQuality::exact && *c.time + c.rule->within < *e.time;
    });
  }
  // A handful is enough: the first in the window is the earliest.
  constexpr int kTries = 8;
  int tries = 0;
  for (auto it = from; it != candidates.end() && tries < kTries; ++it, ++tries) {
    const Event& cause = a.events[static_cast<std::size_t>(*it)];
    // Victims may be heard before the one that failed; another failure that surely came first is
    // no consequence.
    const bool too_late = e.rule->role == Role::root && surely_after(cause, e);
    if (*it != effect && !too_late && time_allows(cause, e)) return *it;
  }
  return -1;
}

void cut_rings(Analysis& a) {
  for (std::size_t start = 0; start < a.events.size(); ++start) {
    int slow = static_cast<int>(start), fast = slow;
    const auto next = [&](int i) {
      return i < 0 ? -1 : a.events[static_cast<std::size_t>(i)].cause;
    };
    while (true) {
      slow = next(slow);
      fast = next(next(fast));
      if (fast < 0) break;
      if (slow != fast) continue;
      int first = slow;  // of the ring, the one that comes first in the cause order stays a root
      for (int i = next(slow); i != slow; i = next(i)) {
        if (cause_before(a, i, first)) first = i;
      }
      a.events[static_cast<std::size_t>(first)].cause = -1;
      break;
    }
  }
}

}  // namespace

bool is_symptom(const Event& event) {
  return event.counts() && (event.rule->role == Role::root || event.rule->role == Role::cascade);
}

void link_causes(Analysis& a) {
  std::map<std::string_view, RuleEvents> present;
  for (std::size_t i = 0; i < a.events.size(); ++i) {
    const Event& event = a.events[i];
    if (!is_symptom(event)) continue;
    RuleEvents& mine = present[event.rule->id];
    mine.rule = event.rule;
    mine.all.push_back(static_cast<int>(i));
    mine.by_node[event.place.node].push_back(static_cast<int>(i));
    if (event.rule->reach == Reach::job) continue;
    mine.by_place[place_key(event, event.rule->reach)].push_back(static_cast<int>(i));
  }
  for (const auto& [effect_id, effects] : present) {
    for (const auto& [cause_id, causes] : present) {
      if (cause_id == effect_id || !names_rule(causes.rule->explains, effect_id)) continue;
      const bool mutual = names_rule(effects.rule->explains, cause_id);
      for (const int effect : effects.all) {
        Event& event = a.events[static_cast<std::size_t>(effect)];
        const std::vector<int>* candidates = &causes.all;
        if (causes.rule->reach != Reach::job) {
          const auto found = causes.by_place.find(place_key(event, causes.rule->reach));
          if (found == causes.by_place.end() || found->first.empty()) continue;
          candidates = &found->second;
        } else if (must_be_local(*causes.rule, event)) {
          const auto found = causes.by_node.find(event.place.node);
          if (found == causes.by_node.end()) continue;
          candidates = &found->second;
        }
        const int cause = first_cause(a, *candidates, effect);
        if (cause < 0 || (mutual && !cause_before(a, cause, effect))) continue;
        if (event.cause < 0 || cause_before(a, cause, event.cause)) event.cause = cause;
      }
    }
  }
  cut_rings(a);
}

}  // namespace nvab
