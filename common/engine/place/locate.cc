// SPDX-License-Identifier: Apache-2.0
// Locate: observer and subject of every event -> node, rank, GPU, port of this job.
#include <algorithm>
#include <charconv>
#include <set>

#include "common/base/hostlist.hh"
#include "common/base/text.hh"
#include "common/engine/extract/extractor.hh"
#include "common/engine/place/locate.hh"

namespace nvab {
namespace {

std::optional<int> int_capture(const Event& event, std::string_view name) {
  const auto value = parse_int(event.capture(name));
  if (!value || *value < 0 || *value > 100'000'000) return std::nullopt;
  return static_cast<int>(*value);
}

// Placement lines and records first, in a fixed order; then what metrics' labels say.
void learn_from_event(Placement* placement, const Event& event) {
  const std::string_view named = event.capture("node");
  std::string node = placement->node(named.empty() ? event.place.observer : named);
  if (node.empty() && named.empty() && event.place.observer.empty()) node = placement->only_node();
  if (!event.capture("addr").empty()) placement->learn_address(event.capture("addr"), node);
  const std::optional<int> rank = event.place.rank;
  const std::optional<int> index = event.place.gpu;
  if (event.rule->role == Role::placement && rank) {
    placement->learn_rank(*rank, node, event.place.local_rank, index, event.place.pci);
  }
  if (event.rule->role == Role::placement && !event.place.mig.empty()) {
    placement->learn_job_mig(node, event.place.pci, event.place.mig);
  }
  if (!node.empty() && (!event.place.pci.empty() || !event.place.uuid.empty())) {
    placement->learn_gpu(node, index, event.place.pci, event.place.uuid);
  }
}

void learn_from_task(Placement* placement, const TaskExit& task, bool tasks_are_ranks) {
  const std::string node = placement->node(task.node);
  if (node.empty()) return;
  if (task.task && tasks_are_ranks && !is_script(task)) {
    placement->learn_rank(*task.task, node, task.local_id, std::nullopt, {});
  }
  for (const std::string& gpu : task.gpu_ids) {
    const auto index = parse_int(gpu);
    const std::string_view uuid = index ? std::string_view() : std::string_view(gpu);
    placement->learn_job_gpu(
        node, index ? std::optional<int>(static_cast<int>(*index)) : std::nullopt, {}, uuid);
  }
  for (const std::string& pci : task.gpu_pci) placement->learn_job_gpu(node, std::nullopt, pci, {});
}

// A launcher that Slurm starts once a node starts a rank for each GPU itself; then the task's
// number is the node's. Seen from ranks that programs name, which are more than the tasks, or which
// such a layout explains.
bool are_tasks_ranks(const Analysis& a) {
  std::set<int> tasks;
  std::set<std::string_view> nodes;
  for (const auto& [key, task] : a.tasks) {
    if (!task.task || is_script(task)) continue;
    tasks.insert(*task.task);
    nodes.insert(task.node);
  }
  int highest = -1;
  for (const Event& event : a.events) {
    if (event.source == Source::applog) highest = std::max(highest, event.place.rank.value_or(-1));
  }
  const bool one_a_node = tasks.size() == nodes.size() && a.context.gpus_per_node.value_or(0) > 1;
  return highest < static_cast<int>(tasks.size()) && !(one_a_node && highest >= 0);
}

std::string observer_node(const Analysis& a, const Event& event) {
  if (!event.place.observer.empty()) return a.placement.node(event.place.observer);
  if (a.context.nodes.size() == 1) return a.context.nodes.front();
  return {};
}

void locate_gpu(const Analysis& a, Event* event) {
  Place& place = event->place;
  if (place.gpu || !place.pci.empty() || !place.uuid.empty()) {
    if (place.node.empty()) return;
    const GpuRef full = a.placement.gpu(place.node, place.gpu, place.pci, place.uuid);
    place.gpu = full.index;
    place.pci = full.pci;
    place.uuid = full.uuid;
    if (!place.rank) {
      place.rank = a.placement.rank_of_gpu(full, &place.rank_by_gpu);
    }
    return;
  }
  if (event->rule->blames != Blame::gpu || !place.rank) return;
  if (const auto gpu = a.placement.gpu_of_rank(*place.rank)) {
    place.gpu = gpu->index;
    place.pci = gpu->pci;
    place.uuid = gpu->uuid;
  }
}

void locate_event(const Analysis& a, Event* event) {
  Place& place = event->place;
  const std::string_view subject = event->capture("node");
  place.node = subject.empty() ? observer_node(a, *event) : a.placement.node(subject);
  const std::string_view pod = event->capture("pod");
  if (subject.empty() && !pod.empty()) {
    place.node = a.placement.node_of_pod(pod).value_or(place.node);
  }
  // A launcher names its ranks by node and local rank.
  if (!place.rank && place.local_rank && !place.node.empty()) {
    place.rank = a.placement.rank_of_local(place.node, *place.local_rank);
  }
  if (place.node.empty() && place.rank && subject.empty()) {
    place.node = a.placement.node_of_rank(*place.rank).value_or("");
  }
  if (place.node.empty() && place.task && subject.empty()) {
    place.node = a.placement.node_of_task(*place.task).value_or("");
  }
  std::vector<std::string> peers;
  const auto add_peer = [&](std::string_view name) {
    const std::string node = a.placement.node(name);
    if (!node.empty()) peers.push_back(node);
  };
  add_peer(event->capture("peer"));
  if (const auto list = expand_hostlist(event->capture("nodes"))) {
    for (const std::string& name : *list) add_peer(name);
  }
  place.peers = std::move(peers);
  locate_gpu(a, event);
}

// Captures that are numbers or names of the standard set become the event's place.
void read_captures(Event* event) {
  Place& place = event->place;
  const auto take = [&](std::optional<int>* field, std::string_view name) {
    if (const auto value = int_capture(*event, name)) *field = value;
  };
  take(&place.rank, "rank");
  take(&place.task, "task");
  take(&place.local_rank, "local_rank");
  take(&place.gpu, "gpu");
  take(&place.port, "port");
  take(&place.pid, "pid");
  if (!event->capture("pci").empty()) place.pci = canonical_pci(event->capture("pci"));
  if (!event->capture("uuid").empty()) place.uuid = event->capture("uuid");
  if (!event->capture("mig").empty()) place.mig = event->capture("mig");
  if (!event->capture("nic").empty()) place.nic = event->capture("nic");
}

}  // namespace

std::string_view sample_node(const MetricSample& sample) {
  if (!sample.node.empty()) return sample.node;
  for (const std::string_view label :
       {"Hostname", "hostname", "node", "nodename", "instance", "host"}) {
    const auto found = sample.labels.find(std::string(label));
    if (found == sample.labels.end()) continue;
    // instance="n1:9100"
    return std::string_view(found->second).substr(0, found->second.find(':'));
  }
  return {};
}

void learn_labels(const MetricSample& sample, Placement* placement) {
  const auto label = [&](const char* name) -> std::string {
    const auto found = sample.labels.find(name);
    return found == sample.labels.end() ? std::string() : found->second;
  };
  const std::string node = placement->node(sample_node(sample));
  const std::string uuid = label("UUID").empty() ? label("uuid") : label("UUID");
  const auto index = parse_int(label("gpu"));
  if (node.empty() || (uuid.empty() && label("pci_bus_id").empty())) return;
  placement->learn_gpu(node, index ? std::optional<int>(static_cast<int>(*index)) : std::nullopt,
                       label("pci_bus_id"), uuid);
}

void locate(Analysis& a) {
  for (Event& event : a.events) read_captures(&event);
  a.tasks_are_ranks = are_tasks_ranks(a);
  for (const auto& [key, task] : a.tasks) learn_from_task(&a.placement, task, a.tasks_are_ranks);
  for (const Event& event : a.events) {
    if (event.mark != Mark::untrusted) learn_from_event(&a.placement, event);
  }
  a.placement.fill_default_layout();
  for (Event& event : a.events) locate_event(a, &event);
  for (Event& event : a.shadow) {
    read_captures(&event);
    locate_event(a, &event);
  }
}

}  // namespace nvab
