// SPDX-License-Identifier: Apache-2.0
// What the kernel of the node tells about a task: control groups, streams, GPUs. Nothing here
// allocates, so that it may run in a task's process before it becomes the user's program.
// `root` is put before /proc and /sys.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

#include "common/wire/task_record.h"

namespace nvab {

// A moment by both clocks.
struct Moment {
  int64_t wall_us = 0;
  uint64_t mono_us = 0;
};

Moment now() noexcept;

// Reads the start of ROOT/PATH into `out`, with a final zero. Returns the length, or -1 (errno).
ssize_t read_file(const char* root, const char* path, char* out, size_t size) noexcept;

// The node's boot id, without its newline; "" where it cannot be read.
void read_boot_id(const char* root, char* out, size_t size) noexcept;

// The node's NVIDIA GPUs, sorted by minor number. Returns their number, at most `room`; 0 without
// the driver. A hung driver may make this wait: ask only for a step that was given GPUs.
size_t read_gpus(const char* root, nvab_gpu_device* out, size_t room) noexcept;

// Where a descriptor of the calling process leads. Asks no file server: what the kernel has
// cached since the file was opened is enough.
nvab_task_stream read_stream(int fd) noexcept;

// Lines "N:CONTROLLERS:PATH" of a /proc/PID/cgroup: the path with the controller (v1), or the
// unified one (v2) for "". False where there is none.
bool find_cgroup(const char* text, const char* controller, char* out, size_t size) noexcept;

// The path that names the job: that of the memory controller if it does, else the first that does.
bool find_job_cgroup(const char* text, uint32_t job_id, char* out, size_t size) noexcept;

// Length of the part of a cgroup path that ends with the component "job_ID", 0 where none is.
size_t job_part(const char* path, uint32_t job_id) noexcept;

}  // namespace nvab
