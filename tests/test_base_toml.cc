// SPDX-License-Identifier: Apache-2.0
// The TOML tree: types, positions, errors.
#include "common/base/toml.hh"

#include "tests/cmocka.hh"

using namespace nvab;

static void every_type_comes_through_with_its_line(void**) {
  const auto document = parse_toml("a.toml",
                                   "text = \"x\"\n"
                                   "whole = -7\n"
                                   "real = 2.5\n"
                                   "flag = true\n"
                                   "day = 2026-03-01\n"
                                   "list = [1, 'two']\n"
                                   "[part]\n"
                                   "[[row]]\n"
                                   "name = 'first'\n");
  assert_true(document.has_value());
  assert_string_equal(document->get("text")->text.c_str(), "x");
  assert_int_equal(document->get("whole")->integer, -7);
  assert_true(document->get("whole")->real == -7.0);
  assert_true(document->get("real")->real == 2.5);
  assert_true(document->get("flag")->boolean);
  assert_string_equal(document->get("day")->text.c_str(), "2026-03-01");
  assert_int_equal(document->get("list")->elements.size(), 2);
  assert_true(document->get("list")->elements[1].is(Toml::Kind::string));
  assert_true(document->get("part")->is(Toml::Kind::table));
  assert_int_equal(document->get("row")->elements[0].get("name")->line, 9);
  assert_null(document->get("absent"));
}

static void a_syntax_error_names_file_line_and_column(void**) {
  const auto document = parse_toml("site.toml", "a = 1\nb = = 2\n");
  assert_false(document.has_value());
  assert_int_equal(document.error().code, Error::Code::malformed);
  assert_string_equal(document.error().message.substr(0, 14).c_str(), "site.toml:2:5:");
}

static void hostile_nesting_is_an_error_and_no_crash(void**) {
  const std::string deep = "a = " + std::string(100'000, '[');
  assert_false(parse_toml("deep.toml", deep).has_value());
}

static void literal_strings_keep_backslashes(void**) {
  const auto document = parse_toml("a.toml", R"(match = 'Xid \(PCI:(?<pci>[0-9:.]+)\)')");
  assert_string_equal(document->get("match")->text.c_str(), R"(Xid \(PCI:(?<pci>[0-9:.]+)\))");
}

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(every_type_comes_through_with_its_line),
      cmocka_unit_test(a_syntax_error_names_file_line_and_column),
      cmocka_unit_test(hostile_nesting_is_an_error_and_no_crash),
      cmocka_unit_test(literal_strings_keep_backslashes),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
