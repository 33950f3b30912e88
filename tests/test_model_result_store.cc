// SPDX-License-Identifier: Apache-2.0
// Results in SQLite: what is stored, that a trigger counts once, several writers, and what happens
// where writing is not possible.
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "common/model/result_store.hh"
#include "tests/cmocka.hh"

using namespace nvab;

namespace {

const Time kNow = Time(Duration(1'790'000'000'000'000));

struct TempFolder {
  std::string path = "store_test." + std::to_string(::getpid());
  TempFolder() { ::mkdir(path.c_str(), 0777); }
  ~TempFolder() {
    for (const char* name : {"/r.db", "/r.db-wal", "/r.db-shm", "/r.db-journal"}) {
      ::unlink((path + name).c_str());
    }
    ::rmdir(path.c_str());
  }
  std::string file() const { return path + "/r.db"; }
};

AttributionResult sample(const std::string& job) {
  AttributionResult result;
  result.context.scheduler = "slurm";
  result.context.job_id = job;
  result.context.submit_time = kNow;
  result.context.nodes = {"oak1", "oak2"};
  result.attributor_id = "abc";
  result.sub_domain = SubDomain::gpu_memory;
  Verdict& verdict = result.verdict;
  verdict.root_cause.id = "xid_48";
  verdict.root_cause.rule = "gpu.xid.48";
  verdict.root_cause.confidence = 0.9;
  verdict.culprits.nodes = {"oak2"};
  verdict.culprits.gpus = {{"oak2", 5, "0000:41:00.0", ""}};
  verdict.advice.exclude_nodes = {"oak1", "oak2"};
  verdict.advice.drain = {{"oak2", "nvab:x", 0.9}};
  TimelineItem item;
  item.rule = "gpu.xid.48";
  item.role = "root";
  verdict.timeline = {item, item};
  verdict.victims.by_rule = {{"nccl.abort", 7}};
  return result;
}

long long number(Db& database, const char* sql) {
  auto statement = database.prepare(sql);
  if (!statement) fail_msg("%s", statement.error().message.c_str());
  assert_true(*statement->step());
  return statement->integer(0);
}

void a_result_is_stored_with_its_nodes_gpus_and_rules(void**) {
  const TempFolder folder;
  auto store = ResultStore::open(folder.file());
  assert_true(store.has_value());
  assert_true(*(*store)->add(sample("1"), kNow) == ResultStore::Added::stored);
  Db& db = (*store)->database();
  assert_int_equal(number(db, "SELECT count(*) FROM execution_context"), 1);
  assert_int_equal(number(db,
                          "SELECT latest_run_id = (SELECT id FROM attribution_run) FROM"
                          " execution_context"),
                   1);
  assert_int_equal(number(db,
                          "SELECT count(*) FROM attribution_run WHERE sub_domain ="
                          " 'gpu_memory' AND created_us = 1790000000000000"),
                   1);
  assert_int_equal(number(db, "SELECT count(*) FROM run_node"), 2);
  assert_int_equal(number(db, "SELECT is_culprit FROM run_node WHERE node = 'oak1'"), 0);
  assert_int_equal(number(db, "SELECT drain_reason = 'nvab:x' FROM run_node WHERE is_culprit"), 1);
  assert_int_equal(number(db, "SELECT gpu_index FROM run_gpu WHERE node = 'oak2'"), 5);
  assert_int_equal(number(db, "SELECT events FROM run_rule WHERE rule = 'gpu.xid.48'"), 2);
  assert_int_equal(number(db, "SELECT events FROM run_rule WHERE rule = 'nccl.abort'"), 7);
  auto json = db.prepare("SELECT result_json FROM attribution_run");
  assert_true(*json->step());
  assert_true(result_from_json(*Json::parse(json->text(0))).has_value());
}

void asking_again_adds_a_run_but_a_trigger_counts_once(void**) {
  const TempFolder folder;
  auto store = ResultStore::open(folder.file());
  assert_true(*(*store)->add(sample("1"), kNow, "t1") == ResultStore::Added::stored);
  assert_true(*(*store)->add(sample("1"), kNow, "t1") == ResultStore::Added::already_there);
  assert_true(*(*store)->add(sample("1"), kNow) == ResultStore::Added::stored);
  assert_true(*(*store)->add(sample("1"), kNow) == ResultStore::Added::stored);
  Db& db = (*store)->database();
  assert_int_equal(number(db, "SELECT count(*) FROM execution_context"), 1);
  assert_int_equal(number(db, "SELECT count(*) FROM attribution_run"), 3);
}

void a_later_state_replaces_the_first_one(void**) {
  const TempFolder folder;
  auto store = ResultStore::open(folder.file());
  AttributionResult result = sample("1");
  result.context.state = "RUNNING";
  assert_true((*store)->add(result, kNow).has_value());
  result.context.state = "FAILED";
  assert_true((*store)->add(result, kNow).has_value());
  assert_int_equal(
      number((*store)->database(), "SELECT count(*) FROM execution_context WHERE state = 'FAILED'"),
      1);
}

// A job of an hour on two nodes with four GPUs each, for which oak2 is blamed.
AttributionResult hour(const std::string& job) {
  AttributionResult result = sample(job);
  result.terminal_state = TerminalState::failed;
  result.domain = Domain::infrastructure;
  result.context.start_time = kNow;
  result.context.end_time = kNow + std::chrono::hours(1);
  result.context.gpus_per_node = 4;
  result.verdict.timeline[0].text = "uncorrectable error on the crimson bank";
  return result;
}

std::string words(Db& database, const char* sql) {
  auto statement = database.prepare(sql);
  if (!statement) fail_msg("%s", statement.error().message.c_str());
  std::string all;
  while (*statement->step()) {
    for (int column = 0; column < 9; ++column) all += statement->text(column) + " ";
  }
  return all;
}

constexpr const char* kRunSums =
    "SELECT sub_domain, runs, job_seconds, node_seconds, gpu_seconds FROM run_day WHERE runs > 0";
constexpr const char* kNodeSums =
    "SELECT node, jobs, seconds, blamed, last_good_us, last_bad_us FROM node_day WHERE jobs > 0";
constexpr const char* kFound = "SELECT rowid FROM run_text WHERE run_text MATCH 'crimson'";

void sums_by_day_count_the_latest_verdict_once(void**) {
  const TempFolder folder;
  auto store = ResultStore::open(folder.file());
  Db& db = (*store)->database();
  AttributionResult result = hour("1");
  result.provisional = true;  // it still runs: nothing to count
  assert_true((*store)->add(result, kNow).has_value());
  assert_string_equal(words(db, kRunSums).c_str(), "");
  result.provisional = false;
  assert_true((*store)->add(result, kNow).has_value());
  assert_true((*store)->add(result, kNow).has_value());
  assert_true((*store)->add(hour("2"), kNow).has_value());
  assert_string_equal(words(db, kRunSums).c_str(), "gpu_memory 2 7200 14400 57600     ");
  assert_string_equal(words(db, kNodeSums).c_str(),
                      "oak1 2 7200 0      oak2 2 7200 2  1790003600000000    ");
  // Asked again with more evidence, it was the program after all.
  result.domain = Domain::workload;
  result.sub_domain = SubDomain::user_code;
  result.verdict.culprits.nodes.clear();
  assert_true((*store)->add(result, kNow).has_value());
  assert_string_equal(words(db, kRunSums).c_str(),
                      "gpu_memory 1 3600 7200 28800     user_code 1 3600 7200 28800     ");
  assert_string_equal(words(db, kNodeSums).c_str(),
                      "oak1 2 7200 0      oak2 2 7200 1  1790003600000000    ");
}

void an_older_database_is_brought_forward_with_what_it_holds(void**) {
  const TempFolder folder;
  std::string runs, nodes, found;
  {
    auto store = ResultStore::open(folder.file());
    Db& db = (*store)->database();
    for (const char* job : {"1", "2"}) assert_true((*store)->add(hour(job), kNow).has_value());
    runs = words(db, kRunSums), nodes = words(db, kNodeSums), found = words(db, kFound);
    // Back to the first schema: what only the second has is gone.
    assert_true(db.execute("DROP TABLE run_day; DROP TABLE node_day; DROP TABLE run_text;"
                           "DROP TABLE context_node; DROP INDEX run_gpu_by_uuid;"
                           "DROP INDEX execution_context_by_ended;"
                           "DROP INDEX execution_context_by_owner;"
                           "DROP INDEX execution_context_by_account;"
                           "DROP INDEX execution_context_by_sub_domain;"
                           "CREATE INDEX execution_context_by_end ON execution_context (end_us);"
                           "CREATE INDEX execution_context_by_user ON execution_context (user);"
                           "DELETE FROM schema_version WHERE version = 2")
                    .has_value());
    for (const char* column : {"ended_us", "terminal_state", "domain", "sub_domain", "cause",
                               "evidence_status", "is_final"}) {
      const std::string drop = std::string("ALTER TABLE execution_context DROP COLUMN ") + column;
      assert_true(db.execute(drop).has_value());
    }
  }
  auto store = ResultStore::open(folder.file());
  if (!store) fail_msg("%s", store.error().message.c_str());
  Db& db = (*store)->database();
  assert_string_equal(words(db, kRunSums).c_str(), runs.c_str());
  assert_string_equal(words(db, kNodeSums).c_str(), nodes.c_str());
  assert_string_equal(words(db, kFound).c_str(), found.c_str());
  assert_int_equal(number(db, "SELECT count(*) FROM context_node"), 4);
  assert_true((*store)->add(hour("1"), kNow).has_value());
  assert_string_equal(words(db, kRunSums).c_str(), runs.c_str());
}

// Runs `work` in a child; whether it returned true.
bool child(bool (*work)(const std::string&), const std::string& path, pid_t* pid) {
  *pid = ::fork();
  if (*pid == 0) ::_exit(work(path) ? 0 : 1);
  return *pid > 0;
}

bool write_many(const std::string& path) {
  for (int i = 0; i < 25; ++i) {
    auto store = ResultStore::open(path);
    if (!store ||
        !(*store)->add(sample(std::to_string(::getpid()) + "-" + std::to_string(i)), kNow)) {
      return false;
    }
  }
  return true;
}

void writers_at_once_wait_for_each_other(void**) {
  const TempFolder folder;
  constexpr int kWriters = 4;  // all of them also race to create the schema
  pid_t pids[kWriters];
  for (pid_t& pid : pids) assert_true(child(write_many, folder.file(), &pid));
  for (const pid_t pid : pids) {
    int status = -1;
    ::waitpid(pid, &status, 0);
    assert_int_equal(status, 0);
  }
  auto store = ResultStore::open(folder.file());
  assert_int_equal(number((*store)->database(), "SELECT count(*) FROM attribution_run"), 100);
}

void a_newer_schema_is_left_alone(void**) {
  const TempFolder folder;
  {
    auto store = ResultStore::open(folder.file());
    assert_true(
        (*store)->database().execute("INSERT INTO schema_version VALUES (99, 0)").has_value());
  }
  auto store = ResultStore::open(folder.file());
  assert_false(store.has_value());
  assert_int_equal(store.error().code, Error::Code::unsupported);
  assert_non_null(std::strstr(store.error().message.c_str(), "schema 99"));
}

void a_full_disk_loses_nothing_that_was_there(void**) {
  const TempFolder folder;
  auto store = ResultStore::open(folder.file());
  assert_true((*store)->add(sample("1"), kNow).has_value());
  Db& db = (*store)->database();
  // SQLite's own way to have no more room.
  const long long pages = number(db, "PRAGMA page_count");
  assert_true(db.execute("PRAGMA max_page_count = " + std::to_string(pages)).has_value());
  AttributionResult big = sample("2");
  big.verdict.root_cause.explanation = std::string(100'000, 'x');
  const auto added = (*store)->add(big, kNow);
  assert_false(added.has_value());
  assert_int_equal(added.error().code, Error::Code::unavailable);
  assert_non_null(std::strstr(added.error().message.c_str(), "disk is full"));
  assert_int_equal(number(db, "SELECT count(*) FROM execution_context"), 1);
  assert_int_equal(number(db, "SELECT count(*) FROM attribution_run"), 1);
  assert_true(db.execute("PRAGMA max_page_count = 100000").has_value());
  assert_true((*store)->add(big, kNow).has_value());
}

bool is_refused_as_read_only(const std::string& path) {
  if (::geteuid() == 0 && ::setuid(65534) != 0) return false;
  auto store = ResultStore::open(path);
  const Error error = store ? (*store)->add(sample("2"), kNow).error() : store.error();
  const bool is_right = error.code == Error::Code::permission;
  if (!is_right) std::fprintf(stderr, "%s\n", error.message.c_str());
  return is_right && error.message.find("read-only for us") != std::string::npos;
}

void a_read_only_file_is_refused_with_a_sentence(void**) {
  const TempFolder folder;
  {
    auto store = ResultStore::open(folder.file());
    assert_true((*store)->add(sample("1"), kNow).has_value());
    assert_true((*store)->database().execute("PRAGMA journal_mode = DELETE").has_value());
  }
  ::chmod(folder.file().c_str(), 0444);
  pid_t pid = 0;
  assert_true(child(is_refused_as_read_only, folder.file(), &pid));
  int status = -1;
  ::waitpid(pid, &status, 0);
  assert_int_equal(status, 0);
}

void what_is_no_database_is_refused(void**) {
  const TempFolder folder;
  std::FILE* file = std::fopen(folder.file().c_str(), "w");
  for (int i = 0; i < 200; ++i) std::fputs("this is no database\n", file);
  std::fclose(file);
  const auto store = ResultStore::open(folder.file());
  assert_false(store.has_value());
  assert_int_equal(store.error().code, Error::Code::malformed);
  const auto nowhere = ResultStore::open("/nowhere/at/all.db");
  assert_false(nowhere.has_value());
  assert_int_equal(nowhere.error().code, Error::Code::not_found);
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(a_result_is_stored_with_its_nodes_gpus_and_rules),
      cmocka_unit_test(asking_again_adds_a_run_but_a_trigger_counts_once),
      cmocka_unit_test(a_later_state_replaces_the_first_one),
      cmocka_unit_test(sums_by_day_count_the_latest_verdict_once),
      cmocka_unit_test(an_older_database_is_brought_forward_with_what_it_holds),
      cmocka_unit_test(writers_at_once_wait_for_each_other),
      cmocka_unit_test(a_newer_schema_is_left_alone),
      cmocka_unit_test(a_full_disk_loses_nothing_that_was_there),
      cmocka_unit_test(a_read_only_file_is_refused_with_a_sentence),
      cmocka_unit_test(what_is_no_database_is_refused),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
