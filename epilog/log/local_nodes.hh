// SPDX-License-Identifier: Apache-2.0
// Which of a job's nodes are this machine: what local logs (journal, kernel ring) can speak for.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/model/context.hh"
#include "epilog/host.hh"

namespace nvab {

// Those with this machine's name, and those of which the plugin noted this very boot.
std::vector<std::string> local_nodes(const ExecutionContext& context, const Host& host);

// The one local node; empty where several share the machine: its kernel's lines are of none of them
// alone.
std::string sole_node(const std::vector<std::string>& nodes);

// The job's node that a log calls `name`, be it with a domain behind it or not; empty: not one of
// the job's.
std::string_view node_called(const ExecutionContext& context, std::string_view name);

}  // namespace nvab
