// SPDX-License-Identifier: Apache-2.0
// Which nodes were down or drained, and why, by `sacctmgr show event`: before Slurm 23.02 the only
// place that says which node of a job failed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.hh"
#include "common/model/context.hh"

namespace nvab {

struct ClusterNodeEvent {
  std::string cluster;
  NodeEvent event;
};

// What `sacctmgr -n -P show event format=Cluster,TimeStart,TimeEnd,State,NodeName,Reason` prints;
// rows about the cluster itself are left out. The reason is the last field, so that one with a '|'
// in it stays whole. Lines that are no rows are left out too. Pure.
std::vector<ClusterNodeEvent> parse_node_events(std::string_view output);

// The options of that command for all nodes of the contexts, around their windows.
std::vector<std::string> node_event_options(const std::vector<const ExecutionContext*>& contexts);

// Adds those that are about the context's nodes and in or near its window.
void add_node_events(const std::vector<ClusterNodeEvent>& events, ExecutionContext* context);

// Whether how it ended may have to do with a node, so that asking is worth its 0.2 s.
bool wants_node_events(const ExecutionContext& context);

}  // namespace nvab
