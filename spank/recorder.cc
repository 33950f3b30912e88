// SPDX-License-Identifier: Apache-2.0
// From SPANK items and the kernel's files to lines of the task record.
#include "spank/recorder.hh"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "spank/node_facts.hh"

namespace nvab {
namespace {

// Slurm's "no value" for an array's task id (NO_VAL), and INFINITE above it.
constexpr uint32_t kNoValue = 0xfffffffe;
// Slurm allows 128 components in a heterogeneous job.
constexpr unsigned kMaxComponents = 128;
// slurmstepd itself needs about 6 descriptors a task and some dozens for itself. We take 2 a task,
// and only where that is far from the limit: a task that cannot start for want of descriptors
// would be our fault.
constexpr rlim_t kDescriptorsPerTask = 16;
constexpr rlim_t kDescriptorsBeside = 128;

// The item, or `fallback` where Slurm does not say.
template <typename T>
T item(spank_t spank, spank_item_t which, T fallback) noexcept {
  T value = {};
  return spank_get_item(spank, which, &value) == ESPANK_SUCCESS ? value : fallback;
}

// Sets the field to the value of a variable of the job's environment, which is the user's to write.
void set_from_environment(spank_t spank, const char* name, nvab_task_field field,
                          nvab_task_record* record) noexcept {
  char value[NVAB_TASK_GPUS_SIZE];
  const spank_err_t got = spank_getenv(spank, name, value, sizeof value);
  if (got == ESPANK_SUCCESS) nvab_task_set_text(record, field, value);
  if (got == ESPANK_NOSPACE) nvab_task_leave_out(record, field);
}

bool number_from_environment(spank_t spank, const char* name, uint32_t* number) noexcept {
  char value[16];
  char* end = nullptr;
  if (spank_getenv(spank, name, value, sizeof value) != ESPANK_SUCCESS) return false;
  const unsigned long parsed = strtoul(value, &end, 10);
  if (end == value || *end != '\0' || parsed > UINT32_MAX) return false;
  *number = static_cast<uint32_t>(parsed);
  return true;
}

// slurmd leaves its node's name in its own environment, where no user can reach. The host's name
// is another thing (several slurmd on one host), but better than none.
void set_node(nvab_task_record* record) noexcept {
  char host[NVAB_TASK_NAME_SIZE] = {};
  const char* name = getenv("SLURMD_NODENAME");
  if (name == nullptr && gethostname(host, sizeof host - 1) == 0) {
    host[strcspn(host, ".")] = '\0';
    name = host;
  }
  nvab_task_set_text(record, nvab_task_node, name != nullptr ? name : "unknown");
}

void set_array(spank_t spank, nvab_task_record* record) noexcept {
  const auto task = item<uint32_t>(spank, S_JOB_ARRAY_TASK_ID, kNoValue);
  if (task >= kNoValue) return;
  nvab_task_set(record, nvab_task_array_task_id, task);
  nvab_task_set(record, nvab_task_array_job_id, item<uint32_t>(spank, S_JOB_ARRAY_ID, 0));
}

// No SPANK item tells. The variables are there under one of two names, depending on what started
// the step; they may also be stale ones of another job, which then do not name this one.
void set_het(spank_t spank, nvab_task_record* record) noexcept {
  uint32_t size = 0;
  if (!number_from_environment(spank, "SLURM_HET_SIZE", &size)) return;
  for (const char* group : {"HET", "PACK"}) {
    uint32_t first = 0, id = 0;
    char name[48];
    for (unsigned i = 0; i < size && i < kMaxComponents; i++) {
      snprintf(name, sizeof name, "SLURM_JOB_ID_%s_GROUP_%u", group, i);
      if (!number_from_environment(spank, name, &id)) break;
      if (i == 0) first = id;
      if (id != record->job_id) continue;
      nvab_task_set(record, nvab_task_het_job_id, first);
      nvab_task_set(record, nvab_task_het_offset, i);
      return;
    }
  }
}

void fill_identity(spank_t spank, nvab_task_record* record) noexcept {
  nvab_task_begin(record, nvab_task_kind_step);
  nvab_task_set(record, nvab_task_job_id, item<uint32_t>(spank, S_JOB_ID, 0));
  nvab_task_set(record, nvab_task_step_id, item<uint32_t>(spank, S_JOB_STEPID, 0));
  nvab_task_set(record, nvab_task_restart_count, item<uint32_t>(spank, S_SLURM_RESTART_COUNT, 0));
  nvab_task_set(record, nvab_task_node_id, item<uint32_t>(spank, S_JOB_NODEID, 0));
  nvab_task_set(record, nvab_task_uid, item<uid_t>(spank, S_JOB_UID, 0));
  set_from_environment(spank, "SLURM_CLUSTER_NAME", nvab_task_cluster, record);
  set_node(record);
  set_array(spank, record);
  set_het(spank, record);
}

// A count of 0 is Slurm's way to say nothing, as in batch steps.
void set_count(spank_t spank, spank_item_t which, nvab_task_field field,
               nvab_task_record* record) noexcept {
  const auto count = item<uint32_t>(spank, which, 0);
  if (count > 0) nvab_task_set(record, field, count);
}

void set_gpus(spank_t spank, nvab_task_record* record) noexcept {
  set_from_environment(spank, "SLURM_JOB_GPUS", nvab_task_job_gpus, record);
  set_from_environment(spank, "SLURM_STEP_GPUS", nvab_task_step_gpus, record);
}

void fill_step(spank_t spank, const Settings& settings, Mode mode,
               nvab_task_record* record) noexcept {
  char boot_id[NVAB_TASK_WORD_SIZE];
  read_boot_id(settings.root, boot_id, sizeof boot_id);
  nvab_task_set_text(record, nvab_task_boot_id, boot_id[0] != '\0' ? boot_id : nullptr);
  nvab_task_set_text(record, nvab_task_slurm_version, item<char*>(spank, S_SLURM_VERSION, nullptr));
  nvab_task_set_text(record, nvab_task_mode, mode_word(mode));
  set_count(spank, S_JOB_NNODES, nvab_task_nodes, record);
  set_count(spank, S_JOB_TOTAL_TASK_COUNT, nvab_task_tasks, record);
  set_count(spank, S_JOB_LOCAL_TASK_COUNT, nvab_task_local_tasks, record);
  set_gpus(spank, record);
  // Others have no business with the driver, which may hang when a GPU does.
  if (!nvab_task_has(record, nvab_task_job_gpus) && !nvab_task_has(record, nvab_task_step_gpus)) {
    return;
  }
  record->gpu_device_count = read_gpus(settings.root, record->gpu_devices, NVAB_TASK_DEVICES_MAX);
  if (record->gpu_device_count > 0) nvab_task_mark(record, nvab_task_gpu_devices);
}

void set_place(uint32_t job_id, const char* root, nvab_task_record* record) noexcept {
  char text[4096], group[NVAB_TASK_GPUS_SIZE];
  if (read_file(root, "/proc/self/cgroup", text, sizeof text) > 0 &&
      find_job_cgroup(text, job_id, group, sizeof group)) {
    nvab_task_set_text(record, nvab_task_cgroup, group);
  }
  // What does not fit comes out cut, at full length, and is left out for that.
  const ssize_t length = readlink("/proc/self/cwd", text, sizeof text - 1);
  if (length <= 0) return;
  text[length] = '\0';
  nvab_task_set_text(record, nvab_task_cwd, text);
}

void set_status(int status, nvab_task_record* record) noexcept {
  if (WIFSIGNALED(status)) {
    nvab_task_set(record, nvab_task_signal, static_cast<unsigned>(WTERMSIG(status)));
    nvab_task_set(record, nvab_task_core, WCOREDUMP(status) ? 1 : 0);
  } else {
    nvab_task_set(record, nvab_task_exit_code, static_cast<unsigned>(WEXITSTATUS(status)));
  }
}

bool has_descriptors_for(uint32_t tasks) noexcept {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return false;
  return tasks * kDescriptorsPerTask + kDescriptorsBeside <= limit.rlim_cur;
}

}  // namespace

nvab_task_record Recorder::make(nvab_task_kind kind, const Moment& when) const noexcept {
  nvab_task_record record = identity_;
  record.kind = kind;
  nvab_task_set(&record, nvab_task_time, static_cast<uint64_t>(when.wall_us));
  nvab_task_set(&record, nvab_task_mono_us, when.mono_us);
  return record;
}

// One complaint a step: a full disk must not fill the log as well.
void Recorder::write(const char* hook, const nvab_task_record& record) noexcept {
  const int wrong = spool_.write(record);
  if (wrong == 0 || complained_) return;
  complained_ = true;
  slurm_info("attribution: %s: writing a task record to the spool %s: %s", hook, settings_.spool,
             strerror(wrong));
}

void Recorder::begin_step(spank_t spank, const Settings& settings, Mode mode) noexcept {
  settings_ = settings;
  fill_identity(spank, &identity_);
  // The extern step holds what others start in the job's name: it has no tasks that could end.
  if (identity_.step_id == NVAB_STEP_EXTERN || identity_.job_id == 0) return;
  nvab_task_record record = make(nvab_task_kind_step, now());
  const int wrong = spool_.open(settings, record);
  if (wrong != 0) {
    slurm_info("attribution: init_post_opt: opening a file in the spool %s: %s; no task record",
               settings.spool, strerror(wrong));
    complained_ = true;
  }
  active_ = true;
  if (nvab_task_has(&identity_, nvab_task_het_job_id)) share_task_offset();
  fill_step(spank, settings, mode, &record);
  may_watch_ = has_descriptors_for(record.local_tasks);
  write("init_post_opt", record);
}

// In a step over several components of a heterogeneous job, Slurm's items count the tasks of each
// component from 0. Only the task's own process is told its number in the step; by this page it
// tells slurmstepd. The user's program does not have it: exec drops it.
void Recorder::share_task_offset() noexcept {
  void* page =
      mmap(nullptr, sizeof(uint32_t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page != MAP_FAILED) task_offset_ = static_cast<uint32_t*>(page);
}

void Recorder::set_task(spank_t spank, nvab_task_record* record) noexcept {
  const auto global = item<uint32_t>(spank, S_TASK_GLOBAL_ID, 0);
  const uint32_t offset = task_offset_ != nullptr ? *task_offset_ : 0;
  const int local = item<int>(spank, S_TASK_ID, -1);
  nvab_task_set(record, nvab_task_task_id, global + offset);
  if (local >= 0) nvab_task_set(record, nvab_task_local_id, static_cast<uint32_t>(local));
}

void Recorder::learn_task_offset(spank_t spank) noexcept {
  const auto global = item<uint32_t>(spank, S_TASK_GLOBAL_ID, 0);
  uint32_t number = 0;
  if (task_offset_ == nullptr || !number_from_environment(spank, "SLURM_PROCID", &number)) return;
  if (number >= global) *task_offset_ = number - global;
}

void Recorder::begin_task(spank_t spank) noexcept {
  if (!active_) return;
  nvab_task_record record = make(nvab_task_kind_task_start, now());
  learn_task_offset(spank);
  set_task(spank, &record);
  nvab_task_set(&record, nvab_task_pid, static_cast<uint32_t>(getpid()));
  set_gpus(spank, &record);
  set_from_environment(spank, "CUDA_VISIBLE_DEVICES", nvab_task_cuda_visible_devices, &record);
  set_place(record.job_id, settings_.root, &record);
  const nvab_task_stream out = read_stream(STDOUT_FILENO), err = read_stream(STDERR_FILENO);
  nvab_task_set_stream(&record, nvab_task_stdout, &out);
  nvab_task_set_stream(&record, nvab_task_stderr, &err);
  write("task_init", record);
}

void Recorder::open_groups(pid_t pid) noexcept {
  OomFiles files = open_oom(settings_.root, pid, identity_.job_id);
  if (job_oom_ < 0) std::swap(job_oom_, files.fds[nvab_oom_job]);
  if (step_oom_ < 0) std::swap(step_oom_, files.fds[nvab_oom_step]);
  if (group_count_ < groups_.size() && files.fds[nvab_oom_task] >= 0) {
    groups_[group_count_++] = {pid, files.fds[nvab_oom_task]};
    files.fds[nvab_oom_task] = -1;
  }
  for (int& fd : files.fds) close_oom(&fd);
}

void Recorder::watch_task(spank_t spank) noexcept {
  const auto pid = item<pid_t>(spank, S_TASK_PID, 0);
  if (!active_ || !may_watch_ || pid <= 0) return;
  watcher_.watch(pid);
  open_groups(pid);
}

void Recorder::count_oom(pid_t pid, nvab_task_record* record) noexcept {
  record->oom_kill[nvab_oom_job] = read_oom(job_oom_);
  record->oom_kill[nvab_oom_step] = read_oom(step_oom_);
  record->oom_kill[nvab_oom_task] = NVAB_OOM_UNKNOWN;
  for (size_t i = 0; i < group_count_; i++) {
    if (groups_[i].pid != pid) continue;
    record->oom_kill[nvab_oom_task] = read_oom(groups_[i].oom);
    close_oom(&groups_[i].oom);
  }
  for (const uint64_t count : record->oom_kill) {
    if (count != NVAB_OOM_UNKNOWN) nvab_task_mark(record, nvab_task_oom_kill);
  }
}

void Recorder::end_task(spank_t spank) noexcept {
  if (!active_) return;
  const auto pid = item<pid_t>(spank, S_TASK_PID, 0);
  Moment when = now();
  const bool exact = watcher_.end_of(pid, &when);
  nvab_task_record record = make(nvab_task_kind_task_end, when);
  set_task(spank, &record);
  if (pid > 0) nvab_task_set(&record, nvab_task_pid, static_cast<uint32_t>(pid));
  set_status(item<int>(spank, S_TASK_EXIT_STATUS, 0), &record);
  nvab_task_set_text(&record, nvab_task_time_source, exact ? "pidfd" : "hook");
  count_oom(pid, &record);
  tasks_ended_++;
  write("task_exit", record);
}

void Recorder::end_step() noexcept {
  watcher_.stop();
  if (active_) {
    nvab_task_record record = make(nvab_task_kind_step_end, now());
    count_oom(0, &record);
    nvab_task_set(&record, nvab_task_tasks_ended, tasks_ended_);
    nvab_task_set(&record, nvab_task_lines_lost, spool_.lost());
    write("exit", record);
  }
  active_ = false;
  spool_.close();
  close_oom(&job_oom_);
  close_oom(&step_oom_);
  for (size_t i = 0; i < group_count_; i++) close_oom(&groups_[i].oom);
  group_count_ = 0;
  if (task_offset_ != nullptr) munmap(task_offset_, sizeof(uint32_t));
  task_offset_ = nullptr;
}

}  // namespace nvab
