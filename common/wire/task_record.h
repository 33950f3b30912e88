// SPDX-License-Identifier: Apache-2.0
// The task record: who ran where on which GPU, and how and when each task ended. The SPANK plugin
// writes it, everybody reads it. libc only, no allocation: it runs inside slurmstepd.
//
// A file holds what one node saw of one step, as NDJSON (one JSON object a line, UTF-8). Files lie
// in a spool directory on a local disk and are called as nvab_task_file_name says. The file
// task_exits.ndjson of an evidence bundle holds the same lines, of any number of steps and nodes.
//
// Four kinds of line, in the order of their life:
//
//   step        once, when the step starts on the node
//   task_start  once a task, by the task itself just before it becomes the user's program
//   task_end    once a task, when it has ended
//   step_end    once, when the step's last task is gone
//
// Any of them may be missing: a node that dies writes no end, a full disk cuts a line in the
// middle. Lines of different tasks come in any order. Every line names its job, step, node and run,
// so that it means the same when it travels alone (through syslog, say).
//
// On every line:
//
//   v              1, the version of this format
//   kind           "step", "task_start", "task_end", "step_end"
//   cluster        Slurm's ClusterName, where the environment of the job tells it
//   job_id         raw job id; each array task and each het component has its own
//   array_job_id   SLURM_ARRAY_JOB_ID, only where the job is a task of an array
//   array_task_id  its index there
//   het_job_id     id of the heterogeneous job's first component, only where the job is one
//   het_offset     this component's place in it, from 0
//   step_id        "batch", "extern", "interactive" or the number of an srun step, always a string
//   node           Slurm's name of the node
//   node_id        the node's place in the step, from 0
//   restart_count  how often Slurm says the job was requeued before this run. Slurm 22.05 says 0 in
//                  every run: what tells runs of a job apart is `time`
//   uid            user id of the job
//   time           when it happened, RFC 3339 in UTC with microseconds
//   mono_us        the same moment by CLOCK_MONOTONIC in microseconds: unlike `time` it never
//                  jumps, and it is the clock of the kernel log's "[12345.678901]"
//   cut            names of fields left out because their value was too long, not UTF-8, or held
//                  control characters; absent where there are none
//
// step:
//
//   boot_id        /proc/sys/kernel/random/boot_id of the node: mono_us counts within it
//   slurm_version  of the slurmstepd that ran the plugin
//   mode           what --attribution or the site's default asked for: "on" or "auto"
//   nodes, tasks   of the whole step; absent for a batch step, where Slurm does not say
//   local_tasks    tasks of the step on this node
//   gpu_devices    the node's NVIDIA GPUs, from /proc/driver/nvidia: a list of
//                  {"minor": 3, "pci": "0000:61:00.0", "uuid": "GPU-..."}; absent without a driver
//   job_gpus, step_gpus   as for task_start
//
// task_start:
//
//   task_id        SLURM_PROCID, the task's number in the step: the MPI rank of most programs.
//   Where
//                  a step spans components of a heterogeneous job it counts through all of them
//   local_id       the task's place on this node, from 0 (SLURM_LOCALID)
//   pid            of the task's first process
//   job_gpus       SLURM_JOB_GPUS: the node's GPUs (minor numbers) that the job was given
//   step_gpus      SLURM_STEP_GPUS: those that the step was given
//   cuda_visible_devices  CUDA_VISIBLE_DEVICES as the task sees it. Where devices are constrained,
//                  numbers in it count from 0 among those given; it may also hold UUIDs
//   cgroup         the task's control group, without the mount point, as /proc/self/cgroup has it
//   cwd            the directory it starts in
//   stdout, stderr where descriptors 1 and 2 lead: {"type": "file", "path": "/...", "dev": 66306,
//                  "ino": 12}. Types: file, deleted (a file without a name), pipe, socket, device,
//                  other. `path` is there for file and device; dev and ino are those of stat(2)
//                  and say whether a file found later at that path is still the same one
//
// task_end: task_id, local_id and pid again, and
//
//   exit_code      0 to 255, where the task ended by exit
//   signal         where a signal ended it: its number. Then there is no exit_code
//   core           true where it left a core dump; only beside signal
//   time_source    what took `time`: "pidfd" (a watcher that the kernel woke at the end itself) or
//                  "hook" (Slurm's task_exit callback, which runs late, task by task)
//   oom_kill       processes killed by the kernel for want of memory so far, by control group:
//                  {"job": 1, "step": 1, "task": 0}. A member is absent where the group is not
//                  there; in cgroup v1 a kill counts only in the group of the killed process
//
// step_end:
//
//   tasks_ended    how many task_end lines this node wrote for the step
//   lines_lost     how many lines could not be written (a full disk), as far as slurmstepd knows
//   oom_kill       as above, without "task"
//
// A reader must ignore names that it does not know; a new meaning of an old name is a new version.
#ifndef NVAB_COMMON_WIRE_TASK_RECORD_H
#define NVAB_COMMON_WIRE_TASK_RECORD_H

