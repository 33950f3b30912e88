// SPDX-License-Identifier: Apache-2.0
// A datagram that never waits.
#include "common/wire/log_socket.h"

#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/wire/json_line.h"

int nvab_log_connect(const char* path) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  const size_t length = strlen(path);
  if (length >= sizeof address.sun_path) return -1;
  memcpy(address.sun_path, path, length);
  const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return -1;
  if (connect(fd, (const struct sockaddr*)&address, sizeof address) == 0) return fd;
  close(fd);
  return -1;
}

void nvab_log_send(int socket, int priority, const char* tag, const char* text, size_t len) {
  char digits[21];
  if (socket < 0) return;
  const size_t count = nvab_format_u64((uint64_t)priority, digits);
  struct iovec parts[] = {
      {.iov_base = "<", .iov_len = 1},  {.iov_base = digits, .iov_len = count},
      {.iov_base = ">", .iov_len = 1},  {.iov_base = (char*)tag, .iov_len = strlen(tag)},
      {.iov_base = ": ", .iov_len = 2}, {.iov_base = (char*)text, .iov_len = len},
  };
  const struct msghdr message = {.msg_iov = parts, .msg_iovlen = sizeof parts / sizeof parts[0]};
  sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}
