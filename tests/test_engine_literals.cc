// SPDX-License-Identifier: Apache-2.0
// Required literals: what is taken from a pattern, and what must never be taken for required.
#include "common/engine/literals.hh"

#include <string>

#include "common/base/regex.hh"
#include "tests/cmocka.hh"

using namespace nvab;

namespace {

std::string describe(const Result<std::vector<Literal>>& literals) {
  if (!literals) return "error: " + literals.error().message;
  std::string out;
  for (const Literal& literal : *literals) {
    if (!out.empty()) out += " | ";
    out += literal.text + (literal.caseless ? "/i" : "");
  }
  return out;
}

void expect_literals(const char* pattern, const char* wanted, bool caseless = false) {
  const std::string got = describe(required_literals(pattern, caseless));
  if (got == wanted) return;
  print_error("%s\n  got:  %s\n  want: %s\n", pattern, got.c_str(), wanted);
  ::fail();
}

void expect_refused(const char* pattern, const char* reason) {
  const std::string got = describe(required_literals(pattern, false));
  if (got.starts_with("error: ") && got.find(reason) != std::string::npos) return;
  print_error("%s\n  got:  %s\n  want: %s\n", pattern, got.c_str(), reason);
  ::fail();
}

}  // namespace

static void plain_text_is_its_own_literal(void**) {
  expect_literals("Bus error", "Bus error");
  expect_literals("a\\.b\\.c\\.d", "a.b.c.d");
  expect_literals("\\(core dumped\\)", "(core dumped)");
  expect_literals("x{y}zzy", "x{y}zzy");
  expect_literals("^start here$", "start here");
  expect_literals("\\bword here\\b", "word here");
}

static void the_longest_run_between_variable_parts_is_taken(void**) {
  expect_literals("ab\\d+NCCL timeout .{0,80}q", "NCCL timeout ");
  expect_literals("NVRM: Xid \\(PCI:(?<pci>[0-9a-fA-F:.]+)\\): 79,", "NVRM: Xid (PCI:");
  expect_literals("foobarx*baz", "foobar");
  expect_literals("foobarx?baz", "foobarbaz | foobarxbaz");
  expect_literals("fooba(?:qux)?", "fooba | foobaqux");
  expect_literals("abcdef+ghijk", "fghijk");
}

static void repeats_are_spelled_out_where_they_are_certain(void**) {
  expect_literals("(?:ab){3}", "ababab");
  expect_literals("xyzzy{0}quuxes", "quuxes");
  expect_literals("q{5}", "qqqqq");
  expect_literals("-{20,}abort", "--------abort");
}

static void alternatives_each_give_one(void**) {
  expect_literals("(?:first thing|second thing)", "first thing | second thing");
  expect_literals("one thing \\d|other thing \\w", "one thing  | other thing ");
  expect_literals("(?:cat|dog)house", "cathouse | doghouse");
  expect_literals("[Ff]ailed to frob", "Failed to frob | failed to frob");
  expect_literals("gr[ae]yish", "grayish | greyish");
}

static void caseless_patterns_give_caseless_literals(void**) {
  expect_literals("Loss is NaN", "loss is nan/i", true);
  expect_literals("(?i)Loss is NaN", "loss is nan/i");
  expect_literals("(?i:GPU) is lost!", "gpu is lost!/i");
  expect_literals("a(?-i)Bcdef", "abcdef/i", true);
}

static void lookarounds_take_no_room(void**) {
  expect_literals("foobar(?!x)baz", "foobarbaz");
  expect_literals("(?<!not )started", "started");
  expect_literals("x(?=needle here)", "needle here");
}

static void references_and_classes_end_a_literal(void**) {
  expect_literals("(?<a>\\w+) is not \\k<a>", " is not ");
  expect_literals("[[:alpha:]]+shaped\\p{L}things", "shaped");
}

static void hex_and_octal_escapes_are_bytes(void**) {
  expect_literals("\\x41\\x42CD\\x{45}", "ABCDE");
  expect_literals("tab\\there!", "tab\there!");
}

static void what_differs_in_raw_logs_is_no_part_of_a_literal(void**) {
  expect_literals("first line\\nsecond one is longer", "second one is longer");
  expect_literals("a \"quoted word\" or plainly told", " or plainly told");
}

static void ordinary_words_give_way_to_rare_ones(void**) {
  expect_literals("kernel: .* frobnitz", " frobnitz");
  expect_literals("NCCL INFO .{0,40}quaxled", "quaxled");
}

