// SPDX-License-Identifier: Apache-2.0
// Entries of a saved bundle: plain lines and index together are the entry again.
#include <cstring>
#include <vector>

#include "common/base/text.hh"
#include "common/model/entries_json.hh"
#include "epilog/output/bundle_streams.hh"
#include "epilog/output/entry_lines.hh"
#include "tests/cmocka.hh"

using namespace nvab;

namespace {

LogEntry kernel_entry() {
  LogEntry entry;
  entry.timestamp = parse_rfc3339("2026-02-03T04:05:06.789Z");
  entry.time_quality = TimeQuality::exact;
  entry.node = "fir7";
  entry.app = "kernel";
  entry.trust = Trust::kernel;
  entry.origin = {"/var/log/messages", 12, 3456};
  entry.message = "first line\n\n  third: line";
  return entry;
}

std::vector<std::string> lines_in(const std::string& text) {
  std::vector<std::string> lines;
  for (const std::string_view line :
       split(std::string_view(text).substr(0, text.size() - 1), '\n')) {
    lines.emplace_back(line);
  }
  return lines;
}

void check_round_trip(const LogEntry& entry, Source source) {
  const auto index = Json::parse(index_line(entry));
  assert_true(index.has_value());
  const auto lines = lines_in(plain_lines(entry, source));
  assert_int_equal(lines.size(), lines_of(*index));
  std::size_t changed = 0;
  const auto again = entry_of(*index, lines, source, &changed);
  assert_true(again.has_value());
  assert_int_equal(changed, 0);
  assert_string_equal(to_json(*again).dump().c_str(), to_json(entry).dump().c_str());
}

void plain_lines_look_like_the_dialect_of_their_source(void**) {
  LogEntry entry = kernel_entry();
  assert_string_equal(plain_lines(entry, Source::syslog).c_str(),
                      "2026-02-03T04:05:06.789Z fir7 kernel: first line\n"
                      "2026-02-03T04:05:06.789Z fir7 kernel: \n"
                      "2026-02-03T04:05:06.789Z fir7 kernel:   third: line\n");
  entry.rank = 3;
  entry.message = "boom";
  assert_string_equal(plain_lines(entry, Source::applog).c_str(),
                      "2026-02-03T04:05:06.789Z [rank3]: boom\n");
  entry.time_quality = TimeQuality::inherited;
  assert_string_equal(plain_lines(entry, Source::applog).c_str(), "[rank3]: boom\n");
}

void an_entry_comes_back_from_its_lines(void**) {
  check_round_trip(kernel_entry(), Source::syslog);
  check_round_trip(kernel_entry(), Source::applog);
  LogEntry entry;
  entry.message = "";
  check_round_trip(entry, Source::applog);
  entry.message = "x\n";
  entry.task = 4;
  entry.app = "slurmd";
  entry.pid = 77;
  entry.severity = "err";
  check_round_trip(entry, Source::applog);
  check_round_trip(entry, Source::syslog);
}

void a_line_that_was_edited_is_taken_as_it_stands(void**) {
  const auto index = Json::parse(index_line(kernel_entry()));
  auto lines = lines_in(plain_lines(kernel_entry(), Source::syslog));
  lines[0] = "somebody wrote this\x01";
  std::size_t changed = 0;
  const auto again = entry_of(*index, lines, Source::syslog, &changed);
  assert_int_equal(changed, 1);
  assert_true(again->message.starts_with("somebody wrote this\n"));
}

void a_stream_gets_a_plain_file_name(void**) {
  assert_string_equal(stream_file_name("/home/x/slurm-7.out").c_str(), "slurm-7.out");
  assert_string_equal(stream_file_name("log/messages.1.gz").c_str(), "messages.1");
  assert_string_equal(stream_file_name("{app=\"x y\"}").c_str(), "_app__x_y__");
  assert_string_equal(stream_file_name("..").c_str(), "stream");
  assert_string_equal(stream_file_name("").c_str(), "stream");
  assert_int_equal(stream_file_name(std::string(1000, 'a')).size(), 200);
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(plain_lines_look_like_the_dialect_of_their_source),
      cmocka_unit_test(an_entry_comes_back_from_its_lines),
      cmocka_unit_test(a_line_that_was_edited_is_taken_as_it_stands),
      cmocka_unit_test(a_stream_gets_a_plain_file_name),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
