// SPDX-License-Identifier: Apache-2.0
// Takes the time at which each task of a step ends. Slurm's task_exit hook cannot: tasks are
// reaped one by one, in the order of their start, each after the accounting and the epilogs of the
// one before. One thread sleeps on a pidfd a task and notes when the kernel wakes it.
#pragma once

#include <pthread.h>
#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstddef>

#include "spank/node_facts.hh"

namespace nvab {

// watch, end_of and stop are called by slurmstepd's main thread alone; the watcher's own thread
// touches nothing of Slurm's, so it may run beside all of it.
class Watcher {
 public:
  // More tasks than the largest nodes have cores; those beyond have the hook's time.
  static constexpr size_t kMaxTasks = 1024;

  // Starts to watch a child; starts the thread with the first. False where that is not to be had
  // (no pidfd before Linux 5.3, no descriptors, no thread): nothing is lost but the exact time.
  bool watch(pid_t pid) noexcept;

  // When the process ended; false where the watcher has not seen it.
  bool end_of(pid_t pid, Moment* when) const noexcept;

  // Ends the thread, waits for it and closes all descriptors. Before the plugin is unloaded.
  void stop() noexcept;

 private:
  struct Slot {
    pid_t pid = 0;
    int fd = 0;  // of the first count_ slots alone; no -1, so that all is zero
    std::atomic<bool> ended{false};
    Moment when;
  };

  static void* run(void* self) noexcept;
  bool start() noexcept;
  void note_end(size_t index) noexcept;

  int epoll_ = -1;
  int wake_ = -1;
  bool running_ = false;
  bool failed_ = false;
  pthread_t thread_ = {};
  size_t count_ = 0;
  std::array<Slot, kMaxTasks> slots_;
};

}  // namespace nvab
