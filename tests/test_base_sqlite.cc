// SPDX-License-Identifier: Apache-2.0
// SQLite: values, transactions, two users at once, and the troubles as sentences.
#include "common/base/sqlite.hh"

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>

#include "common/base/file.hh"
#include "tests/cmocka.hh"

using namespace nvab;

static std::string folder;

static int make_folder(void**) {
  char name[] = "/tmp/nvab_test_sqlite.XXXXXX";
  if (mkdtemp(name) == nullptr) return -1;
  folder = name;
  return 0;
}

static int remove_folder(void**) { return std::system(("rm -rf " + folder).c_str()); }

static Db must_open(const std::string& path, Db::Mode mode = Db::Mode::create) {
  auto db = Db::open(path, mode);
  if (!db) fail_msg("%s", db.error().message.c_str());
  return std::move(*db);
}

static void must(const Result<void>& result) {
  if (!result) fail_msg("%s", result.error().message.c_str());
}

static long long count_rows(Db& db) {
  auto statement = db.prepare("SELECT count(*) FROM t");
  if (!statement || !statement->step()) return -1;
  return statement->integer(0);
}

static void bytes_come_back_as_they_went_in(void**) {
  Db db = must_open(folder + "/bytes.db");
  must(db.execute("CREATE TABLE t (a BLOB)"));
  const std::string bytes("\0\xFF\x80 a\0", 6);
  must(db.prepare("INSERT INTO t VALUES (?)")->bind_blob(1, bytes).run());
  must(db.prepare("INSERT INTO t VALUES (?)")->bind_blob(1, "").run());
  auto select = db.prepare("SELECT a, typeof(a) FROM t ORDER BY rowid");
  assert_true(*select->step());
  assert_true(select->blob(0) == bytes);
  assert_string_equal(select->text(1).c_str(), "blob");
  assert_true(*select->step());
  assert_true(select->blob(0).empty());
  assert_string_equal(select->text(1).c_str(), "blob");
}

static void values_come_back_as_they_went_in(void**) {
  Db db = must_open(folder + "/values.db");
  must(db.execute("CREATE TABLE t (a TEXT, b INTEGER, c REAL, d TEXT)"));
  auto insert = db.prepare("INSERT INTO t VALUES (?, ?, ?, ?)");
  const std::string text("a\0b'\"; DROP TABLE t", 19);
  must(insert->bind(1, text).bind(2, 9223372036854775807LL).bind(3, 0.1).bind_null(4).run());
  must(insert->bind(1, "x")
           .bind(2, 7)
           .bind(3, std::optional<double>())
           .bind(4, std::optional<std::string>("y"))
           .run());
  assert_int_equal(db.last_row_id(), 2);
  assert_int_equal(db.changes(), 1);
  auto select = db.prepare("SELECT a, b, c, d FROM t ORDER BY rowid");
  assert_true(*select->step());
  assert_true(select->text(0) == text);
  assert_int_equal(select->integer(1), 9223372036854775807LL);
  assert_true(select->real(2) == 0.1);
  assert_true(select->is_null(3));
  assert_false(select->maybe_text(3).has_value());
  assert_true(*select->step());
  assert_false(select->maybe_real(2).has_value());
  assert_int_equal(*select->maybe_integer(1), 7);
  assert_string_equal(select->maybe_text(3)->c_str(), "y");
  assert_false(*select->step());
  assert_true(*select->step());  // again from the start
}

static void parameters_do_not_leak_into_the_next_run(void**) {
  Db db = must_open(folder + "/leak.db");
  must(db.execute("CREATE TABLE t (a TEXT)"));
  auto insert = db.prepare("INSERT INTO t VALUES (?)");
  must(insert->bind(1, "secret").run());
  must(insert->run());
  auto select = db.prepare("SELECT count(*) FROM t WHERE a IS NULL");
  assert_true(*select->step());
  assert_int_equal(select->integer(0), 1);
  assert_false(insert->bind(2, "no such parameter").run().has_value());
  must(insert->bind(1, "fine again").run());
}

