// SPDX-License-Identifier: Apache-2.0
// One line to the syslog daemon without syslog(3), which waits for a daemon that is stuck and
// shares its state with the host process. libc only, no allocation.
#ifndef NVAB_COMMON_WIRE_LOG_SOCKET_H
#define NVAB_COMMON_WIRE_LOG_SOCKET_H

// NOLINTBEGIN(modernize-deprecated-headers): this is C, too
#include <stddef.h>
// NOLINTEND(modernize-deprecated-headers)

#ifdef __cplusplus
extern "C" {
#endif

// Where daemons listen.
#define NVAB_LOG_SOCKET "/dev/log"

// Priorities: facility daemon with severity info, and with warning.
#define NVAB_LOG_INFO 30
#define NVAB_LOG_WARNING 28

// A connected, non-blocking, close-on-exec socket, or -1 where nobody listens. The caller closes.
int nvab_log_connect(const char* path);

// Sends "<PRIORITY>TAG: TEXT"; what the daemon cannot take at once is lost. Nothing happens for a
// socket of -1. No time stamp: the daemon knows better where its clock stands.
void nvab_log_send(int socket, int priority, const char* tag, const char* text, size_t len);

#ifdef __cplusplus
}
#endif

#endif
