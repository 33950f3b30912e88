// SPDX-License-Identifier: Apache-2.0
// The file is a plain one, the socket never blocks: neither can hold up slurmstepd.
#include "spank/spool.hh"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>

#include "common/wire/log_socket.h"

namespace nvab {
namespace {

// Readable by the directory's group, which the setgid bit of the spool hands down.
constexpr mode_t kFileMode = 0640;

void close_fd(int* fd) noexcept {
  if (*fd >= 0) ::close(*fd);
  *fd = -1;
}

void send_line(int socket, const nvab_task_record& record) noexcept {
  char line[NVAB_TASK_LINE_MAX];
  const size_t length = nvab_task_format(&record, line, sizeof line);
  if (length > 1) nvab_log_send(socket, NVAB_LOG_INFO, "nvab-task", line, length - 1);
}

}  // namespace

int Spool::open(const Settings& settings, const nvab_task_record& record) noexcept {
  char name[NVAB_TASK_FILE_NAME_SIZE], path[PATH_MAX];
  nvab_task_file_name(&record, name);
  const int length = snprintf(path, sizeof path, "%s/%s", settings.spool, name);
  if (length < 0 || static_cast<size_t>(length) >= sizeof path) return ENAMETOOLONG;
  if (settings.syslog != nullptr) socket_ = nvab_log_connect(settings.syslog);
  // The name is a new one: whatever lies there is not ours.
  file_ = ::open(path, O_WRONLY | O_APPEND | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, kFileMode);
  return file_ < 0 ? errno : 0;
}

int Spool::write(const nvab_task_record& record) noexcept {
  if (socket_ >= 0) send_line(socket_, record);
  const int wrong = nvab_task_write(file_, &record);
  if (wrong != 0) lost_++;
  return wrong;
}

void Spool::close() noexcept {
  close_fd(&file_);
  close_fd(&socket_);
}

}  // namespace nvab
