// SPDX-License-Identifier: Apache-2.0
// What the name of a log file says: whose it is. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "common/model/context.hh"
#include "common/model/observation.hh"

namespace nvab {

struct NamedPlace {
  std::string node;
  std::optional<int> rank, task, local_rank;
  std::string app;        // "slurmctld"
  bool is_dmesg = false;  // "n3.dmesg"
};

// "task_5.log", "rsl.error.0037", "1/rank.3/stdout", "attempt_0/2/stderr.log", "out.n7.log" (a node
// of the job), "n7.dmesg" (any host). "slurm-1234_7.out" names a job, not a rank.
NamedPlace place_from_name(std::string_view name, Source source, const ExecutionContext& context);

}  // namespace nvab
