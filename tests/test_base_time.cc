// SPDX-License-Identifier: Apache-2.0
// RFC 3339 both ways, and durations.
#include "common/base/time.hh"

#include "tests/cmocka.hh"

using nvab::Duration;
using nvab::format_duration;
using nvab::format_rfc3339;
using nvab::parse_duration;
using nvab::parse_rfc3339;

static long long micros_of(const char* text) {
  const auto time = parse_rfc3339(text);
  if (!time) fail_msg("'%s' was not read", text);
  return time->time_since_epoch().count();
}

static void a_time_in_utc_is_read_to_the_microsecond(void**) {
  assert_int_equal(micros_of("1970-01-01T00:00:00Z"), 0);
  assert_int_equal(micros_of("2026-03-01T10:59:58.123Z"), 1772362798123000);
  assert_int_equal(micros_of("2026-03-01 10:59:58"), 1772362798000000);
  assert_int_equal(micros_of("2026-03-01T10:59:58.1234567899Z"), 1772362798123456);
  assert_int_equal(micros_of("2024-02-29T00:00:00Z"), 1709164800000000);
  assert_int_equal(micros_of("1969-12-31T23:59:59.5Z"), -500000);
}

static void an_offset_is_taken_off(void**) {
  assert_int_equal(micros_of("2026-03-01T12:59:58+02:00"), 1772362798000000);
  assert_int_equal(micros_of("2026-03-01T07:29:58-0330"), 1772362798000000);
  assert_int_equal(micros_of("2026-03-01T11:59:58+01"), 1772362798000000);
}

static void a_leap_second_is_the_next_minute(void**) {
  assert_int_equal(micros_of("2016-12-31T23:59:60Z"), micros_of("2017-01-01T00:00:00Z"));
}

static void what_is_no_time_is_refused(void**) {
  const char* const bad[] = {
      "",
      "2026",
      "2026-03-01",
      "2026-03-01T10:59",
      "2026-13-01T10:59:58Z",
      "2026-02-29T10:59:58Z",
      "2026-03-00T10:59:58Z",
      "2026-03-01T24:00:00Z",
      "2026-03-01T10:60:58Z",
      "2026-03-01T10:59:61Z",
      "2026-03-01T10:59:58.Z",
      "2026-03-01T10:59:58Z ",
      "2026-03-01T10:59:58+2",
      "2026-03-01T10:59:58+99:00",
      "2026-03-01T10:59:58 +02:00",
      "Mar  1 10:59:58",
      "2026-03-01x10:59:58Z",
      "-026-03-01T10:59:58Z",
  };
  for (const char* text : bad) {
    if (parse_rfc3339(text)) fail_msg("'%s' was read", text);
  }
}

static void a_time_is_written_with_as_much_fraction_as_it_has(void**) {
  const auto written = [](const char* text) { return format_rfc3339(*parse_rfc3339(text)); };
  assert_string_equal(written("2026-03-01T10:59:58Z").c_str(), "2026-03-01T10:59:58Z");
  assert_string_equal(written("2026-03-01T10:59:58.1Z").c_str(), "2026-03-01T10:59:58.100Z");
  assert_string_equal(written("2026-03-01T10:59:58.000001Z").c_str(),
                      "2026-03-01T10:59:58.000001Z");
  assert_string_equal(written("1969-12-31T23:59:59.5Z").c_str(), "1969-12-31T23:59:59.500Z");
}

static void durations_are_read_with_their_units(void**) {
  assert_int_equal(parse_duration("90")->count(), 90'000'000);
  assert_int_equal(parse_duration("90s")->count(), 90'000'000);
  assert_int_equal(parse_duration("15m")->count(), 900'000'000);
  assert_int_equal(parse_duration("2h")->count(), 7'200'000'000);
  assert_int_equal(parse_duration("7d")->count(), 604'800'000'000);
  assert_int_equal(parse_duration("500ms")->count(), 500'000);
  assert_int_equal(parse_duration("0")->count(), 0);
  const char* const bad[] = {"",
                             "s",
                             "1.5h",
                             "-1s",
                             "1 h",
                             "1w",
                             "1h30m",
                             "+1s",
                             "10000d h",
                             "9223372036854775807d",
                             "99999999999999999999"};
  for (const char* text : bad) {
    if (parse_duration(text)) fail_msg("'%s' was read", text);
  }
}

static void durations_are_written_for_people(void**) {
  assert_string_equal(format_duration(Duration(340'000)).c_str(), "340ms");
  assert_string_equal(format_duration(Duration(12'345'678)).c_str(), "12.3s");
  assert_string_equal(format_duration(Duration(59'999'999)).c_str(), "59.9s");
  assert_string_equal(format_duration(Duration(61'000'000)).c_str(), "1m 01s");
  assert_string_equal(format_duration(std::chrono::minutes(65)).c_str(), "1h 05m");
  assert_string_equal(format_duration(std::chrono::hours(50)).c_str(), "2d 02h");
  assert_string_equal(format_duration(Duration(-340'000)).c_str(), "-340ms");
}

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(a_time_in_utc_is_read_to_the_microsecond),
      cmocka_unit_test(an_offset_is_taken_off),
      cmocka_unit_test(a_leap_second_is_the_next_minute),
      cmocka_unit_test(what_is_no_time_is_refused),
      cmocka_unit_test(a_time_is_written_with_as_much_fraction_as_it_has),
      cmocka_unit_test(durations_are_read_with_their_units),
      cmocka_unit_test(durations_are_written_for_people),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
