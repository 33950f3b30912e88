// SPDX-License-Identifier: Apache-2.0
// What follows from the outcome: work lost, and what was not there to look at.
#include <algorithm>
#include <cmath>
#include <set>

#include "common/base/hostlist.hh"
#include "common/engine/refine/refine.hh"

namespace nvab {
namespace {

void name_missing_nodes(Analysis& a) {
  std::set<std::string> seen;
  bool any = false, shared = false;
  for (const auto& [key, stream] : a.streams) {
    if (!key.starts_with("syslog")) continue;
    any = true;
    const std::string node = a.placement.node(stream.node);
    if (stream.node.empty()) shared = true;
    if (!node.empty()) seen.insert(node);
  }
  if (!any) {
    a.missing.push_back("no system log was available: faults of nodes cannot be excluded");
    return;
  }
  if (shared) return;  // one file for many hosts: whose lines are missing cannot be told
  std::vector<std::string> absent;
  for (const std::string& node : a.context.nodes) {
    if (!seen.contains(node)) absent.push_back(node);
  }
  if (!absent.empty()) a.missing.push_back("no system log of " + fold_hostlist(absent));
}

}  // namespace

void measure_progress(Analysis& a) {
  Progress& progress = a.verdict.progress;
  progress.last_step = a.progress.last_step;
  progress.last_step_time = a.progress.last_time;
  progress.last_checkpoint_time = a.progress.last_checkpoint;
  const ExecutionContext& c = a.context;
  if (!c.start_time || !c.end_time || !c.gpus_per_node || a.outcome == "success") return;
  const Time since = a.progress.last_checkpoint.value_or(*c.start_time);
  if (*c.end_time < since) return;
  const double hours = to_seconds(*c.end_time - since) / 3600;
  const double gpus = static_cast<double>(c.nodes.size()) * *c.gpus_per_node;
  progress.lost_gpu_hours = std::round(hours * gpus * 10) / 10;
}

void name_missing(Analysis& a) {
  const bool any_output = std::any_of(a.streams.begin(), a.streams.end(), [](const auto& item) {
    return item.first.starts_with("applog") && item.second.lines > 0;
  });
  if (!any_output) a.missing.push_back("the job's output was not found or is empty");
  name_missing_nodes(a);
}

}  // namespace nvab
