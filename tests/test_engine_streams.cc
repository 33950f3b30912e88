// SPDX-License-Identifier: Apache-2.0
// What is known of a stream before it is read: from its file's name, and from its first and last
// lines beside the job's window.
#include <string>

#include "common/engine/extract/dialect.hh"
#include "common/engine/extract/stream_name.hh"
#include "tests/cmocka.hh"

using namespace nvab;

namespace {

ExecutionContext job() {
  ExecutionContext context;
  context.nodes = {"gn13", "gn14"};
  context.start_time = parse_rfc3339("2025-12-31T22:00:00Z");
  context.end_time = parse_rfc3339("2026-01-01T02:00:00Z");
  return context;
}

std::string number(const char* name, std::optional<int> value) {
  return value ? std::string(" ") + name + "=" + std::to_string(*value) : "";
}

// "node=gn13 rank=3 app=slurmctld dmesg"
std::string describe(const NamedPlace& place) {
  std::string out = place.node.empty() ? "" : " node=" + place.node;
  out += number("rank", place.rank) + number("task", place.task) +
         number("local", place.local_rank) + (place.app.empty() ? "" : " app=" + place.app) +
         (place.is_dmesg ? " dmesg" : "");
  return out.empty() ? "" : out.substr(1);
}

struct Named {
  Source source;
  const char* name;
  const char* wanted;
};

constexpr Named kNames[] = {
    {Source::applog, "task_5.log", "task=5"},
    {Source::applog, "applog/rank-12.err", "rank=12"},
    {Source::applog, "1/rank.3/stdout", "rank=3"},
    {Source::applog, "rsl.error.0037", "rank=37"},
    {Source::applog, "out.gn14.log", "node=gn14"},
    {Source::applog, "logs/attempt_0/3/stderr.log", "local=3"},
    {Source::applog, "none_x_attempt_0_5_stderr.log", "rank=5"},
    {Source::applog, "local_rank_2.log", "local=2"},
    {Source::applog, "slurm-1234_7.out", ""},
    {Source::applog, "slurm-1234.out", ""},
    {Source::applog, "rank_of_pages.log", ""},
    {Source::applog, "rank99999999.log", ""},
    {Source::applog, "", ""},
    {Source::syslog, "gn13.dmesg", "node=gn13 dmesg"},
    {Source::syslog, "dmesg-cn7.gz", "node=cn7 dmesg"},
    {Source::syslog, "slurmctld.log", "app=slurmctld"},
    {Source::syslog, "var/log/messages", ""},
    {Source::syslog, "rank_3.log", ""},
};

StreamInfo probe(Source source, const char* head, const char* tail = "") {
  return probe_stream("x.log", source, head, tail, job());
}

std::string time_of(const StreamInfo& stream, const char* line, const char* previous = nullptr) {
  const LineHead head = parse_head(line, stream.source, stream.head);
  const auto time =
      resolve(head, stream, previous ? parse_rfc3339(previous) : std::optional<Time>());
  return time ? format_rfc3339(*time) : "-";
}

void expect_time(const StreamInfo& stream, const char* line, const char* wanted,
                 const char* previous = nullptr) {
  assert_string_equal(time_of(stream, line, previous).c_str(), wanted);
}

}  // namespace

static void names_say_whose_a_file_is(void**) {
  int wrong = 0;
  for (const Named& row : kNames) {
    const std::string got = describe(place_from_name(row.name, row.source, job()));
    if (got == row.wanted) continue;
    print_error("%s: got '%s', want '%s'\n", row.name, got.c_str(), row.wanted);
    ++wrong;
  }
  assert_int_equal(wrong, 0);
}

static void a_short_name_stands_for_a_node_with_a_domain(void**) {
  ExecutionContext context;
  context.nodes = {"cn-7.example.org", "cn-8.example.org"};
  const NamedPlace place = place_from_name("out_cn-8.log", Source::applog, context);
  assert_string_equal(place.node.c_str(), "cn-8.example.org");
}

static void a_year_is_found_on_both_sides_of_new_year(void**) {
  const StreamInfo stream =
      probe(Source::syslog, "Dec 31 22:30:00 gn13 kernel: a\n", "Jan  1 00:10:00 gn13 kernel: b\n");
  assert_int_equal(*stream.year, 2025);
  expect_time(stream, "Dec 31 22:30:00 gn13 kernel: a", "2025-12-31T22:30:00Z");
  expect_time(stream, "Jan  1 00:10:00 gn13 kernel: b", "2026-01-01T00:10:00Z",
              "2025-12-31T22:30:00Z");
}

