// SPDX-License-Identifier: Apache-2.0
// Log files of every kind and in every state, through the collector.
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <vector>

#include "common/base/file.hh"
#include "common/base/subprocess.hh"
#include "epilog/log/file.hh"
#include "epilog/log/source_files.hh"
#include "tests/cmocka.hh"

using namespace nvab;

namespace {

std::unique_ptr<Ruleset> g_rules;

const std::string kTraceback =
    "step 10 loss 2.0\n"
    "Traceback (most recent call last):\n"
    "  File \"train.py\", line 3, in <module>\n"
    "    boom()\n"
    "ValueError: bad thing\n";

struct TempFolder {
  std::string path = "log_file_test." + std::to_string(::getpid());
  TempFolder() {
    std::filesystem::remove_all(path);
    ::mkdir(path.c_str(), 0755);
  }
  ~TempFolder() { std::filesystem::remove_all(path); }
  std::string operator/(const std::string& name) const { return path + "/" + name; }
  void put(const std::string& name, const std::string& text) const {
    assert_true(write_file(path + "/" + name, text).has_value());
  }
};

struct Kept final : ObservationSink {
  std::vector<Observation> all;
  void deliver(Observation&& observation) override { all.push_back(std::move(observation)); }
  std::string messages() const {
    std::string text;
    for (const Observation& observation : all) {
      for (const LogEntry& entry : observation.entries) text += entry.message + "|";
    }
    return text;
  }
  std::uint64_t lines() const {
    std::uint64_t lines = 0;
    for (const Observation& observation : all) lines += observation.coverage.lines_scanned;
    return lines;
  }
};

CollectOutcome collect(const std::vector<std::string>& paths, Kept* kept, Deadline deadline = {}) {
  Host host;
  host.rules = g_rules.get();
  host.deadline = deadline;
  ExecutionContext context;
  context.start_time = Time(Duration(0));
  LogFileOptions options;
  options.paths = paths;
  return make_log_file(options, host)->collect(context, *kept);
}

void run_tool(std::vector<std::string> argv) {
  Command command;
  command.argv = std::move(argv);
  command.deadline = Deadline::after(std::chrono::seconds(20));
  const auto end = run_command(command);
  assert_true(end.has_value() && end->exit_code == 0);
}

void plain_gzip_and_zstd_give_the_same_entries(void**) {
  const TempFolder folder;
  folder.put("a.log", kTraceback);
  folder.put("b.log", kTraceback);
  folder.put("c.log", kTraceback);
  run_tool({"gzip", folder / "b.log"});
  run_tool({"zstd", "-q", "--rm", folder / "c.log"});
  std::string first;
  for (const char* name : {"a.log", "b.log.gz", "c.log.zst"}) {
    Kept kept;
    const auto outcome = collect({folder / name}, &kept);
    assert_int_equal(outcome.status, ConnectorStatus::ok);
    assert_int_equal(kept.lines(), 5);
    const std::string messages = kept.messages();
    assert_non_null(std::strstr(messages.c_str(), "ValueError: bad thing"));
    if (first.empty()) first = messages;
    assert_string_equal(messages.c_str(), first.c_str());
  }
}

void an_entry_knows_where_it_was_read(void**) {
  const TempFolder folder;
  folder.put("a.log", "ok\nok\n" + kTraceback);
  Kept kept;
  collect({folder / "a.log"}, &kept);
  bool found = false;
  for (const LogEntry& entry : kept.all.at(0).entries) {
    if (entry.message.find("ValueError") == std::string::npos) continue;
    found = true;
    assert_string_equal(entry.origin.stream.c_str(), (folder / "a.log").c_str());
    assert_int_equal(entry.origin.line, 4);
    assert_int_equal(entry.origin.offset, 6 + 17);
  }
  assert_true(found);
}

void folders_are_walked_and_fifos_and_outside_links_are_left_alone(void**) {
  const TempFolder folder;
  ::mkdir((folder / "logs").c_str(), 0755);
  ::mkdir((folder / "logs/deep").c_str(), 0755);
  folder.put("secret.log", kTraceback);
  folder.put("logs/deep/a.log", kTraceback);
  folder.put("logs/.hidden", kTraceback);
  ::mkfifo((folder / "logs/pipe").c_str(), 0644);
  assert_int_equal(::symlink("../secret.log", (folder / "logs/leads_out").c_str()), 0);
  assert_int_equal(::symlink("deep/a.log", (folder / "logs/leads_in").c_str()), 0);
  assert_int_equal(::symlink("nowhere", (folder / "logs/leads_nowhere").c_str()), 0);
  FileSearch search;
  search.paths = {folder / "logs"};
  search.base = folder.path;
  const SourceFiles found = find_source_files(search);
  assert_int_equal(found.files.size(), 2);
  assert_string_equal(found.files[0].stream.c_str(), "logs/deep/a.log");
  assert_string_equal(found.files[1].stream.c_str(), "logs/leads_in");
  assert_int_equal(found.skipped.size(), 3);
  Kept kept;
  const auto outcome = collect({folder / "logs"}, &kept);
  assert_int_equal(outcome.status, ConnectorStatus::error);
  assert_int_equal(outcome.details.get("problems").size(), 3);
  assert_int_equal(kept.lines(), 10);  // the two others went on
}

void a_named_fifo_is_refused_without_waiting(void**) {
  const TempFolder folder;
  ::mkfifo((folder / "pipe").c_str(), 0644);
  Kept kept;
  const auto outcome = collect({folder / "pipe"}, &kept);
  assert_int_equal(outcome.status, ConnectorStatus::error);
  assert_non_null(std::strstr(outcome.reason.c_str(), "not a regular file"));
}

void rotated_files_are_read_as_far_as_they_reach_into_the_job(void**) {
  const TempFolder folder;
  for (const char* name : {"messages", "messages.1", "messages-20260101", "messages.bak",
                           "messages.1.gz.tmp", "messages2"}) {
    folder.put(name, "x\n");
  }
  FileSearch search;
  search.paths = {folder / "messages"};
  search.rotated_since = Time(Duration(0));
  assert_int_equal(find_source_files(search).files.size(), 3);
  search.rotated_since = Time(std::chrono::hours(24 * 365 * 200));
  assert_int_equal(find_source_files(search).files.size(), 1);
}

void patterns_and_missing_files_say_what_was_not_there(void**) {
  const TempFolder folder;
  folder.put("a.log", "x\n");
  folder.put("b.txt", "x\n");
  Kept kept;
  assert_int_equal(collect({folder / "*.log"}, &kept).status, ConnectorStatus::ok);
  assert_int_equal(kept.lines(), 1);
  const auto none = collect({folder / "*.out"}, &kept);
  assert_int_equal(none.status, ConnectorStatus::no_data);
  assert_non_null(std::strstr(none.reason.c_str(), "there is no file in"));
  const auto missing = collect({folder / "c.log"}, &kept);
  assert_int_equal(missing.status, ConnectorStatus::no_data);
  assert_non_null(std::strstr(missing.reason.c_str(), "c.log"));
}

void an_empty_file_is_no_data_and_a_lone_line_is(void**) {
  const TempFolder folder;
  folder.put("a.log", "");
  Kept kept;
  const auto empty = collect({folder / "a.log"}, &kept);
  assert_int_equal(empty.status, ConnectorStatus::no_data);
  assert_string_equal(empty.reason.c_str(), "1 file is there and empty");
  folder.put("a.log", "no line end");
  assert_int_equal(collect({folder / "a.log"}, &kept).status, ConnectorStatus::ok);
}

void any_bytes_are_read_and_what_was_replaced_is_counted(void**) {
  const TempFolder folder;
  std::string bytes = "ValueError: \xff\xfe bad\n";
  bytes += std::string(300'000, '\0') + "\n" + std::string(3'000'000, 'x') + "\n" + kTraceback;
  folder.put("a.log", bytes);
  Kept kept;
  const auto outcome = collect({folder / "a.log"}, &kept);
  assert_int_equal(outcome.status, ConnectorStatus::ok);
  assert_non_null(std::strstr(kept.messages().c_str(), "ValueError: bad thing"));
  std::uint64_t replaced = 0;
  for (const Observation& observation : kept.all) {
    replaced += observation.coverage.bytes_replaced;
    for (const LogEntry& entry : observation.entries) assert_true(entry.message.size() < 70'000);
  }
  assert_true(replaced > 0);
}

void a_cut_gzip_file_is_read_up_to_the_cut_and_reported(void**) {
  const TempFolder folder;
  std::string text;
  for (int i = 0; i < 50'000; ++i) text += "line " + std::to_string(i * 7919) + "\n";
  folder.put("a.log", kTraceback + text);
  run_tool({"gzip", folder / "a.log"});
  const auto packed = read_file(folder / "a.log.gz", 1 << 24);
  folder.put("a.log.gz", packed->substr(0, packed->size() / 2));
  Kept kept;
  const auto outcome = collect({folder / "a.log.gz"}, &kept);
  assert_int_equal(outcome.status, ConnectorStatus::error);
  assert_non_null(std::strstr(outcome.reason.c_str(), "damaged or cut"));
  assert_non_null(std::strstr(kept.messages().c_str(), "ValueError"));
}

void a_passed_deadline_is_a_report(void**) {
  const TempFolder folder;
  folder.put("a.log", kTraceback);
  Kept kept;
  const auto outcome = collect({folder / "a.log"}, &kept, Deadline::after(Duration{0}));
  assert_int_equal(outcome.status, ConnectorStatus::timed_out);
}

void observations_stay_small_however_many_lines_match(void**) {
  const TempFolder folder;
  std::string text;
  for (int i = 0; i < 20'000; ++i) text += "RuntimeError: CUDA error: unspecified launch failure\n";
  folder.put("a.log", text);
  Kept kept;
  collect({folder / "a.log"}, &kept);
  assert_true(kept.all.size() > 5);
  for (const Observation& observation : kept.all) {
    assert_true(observation.entries.size() <= kMaxObservationEntries);
  }
  assert_int_equal(kept.lines(), 20'000);
}

bool is_denied(const std::string& path) {
  if (::geteuid() == 0 && ::setuid(65534) != 0) return false;
  Kept kept;
  return collect({path}, &kept).status == ConnectorStatus::denied;
}

void a_file_that_may_not_be_read_is_denied(void**) {
  const TempFolder folder;
  folder.put("a.log", kTraceback);
  ::chmod((folder / "a.log").c_str(), 0);
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(is_denied(folder / "a.log") ? 0 : 1);
  int status = -1;
  ::waitpid(pid, &status, 0);
  assert_int_equal(status, 0);
}

}  // namespace

int main() {
  g_rules = std::move(*Ruleset::load("default", ""));
  const CMUnitTest tests[] = {
      cmocka_unit_test(plain_gzip_and_zstd_give_the_same_entries),
      cmocka_unit_test(an_entry_knows_where_it_was_read),
      cmocka_unit_test(folders_are_walked_and_fifos_and_outside_links_are_left_alone),
      cmocka_unit_test(a_named_fifo_is_refused_without_waiting),
      cmocka_unit_test(rotated_files_are_read_as_far_as_they_reach_into_the_job),
      cmocka_unit_test(patterns_and_missing_files_say_what_was_not_there),
      cmocka_unit_test(an_empty_file_is_no_data_and_a_lone_line_is),
      cmocka_unit_test(any_bytes_are_read_and_what_was_replaced_is_counted),
      cmocka_unit_test(a_cut_gzip_file_is_read_up_to_the_cut_and_reported),
      cmocka_unit_test(a_passed_deadline_is_a_report),
      cmocka_unit_test(observations_stay_small_however_many_lines_match),
      cmocka_unit_test(a_file_that_may_not_be_read_is_denied),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