static void a_transaction_is_all_or_nothing(void**) {
  Db db = must_open(folder + "/transaction.db");
  must(db.execute("CREATE TABLE t (a)"));
  {
    auto transaction = Transaction::begin(db);
    assert_true(transaction.has_value());
    must(db.execute("INSERT INTO t VALUES (1)"));
  }
  assert_int_equal(count_rows(db), 0);
  {
    auto transaction = Transaction::begin(db);
    must(db.execute("INSERT INTO t VALUES (1)"));
    Transaction moved = std::move(*transaction);
    must(moved.commit());
  }
  assert_int_equal(count_rows(db), 1);
}

static void readers_are_not_kept_waiting_by_a_writer(void**) {
  const std::string path = folder + "/wal.db";
  Db writer = must_open(path);
  must(writer.execute("CREATE TABLE t (a)"));
  Db reader = must_open(path, Db::Mode::read_only);
  auto transaction = Transaction::begin(writer);
  must(writer.execute("INSERT INTO t VALUES (1)"));
  assert_int_equal(count_rows(reader), 0);
  must(transaction->commit());
  assert_int_equal(count_rows(reader), 1);
}

static void a_lock_that_is_held_too_long_is_told(void**) {
  const std::string path = folder + "/locked.db";
  Db one = must_open(path);
  must(one.execute("CREATE TABLE t (a)"));
  Db other = must_open(path);
  must(other.execute("PRAGMA busy_timeout = 50"));
  auto holder = Transaction::begin(one);
  const auto refused = Transaction::begin(other);
  assert_false(refused.has_value());
  assert_true(refused.error().code == Error::Code::timeout);
  assert_non_null(std::strstr(refused.error().message.c_str(), "keeps it locked"));
  assert_non_null(std::strstr(refused.error().message.c_str(), path.c_str()));
  must(holder->commit());
  assert_true(Transaction::begin(other).has_value());
}

static void a_constraint_is_a_conflict(void**) {
  Db db = must_open(folder + "/unique.db");
  must(db.execute("CREATE TABLE t (a UNIQUE)"));
  auto insert = db.prepare("INSERT INTO t VALUES (?)");
  must(insert->bind(1, "x").run());
  const auto twice = insert->bind(1, "x").run();
  assert_false(twice.has_value());
  assert_true(twice.error().code == Error::Code::conflict);
  must(insert->bind(1, "y").run());
}

static void a_read_only_database_refuses_writing_with_a_sentence(void**) {
  const std::string path = folder + "/readonly.db";
  must(must_open(path).execute("CREATE TABLE t (a)"));
  Db db = must_open(path, Db::Mode::read_only);
  const auto refused = db.execute("INSERT INTO t VALUES (1)");
  assert_true(refused.error().code == Error::Code::permission);
  assert_non_null(std::strstr(refused.error().message.c_str(), "read-only for us"));
}

