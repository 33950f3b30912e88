// SPDX-License-Identifier: Apache-2.0
// A queue entry in the runner's hands: what the hook wrote (epilog/handoff/entry.h), and in the
// member `queue` what has become of it so far, which hooks never write.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/base/json.hh"
#include "common/base/result.hh"
#include "common/base/time.hh"

namespace nvab {

// Twice what a hook writes (NVAB_ENTRY_MAX): the runner adds to it. A larger file is garbage.
inline constexpr std::size_t kMaxEntryBytes = 128 * 1024;

// The member `queue`.
struct EntryHistory {
  int tries = 0;                   // that came to nothing
  std::string reason;              // of the last one, a sentence
  std::optional<Time> not_before;  // of the next one
  std::optional<Time> requeued;    // by a person: judge again what was judged before this
  // Outputs that took the result in an earlier try.
  std::vector<std::string> delivered;
};

struct QueueEntry {
  std::string id;  // the file's name without .json: the trigger id
  Json json;
  EntryHistory history;
};

// Errors: malformed, a sentence about the entry.
Result<QueueEntry> parse_entry(const std::string& id, const std::string& text);
// One line with its line end.
std::string format_entry(const QueueEntry& entry);

}  // namespace nvab
