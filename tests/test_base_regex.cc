// SPDX-License-Identifier: Apache-2.0
// Regexes: captures by name, and hostile patterns and texts that end soon.
#include "common/base/regex.hh"

#include <chrono>
#include <cstring>

#include "tests/cmocka.hh"

using nvab::Regex;

static void named_groups_come_in_pattern_order_and_only_when_they_took_part(void**) {
  const auto regex = Regex::compile(R"((?<zulu>\d+)-(?:(?<alpha>[a-z]+)|(?<mike>[A-Z]+)))");
  assert_true(regex.has_value());
  const auto& names = regex->group_names();
  assert_int_equal(names.size(), 3);
  assert_true(names[0] == "zulu" && names[1] == "alpha" && names[2] == "mike");
  const auto captures = regex->match("see 12-ABC.");
  assert_true(captures.has_value());
  assert_int_equal(captures->size(), 2);
  assert_true((*captures)[0].name == "zulu" && (*captures)[0].text == "12");
  assert_true((*captures)[1].name == "mike" && (*captures)[1].text == "ABC");
  assert_false(regex->match("12-").has_value());
  assert_true(regex->matches("1-a"));
}

static void an_empty_capture_is_a_capture(void**) {
  const auto regex = Regex::compile("a(?<rest>.*)");
  const auto captures = regex->match("a");
  assert_int_equal(captures->size(), 1);
  assert_true(captures->front().text.empty());
}

static void anchors_hold_at_each_line_and_a_dot_stays_in_its_line(void**) {
  const auto regex = Regex::compile("^(?<line>b.*)$");
  const auto captures = regex->match("a\r\nbcd\r\ne");
  assert_true(captures.has_value());
  assert_true(captures->front().text == "bcd");
}

static void case_counts_unless_asked_otherwise(void**) {
  assert_false(Regex::compile("xid")->matches("Xid"));
  assert_true(Regex::compile("xid", true)->matches("Xid"));
}

static void any_bytes_may_be_searched(void**) {
  const auto regex = Regex::compile("\\x00(?<byte>.)end");
  const auto captures =
      regex->match(std::string_view("\xC3\0\xFF"
                                    "end",
                                    6));
  assert_true(captures.has_value());
  assert_true(captures->front().text == "\xFF");
}

static void a_bad_pattern_is_refused_with_its_offset(void**) {
  for (const char* bad : {"a(b", "[z-a]", "(?<n>a)(?<n>b)", "*a", "(*UTF)a"}) {
    const auto regex = Regex::compile(bad);
    if (regex) fail_msg("'%s' was compiled", bad);
    assert_true(regex.error().code == nvab::Error::Code::malformed);
    assert_non_null(std::strstr(regex.error().message.c_str(), "at offset "));
  }
  assert_false(Regex::compile(std::string(20'000, 'a')).has_value());
  assert_false(Regex::compile(std::string(5'000, '(') + std::string(5'000, ')')).has_value());
}

static void exponential_backtracking_ends_and_is_counted(void**) {
  const auto regex = Regex::compile("^(a+)+$");
  const auto start = std::chrono::steady_clock::now();
  assert_false(regex->matches(std::string(60'000, 'a') + "!"));
  assert_int_equal(regex->limits_hit(), 1);
  assert_true(std::chrono::steady_clock::now() - start < std::chrono::seconds(5));
  assert_true(regex->matches("aaa"));
  assert_int_equal(regex->limits_hit(), 1);
}

static void a_pattern_that_needs_stack_gets_it(void**) {
  const auto regex = Regex::compile("^(?:a|b)*(?<end>c)");
  std::string text;
  for (int i = 0; i < 5'000; ++i) text += i % 3 == 0 ? 'a' : 'b';
  assert_true(regex->match(text + "c").has_value());
  assert_int_equal(regex->limits_hit(), 0);
}

static void text_past_the_limit_is_not_looked_at(void**) {
  const auto regex = Regex::compile("needle");
  assert_true(regex->matches(std::string(nvab::kMaxMatchText - 6, ' ') + "needle"));
  assert_false(regex->matches(std::string(nvab::kMaxMatchText - 5, ' ') + "needle"));
}

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(named_groups_come_in_pattern_order_and_only_when_they_took_part),
      cmocka_unit_test(an_empty_capture_is_a_capture),
      cmocka_unit_test(anchors_hold_at_each_line_and_a_dot_stays_in_its_line),
      cmocka_unit_test(case_counts_unless_asked_otherwise),
      cmocka_unit_test(any_bytes_may_be_searched),
      cmocka_unit_test(a_bad_pattern_is_refused_with_its_offset),
      cmocka_unit_test(exponential_backtracking_ends_and_is_counted),
      cmocka_unit_test(a_pattern_that_needs_stack_gets_it),
      cmocka_unit_test(text_past_the_limit_is_not_looked_at),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
