// SPDX-License-Identifier: Apache-2.0
// SQLite handles. A Db and its statements belong to one thread at a time; several processes may
// share the file. What the tables mean, and their versions, is the caller's.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/result.hh"
#include "common/base/time.hh"

struct sqlite3;
struct sqlite3_stmt;

namespace nvab {

// Another writer commits within milliseconds; one that takes longer than this is stuck.
inline constexpr Duration kDatabaseBusyTimeout = std::chrono::seconds(5);

// A prepared statement. Parameters and columns are called by number: parameters from 1, columns
// from 0, as in SQLite.
class Statement {
 public:
  Statement(Statement&&) noexcept = default;
  Statement& operator=(Statement&&) noexcept = default;

  // Text is bound as a copy; an empty optional is NULL. Trouble shows in the next step().
  Statement& bind(int parameter, std::string_view value);
  Statement& bind(int parameter, const char* value) {
    return bind(parameter, std::string_view(value));
  }
  Statement& bind(int parameter, long long value);
  Statement& bind(int parameter, int value) {
    return bind(parameter, static_cast<long long>(value));
  }
  Statement& bind(int parameter, double value);
  // Any bytes, as they are; the same copying.
  Statement& bind_blob(int parameter, std::string_view bytes);
  Statement& bind_null(int parameter);
  template <typename T>
  Statement& bind(int parameter, const std::optional<T>& value) {
    return value ? bind(parameter, *value) : bind_null(parameter);
  }

  // True: there is a row to look at. False: done, and the statement is ready to be bound and run
  // again (its parameters are NULL then). Errors: see Db.
  Result<bool> step();
  // Steps to the end, for statements that yield no rows.
  Result<void> run();

  // Of the current row; NULL reads as empty, 0, or nothing.
  std::string text(int column) const;
  std::string blob(int column) const;
  long long integer(int column) const;
  double real(int column) const;
  bool is_null(int column) const;
  std::optional<std::string> maybe_text(int column) const;
  std::optional<long long> maybe_integer(int column) const;
  std::optional<double> maybe_real(int column) const;

 private:
  friend class Db;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  explicit Statement(sqlite3_stmt* statement) : statement_(statement) {}
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  int bind_status_ = 0;
};

// An open database. Errors of all its functions are sentences that name the file: permission (it is
// read-only for us), unavailable (the disk is full, it cannot be read), timeout (somebody else
// holds the lock), conflict (a constraint: the row is there already), malformed (no database, or
// damaged), not_found, internal (our SQL is wrong).
class Db {
 public:
  enum class Mode { read_only, read_write, create };

  // Write-ahead log where the file system allows it; foreign keys on; nothing in the file is
  // trusted to call functions.
  static Result<Db> open(const std::string& path, Mode mode);

  Db(Db&&) noexcept = default;
  Db& operator=(Db&&) noexcept = default;

  Result<void> execute(const std::string& sql);  // one or several statements, without rows
  Result<Statement> prepare(std::string_view sql);
  // The number in the file's header that says which schema it has; 0 in a new file.
  Result<long long> user_version();
  long long last_row_id() const;
  int changes() const;  // rows that the last statement changed
  const std::string& path() const { return path_; }

 private:
  struct Close {
    void operator()(sqlite3* handle) const;
  };
  Db(sqlite3* handle, std::string path) : handle_(handle), path_(std::move(path)) {}
  std::unique_ptr<sqlite3, Close> handle_;
  std::string path_;
};

// All or nothing: rolled back unless committed. Takes the write lock at once, so that waiting for
// another writer happens here and not in the middle. One at a time; `db` must outlive it, and must
// not be moved meanwhile.
class Transaction {
 public:
  static Result<Transaction> begin(Db& db);
  Transaction(Transaction&& other) noexcept : db_(other.db_) { other.db_ = nullptr; }
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction();
  Result<void> commit();

 private:
  explicit Transaction(Db& db) : db_(&db) {}
  Db* db_;
};

}  // namespace nvab
