// SPDX-License-Identifier: Apache-2.0
// Where the records of one step go: a file of its own in the spool and, if wanted, syslog.
#pragma once

#include <cstdint>

#include "common/wire/task_record.h"
#include "spank/settings.hh"

namespace nvab {

class Spool {
 public:
  // Makes the file named after the record of the step's start, and opens the socket, if settings
  // name one. Both stay open over the step's life: with a private /tmp or a container the paths may
  // be out of sight later, and the tasks' own processes inherit them until they become the user's
  // program. Returns 0 or the errno of the file; the socket's failure costs nothing but its lines.
  int open(const Settings& settings, const nvab_task_record& record) noexcept;

  // Appends the record. Returns 0 or an errno; then it is counted as lost. Never waits for a
  // reader. Safe in a task's process: lines of different processes do not mix.
  int write(const nvab_task_record& record) noexcept;

  uint32_t lost() const noexcept { return lost_; }

  void close() noexcept;

 private:
  int file_ = -1;
  int socket_ = -1;
  uint32_t lost_ = 0;
};

}  // namespace nvab
