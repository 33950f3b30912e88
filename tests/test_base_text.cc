// SPDX-License-Identifier: Apache-2.0
// Text: the border that hostile bytes cross, and the small functions.
#include "common/base/text.hh"

#include "tests/cmocka.hh"

using namespace nvab;

static void trim_takes_blanks_off_both_ends(void**) {
  assert_true(trim(" \t a b\r\n") == "a b");
  assert_true(trim(" \n ").empty());
  assert_true(trim("").empty());
}

static void split_keeps_empty_parts_and_join_is_its_inverse(void**) {
  const auto parts = split("a,,b,", ',');
  assert_int_equal(parts.size(), 4);
  assert_true(parts[1].empty() && parts[2] == "b" && parts[3].empty());
  assert_int_equal(split("", ',').size(), 1);
  const std::vector<std::string> list{"a", "", "b"};
  assert_string_equal(join(list, ", ").c_str(), "a, , b");
}

static void case_is_ascii_only(void**) {
  assert_string_equal(lower("ABC-Ä1").c_str(), "abc-Ä1");
  assert_true(starts_with_nocase("NVRM: Xid", "nvrm"));
  assert_false(starts_with_nocase("NV", "nvrm"));
}

static void numbers_are_whole_strings(void**) {
  assert_int_equal(*parse_int("-12"), -12);
  assert_int_equal(*parse_int("+12"), 12);
  assert_int_equal(*parse_int("9223372036854775807"), 9223372036854775807LL);
  for (const char* bad : {"", "+", "-", "+-1", "1x", " 1", "1 ", "0x10", "9223372036854775808"}) {
    if (parse_int(bad)) fail_msg("'%s' was read as an integer", bad);
  }
  assert_true(*parse_double("2.5e3") == 2500.0);
  for (const char* bad : {"", "1,5", "1.5s", "+-1"}) {
    if (parse_double(bad)) fail_msg("'%s' was read as a number", bad);
  }
}

static void valid_utf8_passes_untouched(void**) {
  std::size_t replaced = 0;
  const char* text = "tab\tnewline\n ü € 😀 \xED\x9F\xBF \xEE\x80\x80 \xF4\x8F\xBF\xBF";
  assert_string_equal(sanitize(text, &replaced).c_str(), text);
  assert_int_equal(replaced, 0);
}

static void invalid_bytes_become_the_replacement_character_and_are_counted(void**) {
  struct Row {
    const char* bytes;
    const char* wanted;
    std::size_t replaced;
  };
  const Row rows[] = {
      {"a\xFFz", "a\uFFFDz", 1},
      {"\xC3", "\uFFFD", 1},                                // cut in the middle
      {"\xC0\xAF", "\uFFFD\uFFFD", 2},                      // overlong '/'
      {"\xE0\x80\xAF", "\uFFFD\uFFFD\uFFFD", 3},            // overlong
      {"\xED\xA0\x80", "\uFFFD\uFFFD\uFFFD", 3},            // surrogate
      {"\xF4\x90\x80\x80", "\uFFFD\uFFFD\uFFFD\uFFFD", 4},  // past U+10FFFF
      {"\xE2\x82 x", "\uFFFD\uFFFD x", 2},
      {"caf\xE9 ok", "caf\uFFFD ok", 1},  // Latin-1
  };
  for (const Row& row : rows) {
    std::size_t replaced = 0;
    assert_string_equal(sanitize(row.bytes, &replaced).c_str(), row.wanted);
    assert_int_equal(replaced, row.replaced);
    // Wherever it stands in the blocks that are looked at together.
    for (const std::size_t before : {0, 1, 30, 31, 32, 33, 70}) {
      const std::string text = std::string(before, 'x') + row.bytes + std::string(40, 'y');
      assert_int_equal(is_utf8(text), row.replaced == 0);
    }
  }
}

