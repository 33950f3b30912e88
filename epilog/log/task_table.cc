// SPDX-License-Identifier: Apache-2.0
// See task_table.hh; the format of the lines is common/wire/task_record.h.
#include "epilog/log/task_table.hh"

#include <algorithm>
#include <memory>
#include <optional>

#include "common/base/text.hh"
#include "common/wire/task_record.h"
#include "epilog/eca/job_ids.hh"

namespace nvab {
namespace {

// Clocks of node and scheduler differ by less where anything works at all.
constexpr Duration kClockSlack = std::chrono::minutes(5);
// Of a run that by its number is another one, which may follow within seconds. Accounting that has
// lost a job's first runs counts the others from 0, so that the number alone proves nothing.
constexpr Duration kOtherRunSlack = std::chrono::seconds(1);

// `time` jumps where the node's clock is set between the two; more than that did not happen.
constexpr Duration kClockStep = std::chrono::seconds(10);

Time time_of(const nvab_task_record& record) { return Time(Duration(record.wall_us)); }

std::vector<std::string> ids_of(const char* list) {
  std::vector<std::string> ids;
  for (const std::string_view id : split(list, ',')) {
    if (!trim(id).empty()) ids.emplace_back(trim(id));
  }
  return ids;
}

std::optional<int> number(const nvab_task_record& record, nvab_task_field field,
                          std::uint32_t value) {
  if (!nvab_task_has(&record, field)) return std::nullopt;
  return static_cast<int>(value);
}

// CUDA_VISIBLE_DEVICES as numbers of the node. Where devices are constrained, its numbers count
// from 0 among the GPUs that the step was given; where they are not, they are the node's own.
std::vector<std::string> absolute_gpus(const std::vector<std::string>& visible,
                                       const std::vector<std::string>& given) {
  if (visible.empty()) return given;
  std::vector<std::string> absolute;
  for (const std::string& id : visible) {
    const auto index = parse_int(id);
    const bool is_relative =
        index && *index >= 0 && static_cast<std::size_t>(*index) < given.size();
    if (!is_relative) return visible;
    absolute.push_back(given[static_cast<std::size_t>(*index)]);
  }
  return absolute;
}

}  // namespace

bool TaskTable::is_of_this_run(const nvab_task_record& record) const {
  const bool is_other = nvab_task_has(&record, nvab_task_restart_count) &&
                        static_cast<int>(record.restart_count) != context_.attempt;
  const Duration slack = is_other ? kOtherRunSlack : kClockSlack;
  const Time time = time_of(record);
  const bool is_start = record.kind == nvab_task_kind_task_start;
  const bool is_end = record.kind == nvab_task_kind_task_end;
  const bool is_early = context_.start_time && time < *context_.start_time - slack;
  const bool is_late = context_.end_time && time > *context_.end_time + slack;
  return !(is_early && (is_end || is_other)) && !(is_late && (is_start || is_other));
}

bool TaskTable::is_ours(const nvab_task_record& record) const {
  if (!is_of_this_run(record)) return false;
  const auto wanted = parse_job_id(context_.job_id);
  if (!wanted) return true;
  std::uint32_t step = 0;
  const bool is_one_step = !wanted->step.empty() && nvab_step_number(wanted->step.c_str(), &step);
  if (is_one_step && step != record.step_id) return false;
  if (wanted->array_task && nvab_task_has(&record, nvab_task_array_task_id)) {
    return record.array_job_id == wanted->job && record.array_task_id == *wanted->array_task;
  }
  const bool is_het = nvab_task_has(&record, nvab_task_het_job_id);
  if (wanted->het_offset && is_het) {
    return record.het_job_id == wanted->job && record.het_offset == *wanted->het_offset;
  }
  return record.job_id == wanted->job || (is_het && record.het_job_id == wanted->job);
}

// For a record that names this job. Its node is not looked at: early in its life an accounting row
// names the batch node alone, and what is blamed on a node outside the job the engine leaves out.
bool TaskTable::is_possible(const nvab_task_record& record) const {
  const bool other_user = nvab_task_has(&record, nvab_task_uid) && context_.uid &&
                          *context_.uid != static_cast<long long>(record.uid);
  const bool too_late = record.kind == nvab_task_kind_task_end && context_.end_time &&
                        time_of(record) > *context_.end_time + kClockSlack;
  const bool too_early = record.kind == nvab_task_kind_task_start && context_.start_time &&
                         time_of(record) < *context_.start_time - kClockSlack;
  return !other_user && !too_late && !too_early;
}

void TaskTable::add_line(std::string_view line) {
  if (trim(line).empty()) return;
  ++lines_;
  // 15 KB: better not on the stack.
  const auto record = std::make_unique<nvab_task_record>();
  if (nvab_task_parse(line.data(), line.size(), record.get(), nullptr) != nvab_task_ok) {
    ++malformed_;
  } else if (!is_ours(*record)) {
    ++other_jobs_;
  } else if (!is_possible(*record)) {
    ++impossible_;
  } else {
    add(*record);
  }
}

void TaskTable::add(const nvab_task_record& record) {
  char step_text[NVAB_STEP_TEXT_SIZE];
  const std::string step = nvab_step_text(record.step_id, step_text);
  const int restart = static_cast<int>(record.restart_count);
  if (nvab_task_has(&record, nvab_task_oom_kill)) {
    for (const std::uint64_t count : record.oom_kill) {
      if (count == NVAB_OOM_UNKNOWN) continue;
      // The widest group that is there: job, else step, else task.
      long long& most = oom_kills_[{record.node, restart}];
      most = std::max(most, static_cast<long long>(std::min<std::uint64_t>(count, INT32_MAX)));
      break;
    }
  }
  if (record.kind == nvab_task_kind_step) {
    add_step(record, {step, record.node, restart});
  } else if (record.kind == nvab_task_kind_task_start || record.kind == nvab_task_kind_task_end) {
    const TaskKey key{step, record.node, restart, static_cast<int>(record.task_id)};
    if (tasks_.size() >= kMaxTasks && tasks_.find(key) == tasks_.end()) return;
    TaskExit& task = tasks_[key];
    task.step = step;
    task.node = record.node;
    task.restart_count = restart;
    task.task = static_cast<int>(record.task_id);
    add_task(record, &task);
    if (record.kind == nvab_task_kind_task_start) {
      add_stream(record, {step, record.node, restart}, false);
      add_stream(record, {step, record.node, restart}, true);
    }
  }
}

void TaskTable::add_stream(const nvab_task_record& record, const StepKey& key, bool is_stderr) {
  const nvab_task_field field = is_stderr ? nvab_task_stderr : nvab_task_stdout;
  if (!nvab_task_has(&record, field) || streams_.size() >= 2 * kMaxTasks) return;
  const nvab_task_stream& to = is_stderr ? record.stderr_to : record.stdout_to;
  TaskStream stream;
  stream.step = std::get<0>(key);
  stream.node = std::get<1>(key);
  stream.task = static_cast<int>(record.task_id);
  stream.is_stderr = is_stderr;
  stream.kind = static_cast<TaskStream::Kind>(to.type);  // in the same order
  stream.path = to.path;
  stream.dev = to.dev;
  stream.ino = to.ino;
  streams_.emplace_back(key, std::move(stream));
}

std::vector<TaskStream> TaskTable::streams() const {
  std::vector<TaskStream> all;
  all.reserve(streams_.size());
  for (const auto& [key, known] : streams_) {
    TaskStream stream = known;
    const auto step = steps_.find(key);
    if (step != steps_.end()) stream.boot_id = step->second.boot_id;
    all.push_back(std::move(stream));
  }
  return all;
}

void TaskTable::add_step(const nvab_task_record& record, const StepKey& key) {
  NodeStep& step = steps_[key];
  step.boot_id = record.boot_id;
  step.devices.clear();
  for (std::size_t i = 0; i < record.gpu_device_count; ++i) {
    const nvab_gpu_device& device = record.gpu_devices[i];
    step.devices.push_back({static_cast<int>(device.minor), device.pci, device.uuid});
  }
  step.gpus = ids_of(record.step_gpus[0] != '\0' ? record.step_gpus : record.job_gpus);
}

void TaskTable::add_task(const nvab_task_record& record, TaskExit* task) {
  const auto take = [](std::optional<int>* into, std::optional<int> value) {
    if (value) *into = value;
  };
  take(&task->local_id, number(record, nvab_task_local_id, record.local_id));
  take(&task->node_id, number(record, nvab_task_node_id, record.node_id));
  take(&task->pid, number(record, nvab_task_pid, record.pid));
  if (nvab_task_has(&record, nvab_task_uid)) task->uid = record.uid;
  if (record.kind == nvab_task_kind_task_start) {
    task->start = time_of(record);
    task->stdout_path = record.stdout_to.path;
    task->stderr_path = record.stderr_to.path;
    const auto given = ids_of(record.step_gpus[0] != '\0' ? record.step_gpus : record.job_gpus);
    task->gpu_ids = absolute_gpus(ids_of(record.cuda_visible_devices), given);
    return;
  }
  task->end = time_of(record);
  take(&task->exit_code, number(record, nvab_task_exit_code, record.exit_code));
  take(&task->signal, number(record, nvab_task_signal, record.signal));
  task->core_dumped = nvab_task_has(&record, nvab_task_core) && record.core;
}

void TaskTable::name_gpus(const NodeStep& step, TaskExit* task) const {
  if (task->gpu_ids.empty()) task->gpu_ids = step.gpus;
  for (const std::string& id : task->gpu_ids) {
    const auto minor = parse_int(id);
    for (const Device& device : step.devices) {
      const bool is_it = minor ? *minor == device.minor : id == device.uuid;
      if (is_it && !device.pci.empty()) task->gpu_pci.push_back(device.pci);
    }
  }
}

std::vector<TaskExit> TaskTable::tasks() const {
  std::vector<TaskExit> all;
  all.reserve(tasks_.size());
  for (const auto& [key, known] : tasks_) {
    TaskExit task = known;
    if (task.start && task.end && *task.end < *task.start - kClockStep) task.end.reset();
    const auto step = steps_.find({task.step, task.node, *task.restart_count});
    if (step != steps_.end()) name_gpus(step->second, &task);
    const auto kills = oom_kills_.find({task.node, *task.restart_count});
    if (kills != oom_kills_.end()) task.oom_kills = kills->second;
    all.push_back(std::move(task));
  }
  return all;
}

}  // namespace nvab
