// SPDX-License-Identifier: Apache-2.0
// The collectors of task records and NCCL dumps over files and folders.
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <vector>

#include "common/base/file.hh"
#include "epilog/log/flight_recorder.hh"
#include "epilog/log/task_exits.hh"
#include "tests/cmocka.hh"

using namespace nvab;

namespace {

std::string g_folder;
std::string in(const std::string& name) { return g_folder + "/" + name; }

struct Kept final : ObservationSink {
  std::vector<Observation> all;
  void deliver(Observation&& observation) override { all.push_back(std::move(observation)); }
};

std::string end_line(const std::string& job, const std::string& task) {
  return R"({"v":1,"kind":"task_end","job_id":)" + job +
         R"(,"step_id":"0","node":"a2","restart_count":0,"time":"2026-04-01T08:00:00.000000Z",)" +
         R"("task_id":)" + task + R"(,"exit_code":1})" + "\n";
}

ExecutionContext job(const std::string& id) {
  ExecutionContext context;
  context.job_id = id;
  return context;
}

void a_spool_of_task_records_yields_the_tasks_of_one_job(void**) {
  make_folders(in("spool"));
  (void)write_file(in("spool/77.0.a2.0.ndjson"), end_line("77", "0") + end_line("77", "1"));
  (void)write_file(in("spool/78.0.a2.0.ndjson"), end_line("78", "0"));
  Host host;
  Kept kept;
  const auto outcome =
      make_task_exits({"log.task_exits", {in("spool")}}, host)->collect(job("77"), kept);
  assert_int_equal(outcome.status, ConnectorStatus::ok);
  assert_int_equal(kept.all.size(), 1);
  assert_int_equal(kept.all[0].task_exits.size(), 2);
  assert_true(kept.all[0].source == Source::task_exits);
  assert_int_equal(*outcome.details.get("lines_of_other_jobs").as_int(), 1);
}

void broken_task_records_are_reported_beside_good_ones(void**) {
  (void)write_file(in("some.ndjson"), end_line("77", "0") + "{\"v\":1,\n" +
                                          std::string(40'000, 'x') + "\n" + end_line("77", "1"));
  Host host;
  Kept kept;
  const auto outcome =
      make_task_exits({"log.task_exits", {in("some.ndjson")}}, host)->collect(job("77"), kept);
  assert_int_equal(outcome.status, ConnectorStatus::error);
  assert_non_null(std::strstr(outcome.reason.c_str(), "longer than any task record"));
  assert_int_equal(outcome.details.get("problems").size(), 2);
  assert_int_equal(kept.all.at(0).task_exits.size(), 2);
}

void no_record_of_the_job_is_no_data(void**) {
  Host host;
  Kept kept;
  const auto outcome =
      make_task_exits({"log.task_exits", {in("spool")}}, host)->collect(job("99"), kept);
  assert_int_equal(outcome.status, ConnectorStatus::no_data);
  assert_true(kept.all.empty());
}

void dumps_are_read_one_a_rank_and_other_files_left_alone(void**) {
  const std::string corpus = test::source_path("tests/fuzz/corpus/nccl_dump");
  Host host;
  Kept kept;
  const auto outcome =
      make_flight_recorder({"log.flight_recorder", {corpus}, test::source_path("tests/fuzz")}, host)
          ->collect(job("1"), kept);
  assert_int_equal(outcome.status, ConnectorStatus::ok);
  assert_int_equal(kept.all.size(), 2);
  assert_int_equal(kept.all[0].dumps.at(0).rank, 0);
  assert_string_equal(kept.all[1].dumps.at(0).stream.c_str(),
                      "corpus/nccl_dump/nccl_trace_rank_3.json");
  assert_int_equal(*outcome.details.get("other_files").as_int(), 2);
}

void a_dump_that_is_none_is_reported_beside_good_ones(void**) {
  make_folders(in("dumps"));
  const std::string corpus = test::source_path("tests/fuzz/corpus/nccl_dump/");
  (void)write_file(in("dumps/t_0"), *read_file(corpus + "nccl_trace_rank_0", 1 << 20));
  (void)write_file(in("dumps/t_1"), *read_file(corpus + "calls_a_function", 1 << 20));
  (void)write_file(in("dumps/t_2"), "");
  Host host;
  Kept kept;
  const auto outcome = make_flight_recorder({"log.flight_recorder", {in("dumps")}, ""}, host)
                           ->collect(job("1"), kept);
  assert_int_equal(outcome.status, ConnectorStatus::error);
  assert_int_equal(kept.all.size(), 1);
  assert_int_equal(outcome.details.get("problems").size(), 2);
  assert_non_null(std::strstr(outcome.reason.c_str(), "not plain data"));
}

}  // namespace

int main() {
  g_folder = "log_folders_test." + std::to_string(::getpid());
  ::mkdir(g_folder.c_str(), 0755);
  const CMUnitTest tests[] = {
      cmocka_unit_test(a_spool_of_task_records_yields_the_tasks_of_one_job),
      cmocka_unit_test(broken_task_records_are_reported_beside_good_ones),
      cmocka_unit_test(no_record_of_the_job_is_no_data),
      cmocka_unit_test(dumps_are_read_one_a_rank_and_other_files_left_alone),
      cmocka_unit_test(a_dump_that_is_none_is_reported_beside_good_ones),
  };
  const int failed = cmocka_run_group_tests(tests, nullptr, nullptr);
  std::filesystem::remove_all(g_folder);
  return failed;
}
