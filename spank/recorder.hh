// SPDX-License-Identifier: Apache-2.0
// Writes the task record of one step on one node, from the hooks that Slurm calls in slurmstepd.
#pragma once

#include <array>
#include <cstddef>

#include "common/wire/task_record.h"
#include "spank/oom.hh"
#include "spank/settings.hh"
#include "spank/slurm.hh"
#include "spank/spool.hh"
#include "spank/watcher.hh"

namespace nvab {

// All hooks are called by slurmstepd's main thread, but for task_init, which is called in each
// task's own process (a copy of all this), just before it becomes the user's program.
// None of them throws, fails or waits; what goes wrong is one line in slurmd's log.
class Recorder {
 public:
  // init_post_opt: the options are known, no task is there yet, and we are still root.
  void begin_step(spank_t spank, const Settings& settings, Mode mode) noexcept;
  // task_init, in the task.
  void begin_task(spank_t spank) noexcept;
  // task_post_fork: the task is there, and waits for slurmstepd to let it go on.
  void watch_task(spank_t spank) noexcept;
  // task_exit.
  void end_task(spank_t spank) noexcept;
  // exit.
  void end_step() noexcept;

 private:
  struct TaskGroup {
    pid_t pid = 0;
    int oom = 0;  // of the first group_count_ alone; no -1, so that all is zero
  };

  nvab_task_record make(nvab_task_kind kind, const Moment& when) const noexcept;
  void write(const char* hook, const nvab_task_record& record) noexcept;
  void share_task_offset() noexcept;
  void learn_task_offset(spank_t spank) noexcept;
  void set_task(spank_t spank, nvab_task_record* record) noexcept;
  void open_groups(pid_t pid) noexcept;
  void count_oom(pid_t pid, nvab_task_record* record) noexcept;

  bool active_ = false;
  bool complained_ = false;
  bool may_watch_ = false;
  Settings settings_;
  nvab_task_record identity_ = {};  // what all lines have in common
  Spool spool_;
  Watcher watcher_;
  int job_oom_ = -1;
  int step_oom_ = -1;
  size_t group_count_ = 0;
  std::array<TaskGroup, Watcher::kMaxTasks> groups_;
  uint32_t tasks_ended_ = 0;
  uint32_t* task_offset_ = nullptr;  // a page shared with the tasks; null: tasks count from 0
};

}  // namespace nvab
