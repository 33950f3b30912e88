// SPDX-License-Identifier: Apache-2.0
// INI: lines are known, and what inih would cut or mistake is refused.
#include "common/base/ini.hh"

#include <cstring>

#include "tests/cmocka.hh"

using nvab::parse_ini;

static std::string read(std::string_view text) {
  const auto entries = parse_ini("x.conf", text);
  if (!entries) return "error: " + entries.error().message;
  std::string out;
  for (const auto& entry : *entries) {
    out += std::to_string(entry.line) + "[" + entry.section + "]";
    if (!entry.key.empty()) out += entry.key + "=" + entry.value;
    out += " ";
  }
  return out;
}

static void entries_come_with_their_lines_and_empty_sections_too(void**) {
  assert_string_equal(
      read("# comment\n[run]\njobs = 4\n\n[log.journald]\n; x\n[log.loki.app]\nurl = \"http://a\"\n"
           "empty =\nnote = a ; comment\n")
          .c_str(),
      "2[run] 3[run]jobs=4 5[log.journald] 7[log.loki.app] 8[log.loki.app]url=http://a "
      "9[log.loki.app]empty= 10[log.loki.app]note=a ");
  assert_string_equal(read("\xEF\xBB\xBF[a]\r\nb = c\r\n").c_str(), "1[a] 2[a]b=c ");
  assert_string_equal(read("").c_str(), "");
}

static void an_indented_line_is_a_line_of_its_own(void**) {
  assert_string_equal(read("[a]\nb = c\n  d = e\n").c_str(), "1[a] 2[a]b=c 3[a]d=e ");
}

static void a_line_that_would_be_cut_is_refused(void**) {
  const std::string fits = "k = " + std::string(195, 'x');
  assert_int_equal(read("[a]\n" + fits + "\n").size(), std::strlen("1[a] 2[a]k= ") + 195);
  assert_string_equal(read("[a]\n\n" + fits + "y\nz = 1\n").c_str(),
                      "error: x.conf:3: the line has more than 199 characters, which INI cannot "
                      "hold; write the file as TOML");
  assert_non_null(
      std::strstr(read("[" + std::string(50, 's') + "]\n").c_str(), "x.conf:1: the section's"));
}

static void what_is_no_ini_is_refused_with_its_line(void**) {
  assert_non_null(std::strstr(read("[a]\nrubbish\n").c_str(), "error: x.conf:2: this is neither"));
  assert_non_null(std::strstr(read("[a\nb = c\n").c_str(), "error: x.conf:1:"));
  assert_non_null(std::strstr(read("[a]\n[a\nb = c\n").c_str(), "error: x.conf:2:"));
  assert_non_null(std::strstr(read("[a]\nrubbish\nb = 1\nb = 2").c_str(), "error: x.conf:2:"));
  assert_non_null(std::strstr(read("b = c\n").c_str(), "error: x.conf:1: 'b' stands in front"));
  assert_non_null(std::strstr(read("[a]\nb = 1\n[c]\n[a]\nb = 2\n").c_str(),
                              "error: x.conf:5: 'b' was already set in line 2"));
  assert_non_null(std::strstr(read(std::string_view("[a]\nb = c\0d\n", 12)).c_str(), "zero byte"));
}

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(entries_come_with_their_lines_and_empty_sections_too),
      cmocka_unit_test(an_indented_line_is_a_line_of_its_own),
      cmocka_unit_test(a_line_that_would_be_cut_is_refused),
      cmocka_unit_test(what_is_no_ini_is_refused_with_its_line),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
