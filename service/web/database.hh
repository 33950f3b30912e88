// SPDX-License-Identifier: Apache-2.0
// Read-only connections to the result database, one a request at a time: SQLite lets readers go on
// while nvab-run writes.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "common/base/sqlite.hh"

namespace nvab {

class Database {
 public:
  // A connection for one request; goes back at its end.
  class Lease {
   public:
    Lease(Database& home, std::unique_ptr<Db> db) : home_(&home), db_(std::move(db)) {}
    Lease(Lease&&) noexcept = default;
    Lease& operator=(Lease&&) = delete;
    ~Lease();
    Db& operator*() { return *db_; }
    Db* operator->() { return db_.get(); }

   private:
    Database* home_;
    std::unique_ptr<Db> db_;
  };

  explicit Database(std::string path) : path_(std::move(path)) {}

  // From any thread. Errors: those of Db::open, and unsupported for a schema that is not ours: a
  // reader cannot bring it forward.
  Result<Lease> lease();
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Db>> idle_;
};

}  // namespace nvab
