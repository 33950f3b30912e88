// SPDX-License-Identifier: Apache-2.0
// Puts one file into a queue so that it is seen whole or not at all.
#ifndef NVAB_EPILOG_HANDOFF_PUBLISH_H
#define NVAB_EPILOG_HANDOFF_PUBLISH_H

#include <stdbool.h>
#include <stddef.h>

// What is left on the disk for others: a queue that nobody works off must not fill the node's disk.
#define NVAB_RESERVED_BYTES (16ULL * 1024 * 1024)
#define NVAB_RESERVED_FILES 1000ULL

// The step that failed, for the message; `error` is an errno.
struct nvab_publish_result {
  const char* doing;  // NULL: done
  int error;
};

// Writes QUEUE/new/NAME.json under a name that begins with a dot, and renames it. With `sync` it is
// on the disk before it is seen. QUEUE must be there; QUEUE/new is made if it is not.
struct nvab_publish_result nvab_publish(const char* queue, const char* name, const char* text,
                                        size_t len, bool sync);

// Removes what an interrupted nvab_publish has left. Safe in a signal handler.
void nvab_publish_abandon(void);

#endif
