// SPDX-License-Identifier: Apache-2.0
// Counts of the kernel's out-of-memory kills in the control groups of a job, its step and a task.
// The files are opened while the task runs: later the groups may be out of sight, or gone.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "common/wire/task_record.h"

namespace nvab {

// Descriptors of the counters of one task's groups; -1 where there is none. Closed by close_oom.
struct OomFiles {
  int fds[nvab_oom_group_count] = {-1, -1, -1};
};

// Opens the counters of the memory groups in which the process `pid` is: cgroup v1 or v2, only
// those that are the job's own. What cannot be opened stays -1.
OomFiles open_oom(const char* root, pid_t pid, uint32_t job_id) noexcept;

// The counter now, NVAB_OOM_UNKNOWN where it cannot be read.
uint64_t read_oom(int fd) noexcept;

// Closes one descriptor and makes it -1.
void close_oom(int* fd) noexcept;

}  // namespace nvab
