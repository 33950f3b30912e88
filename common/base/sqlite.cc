// SPDX-License-Identifier: Apache-2.0
// The only user of sqlite3.h.
#include "common/base/sqlite.hh"

#include <sqlite3.h>

#include "common/base/text.hh"

namespace nvab {
namespace {

struct Meaning {
  Error::Code code;
  const char* text;
};

Meaning meaning_of(int status) {
  switch (status & 0xFF) {
    case SQLITE_READONLY:
      return {Error::Code::permission,
              "it or its folder is read-only for us; check the owner and the mount"};
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return {Error::Code::permission, "access is denied"};
    case SQLITE_FULL:
      return {Error::Code::unavailable, "the disk is full; free some space and try again"};
    case SQLITE_IOERR:
      return {Error::Code::unavailable, "the disk cannot be read or written"};
    case SQLITE_NOMEM:
      return {Error::Code::unavailable, "out of memory"};
    case SQLITE_TOOBIG:
      return {Error::Code::unavailable, "a value is too large"};
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return {Error::Code::timeout, "another process keeps it locked"};
    case SQLITE_CORRUPT:
      return {Error::Code::malformed, "it is damaged; restore a copy or move it away"};
    case SQLITE_NOTADB:
      return {Error::Code::malformed, "it is no SQLite database"};
    case SQLITE_CANTOPEN:
      return {Error::Code::not_found,
              "it cannot be opened; check that its folder exists and is ours"};
    case SQLITE_CONSTRAINT:
      return {Error::Code::conflict, "a rule of the table forbids it"};
    default:
      return {Error::Code::internal, "the statement is wrong"};
  }
}

// SQLite's own words follow ours, for what ours do not say ("disk I/O error", the column's name).
tl::unexpected<Error> failure(const std::string& path, int status, sqlite3* handle) {
  const Meaning meaning = meaning_of(status);
  const char* words = handle != nullptr ? sqlite3_errmsg(handle) : sqlite3_errstr(status);
  return fail(meaning.code, "using the database " + path + ": " + meaning.text +
                                " (SQLite: " + excerpt(sanitize(words), 200) + ")");
}

std::string path_of(sqlite3* handle) {
  const char* name = sqlite3_db_filename(handle, "main");
  return name != nullptr && *name != '\0' ? name : ":memory:";
}

int flags_of(Db::Mode mode) {
  switch (mode) {
    case Db::Mode::read_only:
      return SQLITE_OPEN_READONLY;
    case Db::Mode::read_write:
      return SQLITE_OPEN_READWRITE;
    case Db::Mode::create:
      return SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  }
  return SQLITE_OPEN_READONLY;
}

}  // namespace

void Statement::Finalize::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

Statement& Statement::bind(int parameter, std::string_view value) {
  // A null pointer would be NULL, and an empty text is none.
  const char* data = value.data() != nullptr ? value.data() : "";
  const int status = sqlite3_bind_text64(statement_.get(), parameter, data, value.size(),
                                         SQLITE_TRANSIENT, SQLITE_UTF8);
  if (bind_status_ == SQLITE_OK) bind_status_ = status;
  return *this;
}

Statement& Statement::bind(int parameter, long long value) {
  const int status = sqlite3_bind_int64(statement_.get(), parameter, value);
  if (bind_status_ == SQLITE_OK) bind_status_ = status;
  return *this;
}

Statement& Statement::bind(int parameter, double value) {
  const int status = sqlite3_bind_double(statement_.get(), parameter, value);
  if (bind_status_ == SQLITE_OK) bind_status_ = status;
  return *this;
}

Statement& Statement::bind_blob(int parameter, std::string_view bytes) {
  const char* data = bytes.data() != nullptr ? bytes.data() : "";
  const int status =
      sqlite3_bind_blob64(statement_.get(), parameter, data, bytes.size(), SQLITE_TRANSIENT);
  if (bind_status_ == SQLITE_OK) bind_status_ = status;
  return *this;
}

Statement& Statement::bind_null(int parameter) {
  const int status = sqlite3_bind_null(statement_.get(), parameter);
  if (bind_status_ == SQLITE_OK) bind_status_ = status;
  return *this;
}

Result<bool> Statement::step() {
  sqlite3* handle = sqlite3_db_handle(statement_.get());
  int status = bind_status_;
  if (status == SQLITE_OK) status = sqlite3_step(statement_.get());
  if (status == SQLITE_ROW) return true;
  std::optional<tl::unexpected<Error>> trouble;
  // Before the reset, which repeats the status but may change the words.
  if (status != SQLITE_DONE) trouble = failure(path_of(handle), status, handle);
  sqlite3_reset(statement_.get());
  sqlite3_clear_bindings(statement_.get());
  bind_status_ = SQLITE_OK;
  if (trouble) return *trouble;
  return false;
}

Result<void> Statement::run() {
  for (;;) {
    const auto row = step();
    if (!row) return tl::unexpected(row.error());
    if (!*row) return {};
  }
}

std::string Statement::text(int column) const { return maybe_text(column).value_or(""); }

std::string Statement::blob(int column) const {
  const void* bytes = sqlite3_column_blob(statement_.get(), column);
  if (bytes == nullptr) return {};
  return std::string(static_cast<const char*>(bytes),
                     static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column)));
}

