// SPDX-License-Identifier: Apache-2.0
// See journal.hh. Who comes while another one commits waits in a list; then the first of them
// commits for all.
#include "service/journal.hh"

#include <chrono>
#include <optional>
#include <utility>

namespace nvab {
namespace {

constexpr long long kVersion = 1;
// Waiting for the process before us to let go of the file: it may still be ending.
constexpr const char* kSetUp =
    "PRAGMA locking_mode = EXCLUSIVE;"
    "PRAGMA journal_size_limit = 67108864;"  // 64 MiB: one large body
    "PRAGMA temp_store = MEMORY;";
constexpr const char* kSchema =
    "CREATE TABLE session(number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE,"
    " token_digest TEXT NOT NULL, ruleset TEXT NOT NULL, rules_digest TEXT NOT NULL,"
    " workload TEXT NOT NULL, metadata TEXT NOT NULL, created_us INTEGER NOT NULL);"
    "CREATE TABLE observation(number INTEGER PRIMARY KEY,"
    " session INTEGER NOT NULL REFERENCES session(number) ON DELETE CASCADE,"
    " id TEXT NOT NULL, version INTEGER NOT NULL, encoding TEXT NOT NULL, body BLOB NOT NULL);"
    "CREATE INDEX observation_session ON observation(session);"
    "PRAGMA user_version = 1;";
// Pages given back at a time: some milliseconds.
constexpr const char* kTidy = "PRAGMA incremental_vacuum(2000)";

}  // namespace

struct Journal::Statements {
  Statement add_session, update_workload, add_observation, remove_session;
  Db& db;
};

struct Journal::Operation {
  const std::function<Result<void>(Statements&)>& run;
  Result<void> result;
  bool is_done = false;
};

Journal::Journal(Db db) : db_(std::move(db)) {}
Journal::~Journal() = default;

Result<std::unique_ptr<Journal>> Journal::open(const std::string& path, Durability durability) {
  auto db = Db::open(path, Db::Mode::create);
  if (!db) return fail("opening the journal", db.error());
  auto journal = std::unique_ptr<Journal>(new Journal(std::move(*db)));
  if (auto prepared = journal->prepare(durability); !prepared) {
    return fail("opening the journal", prepared.error());
  }
  return journal;
}

Result<void> Journal::prepare(Durability durability) {
  if (auto done = db_.execute(kSetUp); !done) return done;
  const bool is_full = durability == Durability::power;
  if (auto done =
          db_.execute(is_full ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL");
      !done) {
    return done;
  }
  const auto version = db_.user_version();
  if (!version) return tl::unexpected(version.error());
  if (*version > kVersion) {
    return fail(Error::Code::unsupported,
                db_.path() + " was written by a newer version; use that, or another file");
  }
  if (*version == 0) {
    // Must come before the first table.
    if (auto done = db_.execute("PRAGMA auto_vacuum = INCREMENTAL; VACUUM"); !done) return done;
    auto transaction = Transaction::begin(db_);
    if (!transaction) return tl::unexpected(transaction.error());
    if (auto done = db_.execute(kSchema); !done) return done;
    if (auto done = transaction->commit(); !done) return done;
  }
  auto add_session = db_.prepare(
      "INSERT INTO session(id, token_digest, ruleset, rules_digest, workload, metadata, created_us)"
      " VALUES(?, ?, ?, ?, ?, ?, ?)");
  auto update = db_.prepare("UPDATE session SET workload = ?2 WHERE id = ?1");
  auto add_observation = db_.prepare(
      "INSERT INTO observation(session, id, version, encoding, body)"
      " SELECT number, ?2, ?3, ?4, ?5 FROM session WHERE id = ?1");
  auto remove = db_.prepare("DELETE FROM session WHERE id = ?");
  for (const auto* statement : {&add_session, &update, &add_observation, &remove}) {
    if (!*statement) return tl::unexpected(statement->error());
  }
  statements_.reset(new Statements{std::move(*add_session), std::move(*update),
                                   std::move(*add_observation), std::move(*remove), db_});
  return {};
}

Result<void> Journal::write(const std::function<Result<void>(Statements&)>& run) {
  Operation operation{run, {}, false};
  std::unique_lock lock(mutex_);
  waiting_.push_back(&operation);
  while (!operation.is_done && is_writing_) written_.wait(lock);
  if (operation.is_done) return operation.result;
  is_writing_ = true;
  const std::vector<Operation*> batch = std::exchange(waiting_, {});
  lock.unlock();
  const auto begin = std::chrono::steady_clock::now();
  commit(batch);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  lock.lock();
  for (Operation* each : batch) each->is_done = true;
  is_writing_ = false;
  ++stats_.commits;
  stats_.operations += batch.size();
  stats_.seconds += took.count();
  lock.unlock();
  written_.notify_all();
  return operation.result;
}

void Journal::commit(const std::vector<Operation*>& batch) {
  const auto done = run_batch(batch);
  if (done) return;
  for (Operation* operation : batch) operation->result = tl::unexpected(done.error());
}

Result<void> Journal::run_batch(const std::vector<Operation*>& batch) {
  auto transaction = Transaction::begin(db_);
  if (!transaction) return tl::unexpected(transaction.error());
  for (Operation* operation : batch) {
    operation->result = operation->run(*statements_);
    if (operation->result) continue;
    // What the caller got wrong costs only itself; trouble with the file is everybody's.
    const Error::Code code = operation->result.error().code;
    if (code != Error::Code::not_found && code != Error::Code::conflict) return operation->result;
  }
  return transaction->commit();
}

Result<void> Journal::add_session(const JournalSession& session) {
  return write([&](Statements& s) {
    s.add_session.bind(1, session.id).bind(2, session.token_digest).bind(3, session.ruleset);
    s.add_session.bind(4, session.rules_digest).bind(5, session.workload).bind(6, session.metadata);
    s.add_session.bind(7, static_cast<long long>(session.created.time_since_epoch().count()));
    return s.add_session.run();
  });
}

Result<void> Journal::update_workload(const std::string& id, const std::string& workload) {
  return write([&](Statements& s) {
    s.update_workload.bind(1, id).bind(2, workload);
    return s.update_workload.run();
  });
}

Result<void> Journal::add_observation(const std::string& session,
                                      const JournalObservation& observation) {
  return write([&](Statements& s) -> Result<void> {
    s.add_observation.bind(1, session).bind(2, observation.id).bind(3, observation.version);
    s.add_observation.bind(4, observation.encoding).bind_blob(5, observation.body);
    if (auto done = s.add_observation.run(); !done) return done;
    if (s.db.changes() == 1) return {};
    return fail(Error::Code::not_found, "the session has been removed");
  });
}

Result<void> Journal::remove_session(const std::string& id) {
  return write([&](Statements& s) {
    s.remove_session.bind(1, id);
    return s.remove_session.run();
  });
}

Result<std::vector<JournalSession>> Journal::sessions() {
  auto statement = db_.prepare(
      "SELECT id, token_digest, ruleset, rules_digest, workload, metadata, created_us FROM session"
      " ORDER BY number");
  if (!statement) return tl::unexpected(statement.error());
  std::vector<JournalSession> all;
  for (;;) {
    const auto row = statement->step();
    if (!row) return tl::unexpected(row.error());
    if (!*row) return all;
    all.push_back({statement->text(0), statement->text(1), statement->text(2), statement->text(3),
                   statement->text(4), statement->text(5), Time(Duration(statement->integer(6)))});
  }
}

Result<void> Journal::each_observation(const std::string& session,
                                       const std::function<bool(JournalObservation&&)>& visit) {
  auto statement = db_.prepare(
      "SELECT o.id, o.version, o.encoding, o.body FROM observation o JOIN session s"
      " ON o.session = s.number WHERE s.id = ? ORDER BY o.number");
  if (!statement) return tl::unexpected(statement.error());
  statement->bind(1, session);
  for (;;) {
    const auto row = statement->step();
    if (!row) return tl::unexpected(row.error());
    if (!*row) return {};
    JournalObservation observation{statement->text(0), static_cast<int>(statement->integer(1)),
                                   statement->text(2), statement->blob(3)};
    if (!visit(std::move(observation))) return {};
  }
}

void Journal::tidy() {
  // An operation like others: nobody else may use the database meanwhile. Not inside a transaction,
  // so it waits for its turn by hand.
  std::unique_lock lock(mutex_);
  if (is_writing_) return;
  is_writing_ = true;
  lock.unlock();
  static_cast<void>(db_.execute(kTidy));
  lock.lock();
  is_writing_ = false;
  lock.unlock();
  written_.notify_all();
}

Journal::Stats Journal::stats() const {
  const std::lock_guard lock(mutex_);
  Stats stats = stats_;
  stats.waiting = waiting_.size();
  return stats;
}

}  // namespace nvab