static void what_is_not_there_or_no_database_is_told_when_opening(void**) {
  const auto missing = Db::open(folder + "/none.db", Db::Mode::read_write);
  assert_true(missing.error().code == Error::Code::not_found);
  assert_true(Db::open(folder + "/none/x.db", Db::Mode::create).error().code ==
              Error::Code::not_found);
  const std::string path = folder + "/text.db";
  must(write_file(path, std::string(5000, 'x')));
  for (const Db::Mode mode : {Db::Mode::read_only, Db::Mode::read_write}) {
    const auto no_database = Db::open(path, mode);
    assert_true(no_database.error().code == Error::Code::malformed);
    assert_non_null(std::strstr(no_database.error().message.c_str(), "no SQLite database"));
  }
  assert_int_equal(read_file(path, 10'000)->size(), 5000);
}

static void many_processes_may_create_and_fill_it_at_once(void**) {
  const std::string path = folder + "/crowd.db";
  constexpr int kProcesses = 8, kRows = 20;
  for (int i = 0; i < kProcesses; ++i) {
    if (fork() != 0) continue;
    auto db = Db::open(path, Db::Mode::create);
    if (!db || !db->execute("CREATE TABLE IF NOT EXISTS t (a)")) _exit(1);
    for (int row = 0; row < kRows; ++row) {
      auto transaction = Transaction::begin(*db);
      if (!transaction || !db->execute("INSERT INTO t VALUES (1)")) _exit(2);
      if (!transaction->commit()) _exit(3);
    }
    _exit(0);
  }
  for (int i = 0; i < kProcesses; ++i) {
    int status = 0;
    assert_true(wait(&status) > 0);
    assert_int_equal(status, 0);
  }
  Db db = must_open(path);
  assert_int_equal(count_rows(db), kProcesses * kRows);
}

static void a_write_protected_file_is_not_opened_for_writing(void**) {
  const std::string path = folder + "/protected.db";
  must(must_open(path).execute("CREATE TABLE t (a)"));
  assert_int_equal(chmod(path.c_str(), 0444), 0);
  assert_int_equal(chmod(folder.c_str(), 0755), 0);
  const pid_t child = fork();
  if (child == 0) {
    // Root may write anything: be somebody else.
    if (geteuid() == 0 && setuid(65534) != 0) _exit(9);
    const auto db = Db::open(path, Db::Mode::read_write);
    _exit(!db && db.error().code == Error::Code::permission ? 0 : 1);
  }
  int status = 0;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
}

static void an_empty_text_is_not_null(void**) {
  Db db = must_open(folder + "/empty.db");
  must(db.execute("CREATE TABLE t (a TEXT NOT NULL)"));
  must(db.prepare("INSERT INTO t VALUES (?)")->bind(1, std::string_view()).run());
  assert_int_equal(count_rows(db), 1);
}

// A file size limit is the nearest to a full disk that needs no root.
static void a_full_disk_loses_nothing_that_was_committed(void**) {
  const std::string path = folder + "/full.db";
  must(must_open(path).execute("CREATE TABLE t (a); INSERT INTO t VALUES ('kept')"));
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit = {200'000, 200'000};
    setrlimit(RLIMIT_FSIZE, &limit);
    auto db = Db::open(path, Db::Mode::read_write);
    if (!db) _exit(1);
    const auto flooded = db->execute("INSERT INTO t VALUES (zeroblob(5000000))");
    if (flooded) _exit(2);
    if (flooded.error().code != Error::Code::unavailable) _exit(3);
    _exit(count_rows(*db) == 1 ? 0 : 4);
  }
  int status = 0;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 0);
  Db db = must_open(path);
  assert_int_equal(count_rows(db), 1);
}

static void wrong_sql_is_our_own_fault(void**) {
  Db db = must_open(folder + "/sql.db");
  assert_true(db.prepare("SELEKT 1").error().code == Error::Code::internal);
  assert_true(db.prepare("").error().code == Error::Code::internal);
  assert_true(db.execute("nonsense").error().code == Error::Code::internal);
}

static void the_schema_version_is_kept_in_the_file(void**) {
  const std::string path = folder + "/version.db";
  {
    Db db = must_open(path);
    assert_int_equal(*db.user_version(), 0);
    must(db.execute("PRAGMA user_version = 7"));
  }
  assert_int_equal(*must_open(path, Db::Mode::read_only).user_version(), 7);
}

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(values_come_back_as_they_went_in),
      cmocka_unit_test(bytes_come_back_as_they_went_in),
      cmocka_unit_test(parameters_do_not_leak_into_the_next_run),
      cmocka_unit_test(a_transaction_is_all_or_nothing),
      cmocka_unit_test(readers_are_not_kept_waiting_by_a_writer),
      cmocka_unit_test(a_lock_that_is_held_too_long_is_told),
      cmocka_unit_test(a_constraint_is_a_conflict),
      cmocka_unit_test(a_read_only_database_refuses_writing_with_a_sentence),
      cmocka_unit_test(what_is_not_there_or_no_database_is_told_when_opening),
      cmocka_unit_test(many_processes_may_create_and_fill_it_at_once),
      cmocka_unit_test(a_write_protected_file_is_not_opened_for_writing),
      cmocka_unit_test(an_empty_text_is_not_null),
      cmocka_unit_test(a_full_disk_loses_nothing_that_was_committed),
      cmocka_unit_test(wrong_sql_is_our_own_fault),
      cmocka_unit_test(the_schema_version_is_kept_in_the_file),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
