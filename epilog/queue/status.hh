// SPDX-License-Identifier: Apache-2.0
// What people ask of the queue: how it is (--queue-status), and to try something again
// (--requeue). Both only look and rename; they may run beside any number of runners.
#pragma once

#include <string>
#include <vector>

#include "common/base/json.hh"
#include "common/base/result.hh"
#include "common/base/time.hh"

namespace nvab {

// Dead entries that are shown one by one; the rest is counted.
inline constexpr std::size_t kMaxShownEntries = 100;

struct QueueStatus {
  std::string folder;
  std::size_t waiting = 0;    // new/, due
  std::size_t put_off = 0;    // new/, to be tried later
  std::size_t claimed = 0;    // in the hands of runners that live
  std::size_t abandoned = 0;  // of runners that died: taken up by the next round of any
  std::size_t conflicted = 0, done = 0, contexts = 0, dead = 0;
  std::size_t runners = 0;                 // that live
  std::optional<Duration> oldest_waiting;  // since it was handed over or is due
  struct Entry {
    std::string id, reason;
    int tries = 0;
  };
  std::vector<Entry> dead_entries, put_off_entries;  // at most kMaxShownEntries each
};

// Errors: not_found (no queue there), permission.
Result<QueueStatus> queue_status(const std::string& folder, Time now);
std::string status_to_text(const QueueStatus& status);
Json status_to_json(const QueueStatus& status);

// Puts entries back to be tried at once, with a clean history, also where their context is done
// already. `what`: a trigger id, or a job's id for all its dead, put-off and conflicted entries,
// or, where it has none, one of its done ones; "all" for everything that is dead. Returns how many.
Result<int> requeue(const std::string& folder, const std::string& what, Time now);

}  // namespace nvab
