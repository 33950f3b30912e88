// SPDX-License-Identifier: Apache-2.0
// Lines of the task record in, one TaskExit a task out: its start and end joined, its GPUs named.
// Pure.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "common/model/context.hh"
#include "common/model/observation.hh"

struct nvab_task_record;

namespace nvab {

// Tasks in one table: more than the largest jobs have (one a core).
inline constexpr std::size_t kMaxTasks = 1'000'000;

// Where descriptor 1 or 2 of a task led when it started.
struct TaskStream {
  enum class Kind { file, deleted, pipe, socket, device, other };
  std::string step, node;
  int task = 0;
  bool is_stderr = false;
  Kind kind = Kind::other;
  std::string path;  // of a file or device
  std::uint64_t dev = 0, ino = 0;
  std::string boot_id;  // of the node, so that `dev` means something; empty: not known
};

class TaskTable {
 public:
  // Only records of this job count; with an id that is no Slurm job id, all of them do. Records of
  // another attempt (over before the context started, or begun after it ended) are left out, and so
  // is what cannot be true of this job: another user, a node that it did not have, an end after its
  // own or before its start.
  explicit TaskTable(const ExecutionContext& context) : context_(context) {}

  // One line, with or without its line end. Empty lines are nothing.
  void add_line(std::string_view line);

  // In the order of step, node and task.
  std::vector<TaskExit> tasks() const;
  // Of the tasks that were seen to start, in no order.
  std::vector<TaskStream> streams() const;

  std::uint64_t lines() const { return lines_; }
  std::uint64_t malformed() const { return malformed_; }
  std::uint64_t other_jobs() const { return other_jobs_; }
  std::uint64_t impossible() const { return impossible_; }

 private:
  struct Device {
    int minor = 0;
    std::string pci, uuid;
  };
  // What one node said about one step.
  struct NodeStep {
    std::vector<Device> devices;
    std::vector<std::string> gpus;  // the node's GPUs that the step was given
    std::string boot_id;
  };
  using StepKey = std::tuple<std::string, std::string, int>;       // step, node, restart
  using TaskKey = std::tuple<std::string, std::string, int, int>;  // step, node, restart, task

  bool is_of_this_run(const nvab_task_record& record) const;
  bool is_ours(const nvab_task_record& record) const;
  bool is_possible(const nvab_task_record& record) const;
  void add(const nvab_task_record& record);
  void add_step(const nvab_task_record& record, const StepKey& key);
  void add_task(const nvab_task_record& record, TaskExit* task);
  void add_stream(const nvab_task_record& record, const StepKey& key, bool is_stderr);
  void name_gpus(const NodeStep& step, TaskExit* task) const;

  const ExecutionContext& context_;
  std::map<StepKey, NodeStep> steps_;
  std::map<TaskKey, TaskExit> tasks_;
  std::vector<std::pair<StepKey, TaskStream>> streams_;
  std::map<std::pair<std::string, int>, long long> oom_kills_;  // by node and restart
  std::uint64_t lines_ = 0, malformed_ = 0, other_jobs_ = 0, impossible_ = 0;
};

// Task-record lines that add_line turns into the same tasks again (task_exits.ndjson of a bundle).
std::string task_lines(const ExecutionContext& context, std::span<const TaskExit> tasks);

}  // namespace nvab