static void what_has_no_literal_is_refused(void**) {
  expect_refused("\\d+ \\w+", "the longest here is");
  expect_refused("abcd", "the longest here is 'abcd'");
  expect_refused("(?:long enough|no)", "in each alternative");
  expect_refused("(?:whatever)?", "5 bytes or more");
  expect_refused("(?:whatever)*", "5 bytes or more");
  expect_refused("(?!whatever)", "5 bytes or more");
  expect_refused("[^x]{5}", "5 bytes or more");
}

static void what_is_not_followed_is_refused(void**) {
  expect_refused("(?x) spaced out", "(?x");
  expect_refused("(*ACCEPT)whatever", "a verb");
  expect_refused("\\Qwhatever\\E", "\\Q");
  expect_refused("(a)(?(1)whatever|other)", "(?(");
  expect_refused("(unclosed", "without its ')'");
  expect_refused("unopened)", "unmatched");
  expect_refused("[unclosed", "without its ']'");
  expect_refused("ends with \\", "backslash at the end");
  expect_refused(std::string(200, '(').c_str(), "too many groups");
}

// Literals are required: whenever PCRE2 matches, one of them is in the text.
static void every_match_holds_a_literal(void**) {
  const struct {
    const char* pattern;
    const char* text;
  } rows[] = {
      {"(?:a|bc)+defgh|ijklm[no]", "xxbcadefgh"},
      {"(?:a|bc)+defgh|ijklm[no]", "ijklmo"},
      {"(?i)err(or)? in [A-C]-block", "ERROR IN b-BLOCK"},
      {"ab{2,3}cdefg", "abbbcdefg"},
      {"(?:x|yy?){2}zzzzz", "yyxzzzzz"},
      {"[]a]bcdef", "]bcdef"},
      {"[^]a]bcdef", "xbcdef"},
      {"[a-]bcdef", "-bcdef"},
      {"(?|one (a)|two (b)) tail", "two b tail"},
      {"(?>atomic )?group", "group"},
      {"a{,3}bcdefg", "a{,3}bcdefg"},
      {"\\x{41}bcdefg\\103", "AbcdefgC"},
      {"(?#comment)commented", "commented"},
      {"a\\Kbcdef", "abcdef"},
      {"(?<q>['\"])hello\\k<q>", "'hello'"},
      {"((?i)ABC)defgh", "abcdefgh"},
      {"((?i)ABC)defgh", "aBcdefgh"},
      {"(?s-i:Abc)defgh", "Abcdefgh"},
  };
  for (const auto& row : rows) {
    const auto regex = Regex::compile(row.pattern);
    assert_true(regex.has_value());
    if (!regex->matches(row.text)) print_error("%s does not match %s\n", row.pattern, row.text);
    assert_true(regex->matches(row.text));
    const auto literals = required_literals(row.pattern, false);
    if (!literals) print_error("%s: %s\n", row.pattern, literals.error().message.c_str());
    assert_true(literals.has_value());
    bool found = false;
    for (const Literal& literal : *literals) {
      std::string text = row.text;
      if (literal.caseless) {
        for (char& c : text) c = static_cast<char>(tolower(c));
      }
      found |= text.find(literal.text) != std::string::npos;
    }
    if (!found) print_error("%s: %s\n", row.pattern, describe(literals).c_str());
    assert_true(found);
  }
}

static void rare_texts_have_more_bits_than_common_ones(void**) {
  assert_true(rarity_bits("error: ") < rarity_bits("qzxjvkw"));
  assert_true(rarity_bits("NCCL INFO ") < rarity_bits("NCCL WARN "));
  assert_true(rarity_bits("failed") < rarity_bits("failed to frobnicate"));
  assert_true(rarity_bits("") == 0);
  assert_true(gram_share("erro") > gram_share("qzxj"));
}

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(plain_text_is_its_own_literal),
      cmocka_unit_test(the_longest_run_between_variable_parts_is_taken),
      cmocka_unit_test(repeats_are_spelled_out_where_they_are_certain),
      cmocka_unit_test(alternatives_each_give_one),
      cmocka_unit_test(caseless_patterns_give_caseless_literals),
      cmocka_unit_test(lookarounds_take_no_room),
      cmocka_unit_test(references_and_classes_end_a_literal),
      cmocka_unit_test(hex_and_octal_escapes_are_bytes),
      cmocka_unit_test(what_differs_in_raw_logs_is_no_part_of_a_literal),
      cmocka_unit_test(ordinary_words_give_way_to_rare_ones),
      cmocka_unit_test(what_has_no_literal_is_refused),
      cmocka_unit_test(what_is_not_followed_is_refused),
      cmocka_unit_test(every_match_holds_a_literal),
      cmocka_unit_test(rare_texts_have_more_bits_than_common_ones),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
