// SPDX-License-Identifier: Apache-2.0
// The way back: tasks as lines of the task record, for saved bundles.
#include <map>
#include <memory>
#include <utility>

#include "common/base/text.hh"
#include "common/wire/task_record.h"
#include "epilog/log/task_table.hh"

namespace nvab {
namespace {

class LineWriter {
 public:
  explicit LineWriter(const ExecutionContext& context)
      : context_(context), record_(std::make_unique<nvab_task_record>()) {}

  void write_steps(std::span<const TaskExit> tasks);
  void write_start(const TaskExit& task);
  void write_end(const TaskExit& task);
  std::string take() { return std::move(out_); }

 private:
  void begin(nvab_task_kind kind, const TaskExit& task, Time time);
  void set(nvab_task_field field, const std::optional<int>& value) {
    if (value && *value >= 0) nvab_task_set(record_.get(), field, static_cast<unsigned>(*value));
  }
  void set_stream(nvab_task_field field, const std::string& path);
  void end();

  const ExecutionContext& context_;
  std::unique_ptr<nvab_task_record> record_;
  std::string out_;
};

void LineWriter::begin(nvab_task_kind kind, const TaskExit& task, Time time) {
  nvab_task_record* record = record_.get();
  nvab_task_begin(record, kind);
  nvab_task_set_text(record, nvab_task_cluster,
                     context_.cluster.empty() ? nullptr : context_.cluster.c_str());
  const std::size_t digits = context_.job_id.find_first_not_of("0123456789");
  const auto job = parse_int(std::string_view(context_.job_id).substr(0, digits));
  nvab_task_set(record, nvab_task_job_id, static_cast<std::uint64_t>(job.value_or(0)));
  std::uint32_t step_id = 0;
  if (nvab_step_number(task.step.c_str(), &step_id)) {
    nvab_task_set(record, nvab_task_step_id, step_id);
  }
  nvab_task_set_text(record, nvab_task_node, task.node.c_str());
  set(nvab_task_node_id, task.node_id);
  nvab_task_set(record, nvab_task_restart_count,
                static_cast<std::uint64_t>(task.restart_count.value_or(0)));
  if (task.uid) nvab_task_set(record, nvab_task_uid, static_cast<std::uint64_t>(*task.uid));
  nvab_task_set(record, nvab_task_time,
                static_cast<std::uint64_t>(time.time_since_epoch().count()));
}

void LineWriter::end() {
  const auto line = std::make_unique<char[]>(NVAB_TASK_LINE_MAX);
  out_.append(line.get(), nvab_task_format(record_.get(), line.get(), NVAB_TASK_LINE_MAX));
}

void LineWriter::set_stream(nvab_task_field field, const std::string& path) {
  if (path.empty() || path.size() >= NVAB_TASK_PATH_SIZE) return;
  const auto stream = std::make_unique<nvab_task_stream>();
  stream->type = nvab_stream_file;
  path.copy(stream->path, path.size());
  nvab_task_set_stream(record_.get(), field, stream.get());
}

// One line a node and step that says which GPU is where.
void LineWriter::write_steps(std::span<const TaskExit> tasks) {
  std::map<std::pair<std::string, std::string>, std::vector<const TaskExit*>> by_step;
  for (const TaskExit& task : tasks) {
    if (!task.gpu_pci.empty()) by_step[{task.step, task.node}].push_back(&task);
  }
  for (const auto& [key, members] : by_step) {
    begin(nvab_task_kind_step, *members.front(), members.front()->start.value_or(Time{}));
    std::map<std::string, std::string> pci_of;
    for (const TaskExit* task : members) {
      for (std::size_t i = 0; i < task->gpu_ids.size() && i < task->gpu_pci.size(); ++i) {
        pci_of.emplace(task->gpu_ids[i], task->gpu_pci[i]);
      }
    }
    std::uint32_t spare_minor = 0;
    for (const auto& [id, pci] : pci_of) {
      if (record_->gpu_device_count >= NVAB_TASK_DEVICES_MAX) break;
      nvab_gpu_device& device = record_->gpu_devices[record_->gpu_device_count++];
      const auto minor = parse_int(id);
      device.minor = minor ? static_cast<std::uint32_t>(*minor) : spare_minor++;
      pci.copy(device.pci, sizeof device.pci - 1);
      if (!minor) id.copy(device.uuid, sizeof device.uuid - 1);
    }
    nvab_task_mark(record_.get(), nvab_task_gpu_devices);
    end();
  }
}

void LineWriter::write_start(const TaskExit& task) {
  if (!task.start) return;
  begin(nvab_task_kind_task_start, task, *task.start);
  set(nvab_task_task_id, task.task);
  set(nvab_task_local_id, task.local_id);
  set(nvab_task_pid, task.pid);
  if (!task.gpu_ids.empty()) {
    nvab_task_set_text(record_.get(), nvab_task_cuda_visible_devices,
                       join(task.gpu_ids, ",").c_str());
  }
  set_stream(nvab_task_stdout, task.stdout_path);
  set_stream(nvab_task_stderr, task.stderr_path);
  end();
}

void LineWriter::write_end(const TaskExit& task) {
  if (!task.end) return;
  begin(nvab_task_kind_task_end, task, *task.end);
  set(nvab_task_task_id, task.task);
  set(nvab_task_local_id, task.local_id);
  set(nvab_task_pid, task.pid);
  set(nvab_task_exit_code, task.exit_code);
  set(nvab_task_signal, task.signal);
  if (task.core_dumped) nvab_task_set(record_.get(), nvab_task_core, 1);
  if (task.oom_kills) {
    for (std::uint64_t& count : record_->oom_kill) count = NVAB_OOM_UNKNOWN;
    record_->oom_kill[nvab_oom_job] = static_cast<std::uint64_t>(*task.oom_kills);
    nvab_task_mark(record_.get(), nvab_task_oom_kill);
  }
  end();
}

}  // namespace

std::string task_lines(const ExecutionContext& context, std::span<const TaskExit> tasks) {
  LineWriter writer(context);
  writer.write_steps(tasks);
  for (const TaskExit& task : tasks) {
    writer.write_start(task);
    writer.write_end(task);
  }
  return writer.take();
}

}  // namespace nvab
