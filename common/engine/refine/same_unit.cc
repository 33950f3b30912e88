// SPDX-License-Identifier: Apache-2.0
// Same unit or different units: GPU faults that a program can cause (Xid 13, 31) are its own when
// they hit several GPUs or once; the same SM of one GPU of several again and again, over restarts
// and with other kernels, is that GPU. Known from NVIDIA's Xid catalogue and NVSentinel's
// correlation rules.
#include <algorithm>
#include <map>
#include <set>

#include "common/engine/refine/refine.hh"

namespace nvab {
namespace {

// One burst of lines is one fault.
constexpr Duration kBurst = std::chrono::minutes(3);
// So many separate faults on one unit before the unit is blamed.
constexpr int kSameUnitFaults = 2;

struct Unit {
  std::vector<int> events;      // in event order
  std::set<std::string> parts;  // GPC/TPC/SM named
  int faults = 0;
};

bool is_application_fault(const Event& event) {
  return event.rule->outcome == "user_gpu_fault" && event.source == Source::syslog;
}

void count_faults(const Analysis& a, Unit* unit) {
  std::optional<Time> previous;
  for (const int index : unit->events) {
    const std::optional<Time> time = a.events[static_cast<std::size_t>(index)].time;
    if (!time) continue;
    if (!previous || *time > *previous + kBurst) ++unit->faults;
    previous = time;
  }
}

void blame_unit(Analysis& a, Hypothesis* hypothesis, const Unit& unit) {
  const Event& event = a.events[static_cast<std::size_t>(unit.events.back())];
  hypothesis->outcome = "gpu_fault";
  hypothesis->nodes = {event.place.node};
  hypothesis->gpus = {{event.place.node, event.place.gpu, event.place.pci, event.place.uuid}};
  hypothesis->ranks.clear();
  if (event.place.rank) hypothesis->ranks.push_back(*event.place.rank);
  hypothesis->action = Action::requeue_exclude_nodes;
  constexpr double kSameSm = 0.85;
  hypothesis->weigh(std::max(hypothesis->confidence, kSameSm), "the same unit again and again");
  hypothesis->note = "The same GPU raised it " + std::to_string(unit.faults) +
                     " separate times while the others ran the same code without";
}

// Only where other GPUs ran the same code without it can one GPU stand out. And a rank with work of
// its own (a last pipeline stage, one bad shard) always fails on its own GPU: without the SM, the
// same GPU again says nothing.
bool stands_out(const Analysis& a, const Unit& unit) {
  const std::size_t gpus =
      static_cast<std::size_t>(a.context.gpus_per_node.value_or(0)) * a.context.nodes.size();
  return gpus > 1 && unit.faults >= kSameUnitFaults && unit.parts.size() == 1;
}

}  // namespace

void judge_same_unit(Analysis& a) {
  if (a.hypotheses.empty()) return;
  Hypothesis& best = a.hypotheses.front();
  if (best.outcome != "user_gpu_fault") return;
  // Marked ones testify too: each earlier attempt recovered by a restart.
  std::map<std::string, Unit> units;
  for (std::size_t i = 0; i < a.events.size(); ++i) {
    const Event& event = a.events[i];
    const bool counts =
        event.counts() || event.mark == Mark::recovered || event.mark == Mark::superseded;
    if (!counts || !is_application_fault(event) || event.place.pci.empty()) continue;
    Unit& unit = units[event.place.node + '/' + event.place.pci];
    unit.events.push_back(static_cast<int>(i));
    if (!event.capture("sm").empty()) {
      unit.parts.insert(std::string(event.capture("gpc")) + '/' +
                        std::string(event.capture("tpc")) + '/' + std::string(event.capture("sm")));
    }
  }
  if (units.size() != 1) return;
  Unit& unit = units.begin()->second;
  count_faults(a, &unit);
  if (stands_out(a, unit)) blame_unit(a, &best, unit);
}

}  // namespace nvab
