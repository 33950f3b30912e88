// SPDX-License-Identifier: Apache-2.0
// The bounded JSON writer and the strict scanner of common/wire.
#include <cstring>
#include <string>
#include <vector>

#include "common/wire/json_line.h"
#include "common/wire/json_scan.h"
#include "common/wire/utf8.h"
#include "tests/cmocka.hh"

namespace {

std::string written(const std::string& text, size_t* replaced = nullptr) {
  char data[4096];
  nvab_json_line line;
  nvab_json_begin(&line, data, sizeof data);
  const size_t count = nvab_json_text(&line, text.data(), text.size());
  if (replaced != nullptr) *replaced = count;
  return std::string(data, nvab_json_end(&line));
}

// The decoded string, or the problem behind a '!'.
std::string scanned(const std::string& json, size_t room = 64) {
  std::vector<char> out(room);
  nvab_json_scan scan;
  nvab_json_scan_begin(&scan, json.data(), json.size());
  if (nvab_json_read_text(&scan, out.data(), room) && nvab_json_at_end(&scan)) return out.data();
  return std::string("!") + (scan.problem ? scan.problem : "something follows");
}

bool skips(const std::string& json) {
  nvab_json_scan scan;
  nvab_json_scan_begin(&scan, json.data(), json.size());
  return nvab_json_skip(&scan) && nvab_json_at_end(&scan);
}

// The number, or -1.
long long number(const std::string& json, uint64_t max = 255) {
  nvab_json_scan scan;
  uint64_t value = 0;
  nvab_json_scan_begin(&scan, json.data(), json.size());
  if (!nvab_json_read_u64(&scan, max, &value) || !nvab_json_at_end(&scan)) return -1;
  return static_cast<long long>(value);
}

// Microseconds since 1970, or -1.
long long time_of(const std::string& text) {
  const std::string json = '"' + text + '"';
  nvab_json_scan scan;
  int64_t value = 0;
  nvab_json_scan_begin(&scan, json.data(), json.size());
  return nvab_json_read_time(&scan, &value) ? value : -1;
}

std::string formatted(int64_t wall_us) {
  char text[NVAB_TIME_TEXT_SIZE];
  nvab_format_time(wall_us, text);
  return text;
}

void utf8_takes_the_standard_s_borders_and_refuses_their_neighbours(void**) {
  for (const char* good : {"a", "\xC2\x80", "\xDF\xBF", "\xE0\xA0\x80", "\xED\x9F\xBF",
                           "\xEE\x80\x80", "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF"}) {
    assert_int_equal(nvab_utf8_length(good, strlen(good)), strlen(good));
    assert_true(nvab_utf8_valid(good, strlen(good)));
  }
  for (const char* bad : {"\x80", "\xC0\x80", "\xC1\xBF", "\xE0\x9F\xBF", "\xED\xA0\x80",
                          "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xFF"}) {
    assert_int_equal(nvab_utf8_length(bad, strlen(bad)), 0);
    assert_false(nvab_utf8_valid(bad, strlen(bad)));
  }
  assert_int_equal(nvab_utf8_length("\xE2\x82\xAC", 2), 0);
  assert_int_equal(nvab_utf8_length("", 0), 0);
}

void utf8_encoding_is_the_inverse_of_decoding(void**) {
  char out[4];
  assert_int_equal(nvab_utf8_encode(0x41, out), 1);
  assert_memory_equal(out, "A", 1);
  assert_int_equal(nvab_utf8_encode(0xE9, out), 2);
  assert_memory_equal(out, "\xC3\xA9", 2);
  assert_int_equal(nvab_utf8_encode(0x20AC, out), 3);
  assert_memory_equal(out, "\xE2\x82\xAC", 3);
  assert_int_equal(nvab_utf8_encode(0x1F600, out), 4);
  assert_memory_equal(out, "\xF0\x9F\x98\x80", 4);
}

void text_is_escaped_and_made_utf8(void**) {
  size_t replaced = 0;
  assert_string_equal(written("a\"b\\c\n\t\r\x01\x7F").c_str(),
                      "\"a\\\"b\\\\c\\n\\t\\r\\u0001\\u007f\"\n");
  assert_string_equal(written("\xC3\xA9 \xE9 \xFF", &replaced).c_str(),
                      "\"\xC3\xA9 \xEF\xBF\xBD \xEF\xBF\xBD\"\n");
  assert_int_equal(replaced, 2);
}

void a_line_that_does_not_fit_has_no_length_and_writes_nothing_beyond(void**) {
  char data[16];
  memset(data, 'x', sizeof data);
  nvab_json_line line;
  nvab_json_begin(&line, data, 8);
  nvab_json_text(&line, "0123456789", 10);
  assert_int_equal(nvab_json_end(&line), 0);
  for (size_t i = 8; i < sizeof data; i++) assert_int_equal(data[i], 'x');

  nvab_json_begin(&line, data, 8);
  nvab_json_text(&line, "01234", 5);
  assert_int_equal(nvab_json_end(&line), 8);
}

void members_and_elements_get_their_commas(void**) {
  char data[256];
  nvab_json_line line;
  nvab_json_begin(&line, data, sizeof data);
  nvab_json_open(&line, '{');
  nvab_json_key(&line, "a");
  nvab_json_open(&line, '[');
  nvab_json_u64(&line, UINT64_MAX);
  nvab_json_i64(&line, INT64_MIN);
  nvab_json_close(&line, ']');
  nvab_json_key(&line, "b");
  nvab_json_open(&line, '{');
  nvab_json_close(&line, '}');
  nvab_json_key(&line, "c");
  nvab_json_bool(&line, false);
  nvab_json_key(&line, "d");
  nvab_json_null(&line);
  nvab_json_close(&line, '}');
  const std::string got(data, nvab_json_end(&line));
  assert_string_equal(
      got.c_str(),
      "{\"a\":[18446744073709551615,-9223372036854775808],\"b\":{},\"c\":false,\"d\":null}\n");
}

void times_go_both_ways_across_leap_days_and_centuries(void**) {
  // Right values from `date -u -d TIME +%s`.
  assert_string_equal(formatted(0).c_str(), "1970-01-01T00:00:00.000000Z");
  assert_string_equal(formatted(951827696123456).c_str(), "2000-02-29T12:34:56.123456Z");
  assert_string_equal(formatted(1767225599999999).c_str(), "2025-12-31T23:59:59.999999Z");
  assert_string_equal(formatted(4107542400000000).c_str(), "2100-03-01T00:00:00.000000Z");
  assert_string_equal(formatted(-5).c_str(), "1970-01-01T00:00:00.000000Z");
  assert_string_equal(formatted(INT64_MAX).c_str(), "9999-12-31T23:59:59.999999Z");
  for (int64_t us : {INT64_C(0), INT64_C(951827696123456), INT64_C(4107542399999999),
                     INT64_C(253402300799999999)}) {
    assert_int_equal(time_of(formatted(us)), us);
  }
}

void times_may_have_fewer_digits_but_nothing_else(void**) {
  assert_int_equal(time_of("2000-02-29T12:34:56Z"), 951827696000000);
  assert_int_equal(time_of("2000-02-29T12:34:56.5Z"), 951827696500000);
  assert_int_equal(time_of("2000-02-29T12:34:56.123456789Z"), 951827696123456);
  for (const char* bad :
       {"", "2000-02-29T12:34:56", "2000-02-29T12:34:56.Z", "2000-02-30T12:34:56Z",
        "2100-02-29T00:00:00Z", "2000-13-01T00:00:00Z", "2000-00-01T00:00:00Z",
        "2000-01-01T24:00:00Z", "2000-01-01 00:00:00Z", "2000-01-01T00:00:00+01:00",
        "1969-12-31T23:59:59Z", "2000-1-001T00:00:00Z", "2000-01-01T00:00:00.1Zx",
        "2000-01-01T00:00:00.1234567890123456789012Z"}) {
    assert_int_equal(time_of(bad), -1);
  }
}

void strings_are_decoded(void**) {
  assert_string_equal(scanned(R"( "a\"\\\/\b\f\n\r\t" )").c_str(), "a\"\\/\b\f\n\r\t");
  assert_string_equal(scanned(R"("\u0041\u00e9\u20AC\ud83d\ude00")").c_str(),
                      "A\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80");
  assert_string_equal(scanned("\"1234567\"", 8).c_str(), "1234567");
}

void strings_that_are_not_right_are_refused(void**) {
  assert_string_equal(scanned("\"12345678\"", 8).c_str(), "!a string is too long");
  assert_string_equal(scanned("\"abc").c_str(), "!a string is not UTF-8, or has no end");
  assert_string_equal(scanned("\"a\xE9\"").c_str(), "!a string is not UTF-8, or has no end");
  assert_string_equal(scanned("\"a\nb\"").c_str(), "!a string holds a control character");
  assert_string_equal(scanned(std::string("\"a\0b\"", 5)).c_str(),
                      "!a string holds a control character");
  assert_string_equal(scanned(R"("\u0000")").c_str(), "!a string holds a zero character");
  assert_string_equal(scanned(R"("\ud83d")").c_str(), "!a surrogate stands alone");
  assert_string_equal(scanned(R"("\ude00\ud83d")").c_str(), "!a surrogate stands alone");
  assert_string_equal(scanned(R"("\ud83dx")").c_str(), "!a surrogate stands alone");
  assert_string_equal(scanned(R"("\u12g4")").c_str(), "!\\u needs four hexadecimal digits");
  assert_string_equal(scanned(R"("\u12)").c_str(), "!\\u needs four hexadecimal digits");
  assert_string_equal(scanned(R"("\x41")").c_str(), "!an escape is unknown");
  assert_string_equal(scanned("\"\\").c_str(), "!an escape is unknown");
  assert_string_equal(scanned("12").c_str(), "!a string was expected");
}

void numbers_are_whole_and_bounded(void**) {
  assert_int_equal(number("0"), 0);
  assert_int_equal(number(" 255 "), 255);
  // -1 is the mark of a failure, so not UINT64_MAX itself.
  assert_int_equal(number("18446744073709551614", UINT64_MAX), -2);
  assert_int_equal(number("18446744073709551616", UINT64_MAX - 1), -1);
  for (const char* bad : {"256", "01", "-1", "1.0", "1e2", "", "x", "+1", "99999999999999999999"}) {
    assert_int_equal(number(bad), -1);
  }
  assert_int_equal(number("7", 5), -1);
}

void any_value_can_be_skipped_if_it_is_json(void**) {
  for (const char* good :
       {"{}", "[]", "null", "true", "-0.5e-3", "0", "1E+9", R"({"a":[1,{"b":"c\u0041"}],"d":{}})",
        "[[[[[[[[1]]]]]]]]", " [ 1 , 2 ] "}) {
    assert_true(skips(good));
  }
  for (const char* bad : {"", "{", "[1,]", "[1 2]", "{\"a\"}", "{\"a\":}", "{,}", "nul", "tru", "-",
                          "1.", "1e", "00", ".5", "{a:1}", "[[[[[[[[[1]]]]]]]]]", "[1]]"}) {
    assert_false(skips(bad));
  }
  // A deep nest is refused, not followed.
  assert_false(skips(std::string(100000, '[')));
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(utf8_takes_the_standard_s_borders_and_refuses_their_neighbours),
      cmocka_unit_test(utf8_encoding_is_the_inverse_of_decoding),
      cmocka_unit_test(text_is_escaped_and_made_utf8),
      cmocka_unit_test(a_line_that_does_not_fit_has_no_length_and_writes_nothing_beyond),
      cmocka_unit_test(members_and_elements_get_their_commas),
      cmocka_unit_test(times_go_both_ways_across_leap_days_and_centuries),
      cmocka_unit_test(times_may_have_fewer_digits_but_nothing_else),
      cmocka_unit_test(strings_are_decoded),
      cmocka_unit_test(strings_that_are_not_right_are_refused),
      cmocka_unit_test(numbers_are_whole_and_bounded),
      cmocka_unit_test(any_value_can_be_skipped_if_it_is_json),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
