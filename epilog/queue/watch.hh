// SPDX-License-Identifier: Apache-2.0
// Waiting for work: new files in the queue, the next entry that is due, or the end of the program.
#pragma once

#include "common/base/file.hh"
#include "common/base/result.hh"
#include "common/base/time.hh"

namespace nvab {

// SIGTERM and SIGINT, from construction on, ask to stop; for one object in the process.
class QueueWatch {
 public:
  // Without inotify (a limit of the machine) it only sleeps, and says so once. Errors: internal.
  static Result<QueueWatch> start(const std::string& queue);
  QueueWatch(QueueWatch&&) = default;
  QueueWatch& operator=(QueueWatch&&) = delete;

  static bool must_stop();
  // Until something is new, `pause` is over or the program is to stop; true: something is new.
  bool wait(Duration pause);

 private:
  QueueWatch(Fd notices, Fd signals) : notices_(std::move(notices)), signals_(std::move(signals)) {}
  Fd notices_, signals_;
};

}  // namespace nvab