// NOLINTBEGIN(modernize-deprecated-headers): this is C, too
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
// NOLINTEND(modernize-deprecated-headers)

#ifdef __cplusplus
extern "C" {
#endif

#define NVAB_TASK_RECORD_VERSION 1

// Longest line with its '\n'. A usual one has 400 to 900 bytes; this is what all texts at their
// limits need, each character of them escaped.
#define NVAB_TASK_LINE_MAX 32768

// Room for texts, with the final zero. Paths are Linux's PATH_MAX.
#define NVAB_TASK_NAME_SIZE 256
#define NVAB_TASK_WORD_SIZE 64
#define NVAB_TASK_GPUS_SIZE 1024
#define NVAB_TASK_PATH_SIZE 4096

// The largest servers of today have 16 GPUs.
#define NVAB_TASK_DEVICES_MAX 32

// Slurm's numbers of the steps that have a name.
#define NVAB_STEP_BATCH 4294967291u
#define NVAB_STEP_EXTERN 4294967292u
#define NVAB_STEP_INTERACTIVE 4294967290u

// Room for what nvab_step_text writes and for a spool file's name.
#define NVAB_STEP_TEXT_SIZE 16
#define NVAB_TASK_FILE_NAME_SIZE 320

enum nvab_task_kind {
  nvab_task_kind_step,
  nvab_task_kind_task_start,
  nvab_task_kind_task_end,
  nvab_task_kind_step_end,
};

// In the order in which they stand on a line.
enum nvab_task_field {
  nvab_task_cluster,
  nvab_task_job_id,
  nvab_task_array_job_id,
  nvab_task_array_task_id,
  nvab_task_het_job_id,
  nvab_task_het_offset,
  nvab_task_step_id,
  nvab_task_node,
  nvab_task_node_id,
  nvab_task_restart_count,
  nvab_task_uid,
  nvab_task_time,
  nvab_task_mono_us,
  nvab_task_boot_id,
  nvab_task_slurm_version,
  nvab_task_mode,
  nvab_task_nodes,
  nvab_task_tasks,
  nvab_task_local_tasks,
  nvab_task_task_id,
  nvab_task_local_id,
  nvab_task_pid,
  nvab_task_exit_code,
  nvab_task_signal,
  nvab_task_core,
  nvab_task_time_source,
  nvab_task_oom_kill,
  nvab_task_tasks_ended,
  nvab_task_lines_lost,
  nvab_task_job_gpus,
  nvab_task_step_gpus,
  nvab_task_cuda_visible_devices,
  nvab_task_gpu_devices,
  nvab_task_cgroup,
  nvab_task_cwd,
  nvab_task_stdout,
  nvab_task_stderr,
  nvab_task_cut,
  nvab_task_field_count,
};

enum nvab_stream_type {
  nvab_stream_file,
  nvab_stream_deleted,
  nvab_stream_pipe,
  nvab_stream_socket,
  nvab_stream_device,
  nvab_stream_other,
};

struct nvab_task_stream {
  enum nvab_stream_type type;
  uint64_t dev;
  uint64_t ino;
  char path[NVAB_TASK_PATH_SIZE];  // empty: not known
};

struct nvab_gpu_device {
  uint32_t minor;
  char pci[NVAB_TASK_WORD_SIZE];   // empty: not known
  char uuid[NVAB_TASK_WORD_SIZE];  // empty: not known
};

// Control groups whose kills are counted, and the number for one that is not there.
enum { nvab_oom_job, nvab_oom_step, nvab_oom_task, nvab_oom_group_count };
#define NVAB_OOM_UNKNOWN UINT64_MAX

// One line. A member counts only where nvab_task_has says so. 15 KB, without pointers: may be
// copied; better not on a small stack.
struct nvab_task_record {
  enum nvab_task_kind kind;
  uint64_t present;  // bit n: field n is there
  uint64_t cut;      // bit n: field n was left out by the writer
  uint32_t job_id, array_job_id, array_task_id, het_job_id, het_offset;
  uint32_t step_id;  // Slurm's number, NVAB_STEP_BATCH and so on
  uint32_t node_id, restart_count, uid;
  uint32_t nodes, tasks, local_tasks;
  uint32_t task_id, local_id, pid;
  uint32_t exit_code, signal;
  uint32_t tasks_ended, lines_lost;
  bool core;
  int64_t wall_us;  // field `time`: microseconds since 1970
  uint64_t mono_us;
  uint64_t oom_kill[nvab_oom_group_count];
  size_t gpu_device_count;
  struct nvab_gpu_device gpu_devices[NVAB_TASK_DEVICES_MAX];
  char cluster[NVAB_TASK_WORD_SIZE];
  char node[NVAB_TASK_NAME_SIZE];
  char boot_id[NVAB_TASK_WORD_SIZE];
  char slurm_version[NVAB_TASK_WORD_SIZE];
  char mode[NVAB_TASK_WORD_SIZE];
  char time_source[NVAB_TASK_WORD_SIZE];
  char job_gpus[NVAB_TASK_NAME_SIZE];
  char step_gpus[NVAB_TASK_NAME_SIZE];
  char cuda_visible_devices[NVAB_TASK_GPUS_SIZE];
  char cgroup[NVAB_TASK_GPUS_SIZE];
  char cwd[NVAB_TASK_GPUS_SIZE];
  struct nvab_task_stream stdout_to;
  struct nvab_task_stream stderr_to;
};

// True where the field is on the line.
bool nvab_task_has(const struct nvab_task_record* record, enum nvab_task_field field);

// The name of a field, as on the line.
const char* nvab_task_field_name(enum nvab_task_field field);

// The word of a kind, as on the line.
const char* nvab_task_kind_name(enum nvab_task_kind kind);

// "batch", "extern", "interactive" or the number. Returns out.
const char* nvab_step_text(uint32_t step_id, char out[NVAB_STEP_TEXT_SIZE]);

// The number of such a text; false where it is none.
bool nvab_step_number(const char* text, uint32_t* step_id);

// ---- writing ------------------------------------------------------------------------------------

// Makes the record empty but for its kind.
void nvab_task_begin(struct nvab_task_record* record, enum nvab_task_kind kind);

// Sets a field that holds a number, a truth value (0 or 1) or a time. False, and nothing changed,
// where the field is of another type or cannot hold the value.
bool nvab_task_set(struct nvab_task_record* record, enum nvab_task_field field, uint64_t value);

// Sets a text. False where it is not fit for a line: then the field is named in `cut` instead.
// NULL and "" are no failure: NULL leaves the field out, "" is a text.
bool nvab_task_set_text(struct nvab_task_record* record, enum nvab_task_field field,
                        const char* text);

// Sets nvab_task_stdout or nvab_task_stderr; a path unfit for a line is left out and named in
// `cut`.
bool nvab_task_set_stream(struct nvab_task_record* record, enum nvab_task_field field,
                          const struct nvab_task_stream* stream);

// Names a field in `cut` instead of setting it.
void nvab_task_leave_out(struct nvab_task_record* record, enum nvab_task_field field);

// Marks `gpu_devices` or `oom_kill`, which the caller has filled in place, as there.
void nvab_task_mark(struct nvab_task_record* record, enum nvab_task_field field);

// Forms the line with its '\n'. Returns its length, or 0 where it does not fit (never, with
// NVAB_TASK_LINE_MAX bytes). Fields that do not belong to the record's kind are left out.
size_t nvab_task_format(const struct nvab_task_record* record, char* out, size_t size);

// Forms the line and appends it to `fd` (opened with O_APPEND) by one write(2). Returns 0 or an
// errno. After a write that was cut short (ENOSPC), what stands there is ended by a '\n' if it can.
int nvab_task_write(int fd, const struct nvab_task_record* record);

// The name of the record's file in the spool: JOB.STEP.NODE.RESTART.ndjson, as
// 1234.batch.n1.0.ndjson. A node name that is not a plain one ([A-Za-z0-9._-]) has its other bytes
// replaced by '_'. Returns its length.
size_t nvab_task_file_name(const struct nvab_task_record* record,
                           char out[NVAB_TASK_FILE_NAME_SIZE]);

// ---- reading ------------------------------------------------------------------------------------

enum nvab_task_status {
  nvab_task_ok,
  nvab_task_malformed,      // not a task record: broken JSON, a missing or misplaced field
  nvab_task_too_long,       // longer than NVAB_TASK_LINE_MAX, not looked at
  nvab_task_wrong_version,  // of a version that this reader does not know
};

struct nvab_task_error {
  enum nvab_task_status status;
  size_t offset;      // in bytes from the start of the line
  char message[200];  // a sentence; plain ASCII
};

// Reads one line, with or without its '\n'. The text is hostile: all of it is checked, nothing is
// believed. Returns nvab_task_ok with *record filled, else another status, with *record undefined
// and *error (may be NULL) filled.
enum nvab_task_status nvab_task_parse(const char* line, size_t len, struct nvab_task_record* record,
                                      struct nvab_task_error* error);

#ifdef __cplusplus
}
#endif

#endif