long long Statement::integer(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

double Statement::real(int column) const { return sqlite3_column_double(statement_.get(), column); }

bool Statement::is_null(int column) const {
  return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL;
}

std::optional<std::string> Statement::maybe_text(int column) const {
  // The text first: asking for it may convert the value, and then its size counts.
  const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_.get(), column));
  if (bytes == nullptr) return std::nullopt;
  return std::string(bytes,
                     static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column)));
}

std::optional<long long> Statement::maybe_integer(int column) const {
  return is_null(column) ? std::nullopt : std::optional(integer(column));
}

std::optional<double> Statement::maybe_real(int column) const {
  return is_null(column) ? std::nullopt : std::optional(real(column));
}

// Statements outlive a Db at worst until their own end; v2 waits for them.
void Db::Close::operator()(sqlite3* handle) const { sqlite3_close_v2(handle); }

Result<Db> Db::open(const std::string& path, Mode mode) {
  sqlite3* handle = nullptr;
  const int status = sqlite3_open_v2(
      path.c_str(), &handle, flags_of(mode) | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, nullptr);
  Db db(handle, path);
  if (status != SQLITE_OK) return failure(path, status, handle);
  sqlite3_busy_timeout(handle, static_cast<int>(kDatabaseBusyTimeout.count() / 1000));
  sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  if (auto set = db.execute("PRAGMA foreign_keys = ON; PRAGMA cell_size_check = ON"); !set) {
    return tl::unexpected(std::move(set.error()));
  }
  // The first look into the file: here it shows whether it is a database at all.
  if (auto version = db.user_version(); !version) return tl::unexpected(version.error());
  if (mode == Mode::read_only) return db;
  // SQLite opens a write-protected file for reading without a word.
  if (sqlite3_db_readonly(handle, "main") == 1) return failure(path, SQLITE_READONLY, nullptr);
  // Where the file system cannot (no shared memory), SQLite stays with its rollback journal.
  if (auto set = db.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL"); !set) {
    return tl::unexpected(std::move(set.error()));
  }
  return db;
}

Result<void> Db::execute(const std::string& sql) {
  const int status = sqlite3_exec(handle_.get(), sql.c_str(), nullptr, nullptr, nullptr);
  if (status != SQLITE_OK) return failure(path_, status, handle_.get());
  return {};
}

Result<Statement> Db::prepare(std::string_view sql) {
  sqlite3_stmt* statement = nullptr;
  const int status = sqlite3_prepare_v2(handle_.get(), sql.data(), static_cast<int>(sql.size()),
                                        &statement, nullptr);
  if (status != SQLITE_OK) return failure(path_, status, handle_.get());
  if (statement == nullptr) return fail(Error::Code::internal, "preparing an empty statement");
  return Statement(statement);
}

Result<long long> Db::user_version() {
  auto statement = prepare("PRAGMA user_version");
  if (!statement) return tl::unexpected(std::move(statement.error()));
  const auto row = statement->step();
  if (!row) return tl::unexpected(row.error());
  return statement->integer(0);
}

long long Db::last_row_id() const { return sqlite3_last_insert_rowid(handle_.get()); }
int Db::changes() const { return sqlite3_changes(handle_.get()); }

Result<Transaction> Transaction::begin(Db& db) {
  if (auto begun = db.execute("BEGIN IMMEDIATE"); !begun) {
    return tl::unexpected(std::move(begun.error()));
  }
  return Transaction(db);
}

Result<void> Transaction::commit() {
  auto done = db_->execute("COMMIT");
  // A commit that failed (a full disk, a lock) leaves the transaction open: the destructor ends it.
  if (done) db_ = nullptr;
  return done;
}

Transaction::~Transaction() {
  // Some errors have rolled back already; then this one fails, and that is fine.
  if (db_ != nullptr) static_cast<void>(db_->execute("ROLLBACK"));
}

}  // namespace nvab