static void a_zone_is_what_puts_the_output_into_the_job(void**) {
  const StreamInfo stream = probe(Source::applog, "2026-01-01 07:31:00,000 - INFO - start\n",
                                  "2026-01-01 11:29:00,000 - INFO - end\n");
  assert_true(stream.zone == std::chrono::minutes(9 * 60 + 30));
  expect_time(stream, "2026-01-01 07:31:00,000 - INFO - start", "2025-12-31T22:01:00Z");
  // A system log may be of any time.
  assert_true(probe(Source::syslog, "2026-01-01 07:31:00 gn13 app: x\n").zone == Duration(0));
}

static void a_kernel_line_that_quotes_the_clock_proves_the_zone(void**) {
  // 1767222000 is 2025-12-31T23:00:00Z.
  const StreamInfo stream =
      probe(Source::syslog, "Jan  1 00:00:00 gn13 kernel: audit(1767222000.000:7662): x\n");
  assert_true(stream.zone == std::chrono::hours(1));
  expect_time(stream, "Jan  1 00:30:00 gn13 kernel: y", "2025-12-31T23:30:00Z");
}

static void uptimes_count_from_what_the_lines_prove_or_back_from_the_end(void**) {
  const StreamInfo proven = probe(Source::syslog,
                                  "[    1.000000] rtc_cmos 00:01: setting system clock to "
                                  "2025-12-31T20:00:01 UTC (1767211201)\n[ 7200.000000] x\n");
  const StreamInfo guessed = probe(Source::syslog, "[  100.000000] x\n[  160.000000] y\n");
  assert_true(guessed.head.is_dmesg);
  expect_time(guessed, "[  100.000000] x", "2026-01-01T01:59:00Z");
  expect_time(proven, "[ 7201.000000] x", "2025-12-31T22:00:01Z");
}

static void a_clock_without_a_day_rolls_over_midnight(void**) {
  const StreamInfo stream = probe(Source::applog, "23:10:00 step 1\n", "00:20:00 step 9\n");
  expect_time(stream, "23:10:00 step 1", "2025-12-31T23:10:00Z");
  expect_time(stream, "00:20:00 step 9", "2026-01-01T00:20:00Z", "2025-12-31T23:59:00Z");
}

static void numbers_before_a_colon_are_tasks_only_where_the_job_has_them(void**) {
  ExecutionContext four = job();
  four.ntasks = 4;
  const char* labelled = "0: a\n1: b\n3: c\n";
  assert_true(probe_stream("x.log", Source::applog, labelled, "", four).head.task_labels);
  const char* numbered = "0: a\n1: b\n7: c\n";
  assert_false(probe_stream("x.log", Source::applog, numbered, "", four).head.task_labels);
  assert_false(probe_stream("x.log", Source::syslog, labelled, "", four).head.task_labels);
}

static void who_can_have_written_a_stream(void**) {
  assert_true(probe(Source::applog, "NVRM: Xid\n").trust == Trust::user);
  assert_true(probe(Source::syslog, "Dec 31 22:30:00 gn13 app: a\n").trust == Trust::system);
  assert_true(probe(Source::syslog, "[  100.000000] x\n[  160.000000] y\n").trust == Trust::kernel);
}

static void without_lines_or_a_window_nothing_is_guessed(void**) {
  const StreamInfo nothing = probe_stream("", Source::syslog, "", "", ExecutionContext());
  assert_false(nothing.year || nothing.boot || nothing.day);
  const StreamInfo no_window =
      probe_stream("x", Source::syslog, "Mar  1 10:00:00 n1 kernel: x\n", "", ExecutionContext());
  expect_time(no_window, "Mar  1 10:00:00 n1 kernel: x", "-");
}

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(names_say_whose_a_file_is),
      cmocka_unit_test(a_short_name_stands_for_a_node_with_a_domain),
      cmocka_unit_test(a_year_is_found_on_both_sides_of_new_year),
      cmocka_unit_test(a_zone_is_what_puts_the_output_into_the_job),
      cmocka_unit_test(a_kernel_line_that_quotes_the_clock_proves_the_zone),
      cmocka_unit_test(uptimes_count_from_what_the_lines_prove_or_back_from_the_end),
      cmocka_unit_test(a_clock_without_a_day_rolls_over_midnight),
      cmocka_unit_test(numbers_before_a_colon_are_tasks_only_where_the_job_has_them),
      cmocka_unit_test(who_can_have_written_a_stream),
      cmocka_unit_test(without_lines_or_a_window_nothing_is_guessed),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
