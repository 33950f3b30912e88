// SPDX-License-Identifier: Apache-2.0
// The queue as a folder on a local disk: small files that move between folders by rename, so that
// any number of runners may work on it, and any of them may be killed at any moment.
//
//   new/         TRIGGER.json, published by hooks; one with a modification time in the future waits
//                until then. Names that begin with a dot are being written
//   claimed/     RUNNER/TRIGGER.json, and RUNNER/lock, which the runner holds a lock on: where
//                nobody does, its owner is dead and the entries go back to new/
//   conflicted/  as new/: a client of the service holds the session of the job; tried again
//   done/        TRIGGER.json, and JOB.HASH.context: the done-marker of a context (contexts.hh)
//   dead/        what could not be attributed, and beside it TRIGGER.json.reason, a sentence
//   locks/       HASH, locked while a runner judges the context
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/file.hh"
#include "epilog/queue/entry.hh"

namespace nvab {

inline constexpr std::string_view kQueueFolders[] = {"new",  "claimed", "conflicted",
                                                     "done", "dead",    "locks"};

// One runner's hold on the queue; for one thread. Destroyed, it gives back what it still holds.
class QueueStore {
 public:
  // Makes the folders that are missing. Errors: permission, unavailable (full, read-only).
  static Result<std::unique_ptr<QueueStore>> open(const std::string& folder);
  ~QueueStore();
  QueueStore(const QueueStore&) = delete;
  QueueStore& operator=(const QueueStore&) = delete;

  // Gives back what dead runners held; how many entries that was.
  int recover();

  // Takes up to `limit` entries that are due, oldest name first. What cannot be one goes to dead/.
  // An empty list: nothing is due. Errors: the queue cannot be worked on at all.
  Result<std::vector<QueueEntry>> claim(std::size_t limit, Time now);
  // When the next entry is due, in the past where one is already; nothing where none waits.
  std::optional<Time> next_due(Time now) const;

  // Each ends a claim. Where even that fails (a full or read-only disk) the entry stays claimed, is
  // tried again after this runner's end, and the log says so once.
  void give_back(const QueueEntry& entry);  // as it was
  // With its history, to be tried from history.not_before on; `conflicted`: in that folder.
  void put_off(const QueueEntry& entry, bool conflicted);
  void finish(const QueueEntry& entry);
  void bury(const QueueEntry& entry, const std::string& reason);

  const std::string& folder() const { return folder_; }

 private:
  QueueStore(std::string folder, std::string runner, Fd lock)
      : folder_(std::move(folder)), runner_(std::move(runner)), lock_(std::move(lock)) {}
  std::string path(std::string_view state, std::string_view name = {}) const;
  std::string claimed(std::string_view name) const;
  int recover_runner(const std::string& runner);
  Result<void> claim_from(std::string_view state, std::size_t limit, Time now,
                          std::vector<QueueEntry>* entries);
  void take(std::string_view state, const std::string& name, std::vector<QueueEntry>* entries);
  void bury_file(const std::string& name, const std::string& reason);
  bool move(const std::string& name, std::string_view state);
  void complain(const std::string& what);

  std::string folder_, runner_;
  Fd lock_;
  bool has_complained_ = false;
};

// "x.json" -> "x"; nothing for other names.
std::optional<std::string> entry_id(std::string_view name);

// Removes files that were being written when their writer died, and what is in done/ since before
// `keep_since`. Returns how many files that was.
int tidy_queue(const std::string& folder, Time now, Time keep_since);

// Removes the regular files right in `folder` that nobody has written to since `keep_since`.
int prune_folder(const std::string& folder, Time keep_since,
                 const std::function<bool(std::string_view name)>& is_ours);

}  // namespace nvab
