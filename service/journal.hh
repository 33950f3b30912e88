// SPDX-License-Identifier: Apache-2.0
// What sessions were told, on disk (SQLite, write-ahead log), so that a service that is killed
// knows it again. A function that returns success has committed; many callers share one commit.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "common/base/result.hh"
#include "common/base/sqlite.hh"
#include "common/base/time.hh"

namespace nvab {

struct JournalSession {
  std::string id, token_digest, ruleset, rules_digest;
  std::string workload, metadata;  // JSON
  Time created{};
};

struct JournalObservation {
  std::string id;
  int version = 2;       // of the body's format
  std::string encoding;  // of the body: "zstd", "gzip" or empty
  std::string body;
};

// For any thread.
class Journal {
 public:
  // process: survives the end of the process by any signal. power: also that of the machine, for a
  // sync of the disk a commit.
  enum class Durability { process, power };

  // Creates the file if it is not there. One process at a time. Errors: see Db; unsupported where a
  // newer version wrote it.
  static Result<std::unique_ptr<Journal>> open(const std::string& path, Durability durability);
  ~Journal();

  Result<void> add_session(const JournalSession& session);
  Result<void> update_workload(const std::string& id, const std::string& workload);
  // Error not_found: the session has been removed.
  Result<void> add_observation(const std::string& session, const JournalObservation& observation);
  Result<void> remove_session(const std::string& id);

  // All that is there, sessions in the order of their creation, observations in that of their
  // arrival. Before others use the journal. `visit` returns false to stop.
  Result<std::vector<JournalSession>> sessions();
  Result<void> each_observation(const std::string& session,
                                const std::function<bool(JournalObservation&&)>& visit);

  // Gives disk space back that removed sessions left, a little at a time.
  void tidy();

  struct Stats {
    std::uint64_t commits = 0, operations = 0, waiting = 0;
    double seconds = 0;
  };
  Stats stats() const;

 private:
  struct Statements;
  struct Operation;
  explicit Journal(Db db);
  Result<void> prepare(Durability durability);
  Result<void> write(const std::function<Result<void>(Statements&)>& run);
  void commit(const std::vector<Operation*>& batch);
  Result<void> run_batch(const std::vector<Operation*>& batch);

  Db db_;  // used by the one that writes
  std::unique_ptr<Statements> statements_;
  mutable std::mutex mutex_;
  std::condition_variable written_;
  std::vector<Operation*> waiting_;
  bool is_writing_ = false;
  Stats stats_;
};

}  // namespace nvab