static void replacing_invalid_utf8_keeps_controls(void**) {
  std::size_t replaced = 0;
  const std::string_view bytes(
      "\x1B[1m\r\0a\xFF"
      "b\xE9",
      10);
  const std::string_view wanted("\x1B[1m\r\0a\uFFFDb\uFFFD", 14);
  assert_true(replace_invalid_utf8(bytes, &replaced) == wanted);
  assert_int_equal(replaced, 2);
  assert_true(replace_invalid_utf8("ü").size() == 2);
}

static void controls_and_colours_are_dropped(void**) {
  std::size_t replaced = 0;
  assert_string_equal(sanitize(std::string_view("a\0b\rc\x7F", 6), &replaced).c_str(), "abc");
  assert_int_equal(replaced, 3);
  assert_string_equal(sanitize("\x1B[1;31mred\x1B[0m").c_str(), "red");
  assert_string_equal(sanitize("\x1B]0;title\aafter").c_str(), "after");
  assert_string_equal(sanitize("\x1B]8;;http://x\x1B\\link").c_str(), "link");
  assert_string_equal(sanitize("\x1B(Bx").c_str(), "x");
  assert_string_equal(sanitize("\xC2\x9B"
                               "31mx")
                          .c_str(),
                      "31mx");
}

static void an_unfinished_escape_costs_only_itself(void**) {
  assert_string_equal(sanitize("\x1B[12;").c_str(), "[12;");
  assert_string_equal(sanitize("a\x1B").c_str(), "a");
  assert_string_equal(sanitize("\x1B]0;no end\nnext").c_str(), "]0;no end\nnext");
}

static void an_excerpt_is_cut_between_characters(void**) {
  assert_string_equal(excerpt("short", 10).c_str(), "short");
  assert_string_equal(excerpt("12345", 5).c_str(), "12345");
  assert_string_equal(excerpt("123456", 5).c_str(), "12345…");
  assert_string_equal(excerpt("ab€", 4).c_str(), "ab…");
}

static void the_nearest_name_is_a_likely_slip_or_nothing(void**) {
  const std::string_view names[] = {"timeout_seconds", "jobs", "source", "strict"};
  assert_true(nearest("timeout_secnds", names) == "timeout_seconds");
  assert_true(nearest("suorce", names) == "source");
  assert_true(nearest("JOBS", names) == "jobs");
  assert_true(nearest("job", names) == "jobs");
  assert_true(nearest("password", names).empty());
  assert_true(nearest("", names).empty());
  assert_true(nearest(std::string(100'000, 'a'), names).empty());
}

static void globs_match_whole_texts_in_bounded_time(void**) {
  assert_true(glob_match("gpu.xid.*", "gpu.xid.79"));
  assert_false(glob_match("gpu.xid.*", "a gpu.xid.79"));
  assert_true(glob_match("*", ""));
  assert_true(glob_match("a*b?c", "aXXbYbZc"));
  assert_false(glob_match("a?c", "ac"));
  assert_true(glob_match("[a]", "[a]"));
  assert_false(glob_match("", "a"));
  const std::string stars(200, '*'), text(20'000, 'a');
  assert_false(glob_match("*a*a*a*a*a*a*a*a*b" + stars, text));
}

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(trim_takes_blanks_off_both_ends),
      cmocka_unit_test(split_keeps_empty_parts_and_join_is_its_inverse),
      cmocka_unit_test(case_is_ascii_only),
      cmocka_unit_test(numbers_are_whole_strings),
      cmocka_unit_test(valid_utf8_passes_untouched),
      cmocka_unit_test(invalid_bytes_become_the_replacement_character_and_are_counted),
      cmocka_unit_test(replacing_invalid_utf8_keeps_controls),
      cmocka_unit_test(controls_and_colours_are_dropped),
      cmocka_unit_test(an_unfinished_escape_costs_only_itself),
      cmocka_unit_test(an_excerpt_is_cut_between_characters),
      cmocka_unit_test(the_nearest_name_is_a_likely_slip_or_nothing),
      cmocka_unit_test(globs_match_whole_texts_in_bounded_time),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
