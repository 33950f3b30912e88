// SPDX-License-Identifier: Apache-2.0
// The literal matcher against plain searching, at every alignment.
#include "common/engine/literal_matcher.hh"

#include <algorithm>
#include <random>
#include <string>

#include "common/base/text.hh"
#include "tests/cmocka.hh"

using namespace nvab;

namespace {

std::vector<OwnedLiteral> owned(std::initializer_list<const char*> texts) {
  std::vector<OwnedLiteral> literals;
  for (const char* text : texts) {
    literals.push_back({{text, false}, static_cast<std::uint32_t>(literals.size())});
  }
  return literals;
}

// What the matcher must find, the slow way.
std::vector<std::uint32_t> search(const std::vector<OwnedLiteral>& literals,
                                  const std::string& text) {
  std::vector<std::uint32_t> found;
  for (const OwnedLiteral& owned : literals) {
    const bool hit = owned.literal.caseless
                         ? lower(text).find(owned.literal.text) != std::string::npos
                         : text.find(owned.literal.text) != std::string::npos;
    if (hit) found.push_back(owned.owner);
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

}  // namespace

static void a_literal_is_found_at_every_place_and_length(void**) {
  const std::string alphabet = "abcdefghijklmnopqrstuvwxyzABCDEFGH";
  for (std::size_t length = 2; length <= kMaxLiteral; ++length) {
    const std::string text = alphabet.substr(0, length);
    const LiteralMatcher matcher(std::vector<OwnedLiteral>{{{text, false}, 7}});
    for (std::size_t before = 0; before < 9; ++before) {
      for (std::size_t after = 0; after < 9; ++after) {
        const std::string bytes = std::string(before, '.') + text + std::string(after, '.');
        const std::size_t place = matcher.next(bytes, 0);
        assert_true(place >= before && place < before + length);
        assert_true(matcher.next(bytes, before) != LiteralMatcher::npos);
        assert_true(matcher.next(bytes, before + 1) == LiteralMatcher::npos);
        assert_true(matcher.next(bytes.substr(0, before + length - 1), 0) == LiteralMatcher::npos);
        std::vector<std::uint32_t> owners;
        matcher.owners(bytes, &owners);
        assert_true(owners == std::vector<std::uint32_t>{7});
      }
    }
  }
}

static void caseless_literals_match_either_case_and_nothing_else(void**) {
  const LiteralMatcher matcher(
      std::vector<OwnedLiteral>{{{"out of memory", true}, 0}, {{"Exact Case", false}, 1}});
  std::vector<std::uint32_t> owners;
  matcher.owners("OUT of MeMoRy; exact case", &owners);
  assert_true(owners == std::vector<std::uint32_t>{0});
  owners.clear();
  matcher.owners("out@of@memory; Exact Case", &owners);  // '@' differs from ' ' by more than case
  assert_true(owners == std::vector<std::uint32_t>{1});
  assert_true(matcher.next("OUT\0OF\0MEMORY", 0) == LiteralMatcher::npos);
}

static void places_ascend_line_by_line(void**) {
  const LiteralMatcher matcher(owned({"needle", "haystack"}));
  const std::string bytes = "a needle\nnothing\nhaystack needle\nx\nneedle\n";
  std::vector<std::size_t> lines;
  for (std::size_t at = 0; (at = matcher.next(bytes, at)) != LiteralMatcher::npos;) {
    lines.push_back(static_cast<std::size_t>(
        std::count(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(at), '\n')));
    at = bytes.find('\n', at) + 1;
  }
  assert_true((lines == std::vector<std::size_t>{0, 2, 4}));
}

static void owners_come_once_and_in_order(void**) {
  const LiteralMatcher matcher(std::vector<OwnedLiteral>{
      {{"common part", false}, 5}, {{"common part", false}, 2}, {{"part of it", false}, 5}});
  std::vector<std::uint32_t> owners{99};
  matcher.owners("a common part of it, a common part", &owners);
  assert_true((owners == std::vector<std::uint32_t>{99, 2, 5}));
}

static void no_literals_find_nothing(void**) {
  const LiteralMatcher matcher(std::vector<OwnedLiteral>{});
  assert_true(matcher.next("whatever stands here", 0) == LiteralMatcher::npos);
  assert_true(matcher.next("", 0) == LiteralMatcher::npos);
  assert_true(matcher.next("abc", 0) == LiteralMatcher::npos);
}

// A small alphabet makes near misses, overlaps and shared grams common.
static void random_texts_give_what_a_plain_search_gives(void**) {
  std::mt19937 random(20260301);
  auto letter = [&] { return "abAB. "[random() % 6]; };
  auto word = [&](std::size_t length) {
    std::string text;
    for (std::size_t i = 0; i < length; ++i) text += letter();
    return text;
  };
  int hits = 0;
  for (int round = 0; round < 300; ++round) {
    std::vector<OwnedLiteral> literals;
    const std::size_t shortest = round % 3 == 0 ? 7 : round % 3 == 1 ? kMinLiteral : 3;
    for (std::uint32_t i = 0; i < 40; ++i) {
      std::string text = word(shortest + random() % 6);
      const bool caseless = random() % 4 == 0;
      literals.push_back({{caseless ? lower(text) : text, caseless}, i % 30});
    }
    const LiteralMatcher matcher(literals);
    for (int line = 0; line < 30; ++line) {
      std::string text = word(random() % 60);
      if (line % 2) text.insert(random() % (text.size() + 1), literals[random() % 40].literal.text);
      std::vector<std::uint32_t> owners;
      matcher.owners(text, &owners);
      const std::vector<std::uint32_t> wanted = search(literals, text);
      assert_true(owners == wanted);
      assert_true((matcher.next(text, 0) == LiteralMatcher::npos) == wanted.empty());
      hits += static_cast<int>(wanted.size());
    }
  }
  assert_true(hits > 4000);
}

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(a_literal_is_found_at_every_place_and_length),
      cmocka_unit_test(caseless_literals_match_either_case_and_nothing_else),
      cmocka_unit_test(places_ascend_line_by_line),
      cmocka_unit_test(owners_come_once_and_in_order),
      cmocka_unit_test(no_literals_find_nothing),
      cmocka_unit_test(random_texts_give_what_a_plain_search_gives),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
