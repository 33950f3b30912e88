// SPDX-License-Identifier: Apache-2.0
// memory.events (v2) and memory.oom_control (v1) both hold a line "oom_kill N".
#include "spank/oom.hh"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "spank/node_facts.hh"

namespace nvab {
namespace {

constexpr size_t kPathSize = 1024;

// Where the memory groups are mounted and what their counter is called.
struct Hierarchy {
  const char* mount;
  const char* file;
};

int open_counter(const char* root, const Hierarchy& where, const char* group, size_t length) {
  char path[kPathSize * 2];
  const int used = snprintf(path, sizeof path, "%s%s%.*s/%s", root, where.mount,
                            static_cast<int>(length), group, where.file);
  if (used < 0 || static_cast<size_t>(used) >= sizeof path) return -1;
  return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

}  // namespace

OomFiles open_oom(const char* root, pid_t pid, uint32_t job_id) noexcept {
  OomFiles files;
  char name[48], text[4096], group[kPathSize];
  Hierarchy where = {"/sys/fs/cgroup/memory", "memory.oom_control"};
  snprintf(name, sizeof name, "/proc/%d/cgroup", static_cast<int>(pid));
  if (read_file(root, name, text, sizeof text) < 0) return files;
  if (!find_cgroup(text, "memory", group, sizeof group)) {
    if (!find_cgroup(text, "", group, sizeof group)) return files;
    where = {"/sys/fs/cgroup", "memory.events"};
  }
  const size_t job = job_part(group, job_id);
  const size_t whole = strlen(group);
  if (job == 0) return files;
  files.fds[nvab_oom_job] = open_counter(root, where, group, job);
  if (job == whole) return files;
  const size_t step = job + 1 + strcspn(group + job + 1, "/");
  files.fds[nvab_oom_step] = open_counter(root, where, group, step);
  if (step != whole) files.fds[nvab_oom_task] = open_counter(root, where, group, whole);
  return files;
}

uint64_t read_oom(int fd) noexcept {
  char text[512];
  if (fd < 0) return NVAB_OOM_UNKNOWN;
  const ssize_t length = pread(fd, text, sizeof text - 1, 0);
  if (length <= 0) return NVAB_OOM_UNKNOWN;
  text[length] = '\0';
  const char* found = strstr(text, "oom_kill ");
  if (found == nullptr || (found != text && found[-1] != '\n')) return NVAB_OOM_UNKNOWN;
  return strtoull(found + strlen("oom_kill "), nullptr, 10);
}

void close_oom(int* fd) noexcept {
  if (*fd >= 0) close(*fd);
  *fd = -1;
}

}  // namespace nvab
