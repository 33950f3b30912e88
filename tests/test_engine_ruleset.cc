// SPDX-License-Identifier: Apache-2.0
// Rulesets: merging packs, the checks that need the pattern, matching, the digest.
#include "common/engine/ruleset.hh"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include "common/engine/builtin_packs.hh"
#include "common/engine/rules_image.hh"
#include "tests/cmocka.hh"

using namespace nvab;

namespace {

Pack pack_of(const std::string& name, const std::string& rules, const std::string& more = "") {
  auto pack = parse_pack(name + ".toml", "[pack]\nname = '" + name + "'\n" + more + rules);
  if (!pack) print_error("%s\n", pack.error().message.c_str());
  assert_true(pack.has_value());
  return std::move(*pack);
}

std::unique_ptr<Ruleset> ruleset_of(const std::vector<Pack>& packs) {
  auto rules = Ruleset::build("test", packs);
  if (!rules) print_error("%s\n", rules.error().message.c_str());
  assert_true(rules.has_value());
  return std::move(*rules);
}

std::string error_of(const std::vector<Pack>& packs) {
  const auto rules = Ruleset::build("test", packs);
  return rules ? "(no error)" : rules.error().message;
}

void expect_error(const std::string& rules, const char* part) {
  const std::string message = error_of({pack_of("p", rules)});
  if (message.find(part) != std::string::npos) return;
  print_error("got:  %s\nwant: %s\n", message.c_str(), part);
  ::fail();
}

std::string rule_of(const std::string& id, const std::string& match, const std::string& more = "") {
  return "[[rule]]\nid = '" + id + "'\nrole = 'cascade'\nmatch = '" + match + "'\n" + more + "\n";
}

std::string ids_of(const std::vector<RuleMatch>& matches) {
  std::string ids;
  for (const RuleMatch& match : matches) ids += (ids.empty() ? "" : " ") + match.rule->id;
  return ids;
}

std::string match_ids(const Ruleset& rules, std::string_view message,
                      Source source = Source::applog, std::string_view app = "") {
  std::vector<RuleMatch> matches;
  rules.match(message, source, app, &matches);
  return ids_of(matches);
}

}  // namespace

static void every_rule_that_matches_comes_with_its_captures(void**) {
  const auto rules =
      ruleset_of({pack_of("p", rule_of("a.gone", "GPU (?<gpu>[0-9]+) is gone") +
                                   rule_of("a.any", "is gone from (?<node>[a-z0-9]+)") +
                                   rule_of("a.other", "is not gone"))});
  std::vector<RuleMatch> matches;
  rules->match("GPU 3 is gone from n7", Source::applog, "", &matches);
  assert_string_equal(ids_of(matches).c_str(), "a.any a.gone");
  assert_string_equal(std::string(matches[1].captures[0].name).c_str(), "gpu");
  assert_string_equal(std::string(matches[1].captures[0].text).c_str(), "3");
  assert_string_equal(match_ids(*rules, "GPU x is gone").c_str(), "");
}

static void source_and_app_must_fit(void**) {
  const auto rules = ruleset_of(
      {pack_of("p", rule_of("a.kernel", "link went down", "source=['syslog']\napp=['kern*']"))});
  assert_string_equal(match_ids(*rules, "link went down", Source::syslog, "kernel").c_str(),
                      "a.kernel");
  assert_string_equal(match_ids(*rules, "link went down", Source::syslog, "slurmd").c_str(), "");
  assert_string_equal(match_ids(*rules, "link went down", Source::applog, "kernel").c_str(), "");
}

static void unless_takes_a_match_away(void**) {
  const auto rules = ruleset_of({pack_of("p", rule_of("a.b", "broken pipe", "unless='^echo '"))});
  assert_string_equal(match_ids(*rules, "a broken pipe").c_str(), "a.b");
  assert_string_equal(match_ids(*rules, "echo broken pipe").c_str(), "");
}

static void anchors_hold_at_the_lines_of_a_block(void**) {
  const auto rules = ruleset_of({pack_of("p", rule_of("a.b", "^ValueError: (?<value>.*)$"))});
  assert_string_equal(match_ids(*rules, "Traceback:\n  File\nValueError: no\nmore").c_str(), "a.b");
  assert_string_equal(match_ids(*rules, "see ValueError: no").c_str(), "");
}

static void progress_rules_match_apart(void**) {
  const auto rules = ruleset_of(
      {pack_of("p", "[[rule]]\nid='p.step'\nrole='progress'\nmatch='step (?<step>[0-9]+)'\n" +
                        rule_of("a.b", "lost at step"))});
  assert_string_equal(match_ids(*rules, "lost at step 7").c_str(), "a.b");
  std::vector<RuleMatch> matches;
  rules->match_progress("lost at step 7", Source::applog, &matches);
  assert_string_equal(ids_of(matches).c_str(), "p.step");
  assert_true(rules->next_candidate("step 7 of 9", 0) == Ruleset::npos);
  assert_true(rules->next_candidate("lost at step 7", 0) != Ruleset::npos);
}

static void a_later_pack_overrides_and_disables(void**) {
  const Pack base =
      pack_of("base", rule_of("a.one", "first text") + rule_of("a.two", "second text"));
  const Pack site = pack_of("site", rule_of("a.one", "other text"), "disable = ['a.two']\n");
  const auto rules = ruleset_of({base, site});
  assert_int_equal(rules->rules().size(), 1);
  assert_string_equal(rules->find("a.one")->pack.c_str(), "site");
  assert_null(rules->find("a.two"));
  assert_string_equal(match_ids(*rules, "first text, second text, other text").c_str(), "a.one");
  assert_string_equal(error_of({base, pack_of("site", "", "disable = ['a.tow']\n")}).c_str(),
                      "pack site: disable: there is no rule a.tow; did you mean 'a.two'?");
}

static void patterns_are_checked_when_built(void**) {
  expect_error(rule_of("a.b", "unclosed (group"), "p.toml:3: rule a.b: compiling the pattern");
  expect_error(rule_of("a.b", "good text", "unless='['"), "rule a.b: unless: ");
  expect_error(rule_of("a.b", "[0-9]+"), "rule a.b: every match must hold a literal of 5 bytes");
  expect_error(rule_of("a.b", "some text (?<gpu>[0-9])", "explanation='GPU {gpo} is bad'"),
               "explanation: no capture is called 'gpo'");
  expect_error(rule_of("a.b", "some text", "explanation='GPU {gpu is bad'"),
               "no capture is called");
  assert_string_equal(
      error_of({pack_of("p", rule_of("a.b", "some (?<x>text)", "explanation='{x} on {node}'"))})
          .c_str(),
      "(no error)");
}

static void explains_must_not_go_round(void**) {
  expect_error(rule_of("a.b", "text one", "explains=['a.c']") +
                   rule_of("a.c", "text two", "explains=['a.d']") +
                   rule_of("a.d", "text three", "explains=['a.b']"),
               "explains: goes round in a circle: a.b -> a.c -> a.d -> a.b");
  expect_error(rule_of("a.b", "text one", "explains=['a.b']"), "a.b -> a.b");
  assert_string_equal(error_of({pack_of("p", rule_of("a.b", "text one", "explains=['a.*']") +
                                                 rule_of("a.c", "text two", "explains=['a.b']"))})
                          .c_str(),
                      "(no error)");
}

static void the_digest_says_what_is_in_effect(void**) {
  const Pack one = pack_of("p", rule_of("a.b", "text one") + rule_of("a.c", "text two"));
  const Pack swapped = pack_of("p", rule_of("a.c", "text two") + rule_of("a.b", "text one"));
  const Pack tested = pack_of(
      "p", rule_of("a.b", "text one", "provenance='x'\n[[rule.test]]\nline='x'\nwant='match'") +
               rule_of("a.c", "text two"));
  const Pack other =
      pack_of("p", rule_of("a.b", "text one", "strength=71") + rule_of("a.c", "text two"));
  const std::string digest = ruleset_of({one})->name().digest;
  assert_true(digest.starts_with("sha256:") && digest.size() == 7 + 64);
  assert_string_equal(ruleset_of({swapped})->name().digest.c_str(), digest.c_str());
  assert_string_equal(ruleset_of({tested})->name().digest.c_str(), digest.c_str());
  assert_string_not_equal(ruleset_of({other})->name().digest.c_str(), digest.c_str());
}

static void a_clone_matches_the_same_and_shares_the_rules(void**) {
  const auto rules = ruleset_of({pack_of("p", rule_of("a.b", "text one"))});
  const auto copy = rules->clone();
  assert_string_equal(match_ids(*copy, "text one").c_str(), "a.b");
  assert_ptr_equal(copy->find("a.b"), rules->find("a.b"));
}

static void site_packs_are_read_in_order_of_their_names(void**) {
  std::string folder = std::filesystem::temp_directory_path() / "nvab-rules-XXXXXX";
  assert_non_null(mkdtemp(folder.data()));
  auto write = [&](const char* name, const std::string& text) {
    std::ofstream(folder + "/" + name) << text;
  };
  write("20-late.toml", "[pack]\nname='late'\n" + rule_of("site.one", "late text"));
  write("10-early.toml", "[pack]\nname='early'\n" + rule_of("site.one", "early text"));
  write("notes.txt", "not a pack");
  const auto rules = Ruleset::load("default", folder);
  assert_true(rules.has_value());
  assert_string_equal((*rules)->find("site.one")->pack.c_str(), "late");
  write("30-bad.toml", "[pack\n");
  const auto bad = Ruleset::load("default", folder);
  assert_false(bad.has_value());
  assert_true(bad.error().message.find("30-bad.toml:1:") != std::string::npos);
  std::filesystem::remove_all(folder);
  assert_true(Ruleset::load("default", folder).has_value());
}

static void the_image_of_the_build_is_what_the_packs_say(void**) {
  std::vector<Pack> packs;
  for (const BuiltinPack& builtin : builtin_packs()) {
    packs.push_back(*parse_pack(std::string(builtin.name) + ".toml", builtin.text));
  }
  const auto from_text = ruleset_of(packs);
  const auto from_image = Ruleset::load("test", "");
  assert_true(from_image.has_value());
  assert_string_equal((*from_image)->name().digest.c_str(), from_text->name().digest.c_str());
  assert_string_equal((*from_image)->name().version.c_str(), from_text->name().version.c_str());
  assert_int_equal((*from_image)->rules().size(), from_text->rules().size());
  for (const Rule& rule : from_text->rules()) {
    const Rule* other = (*from_image)->find(rule.id);
    assert_non_null(other);
    Rule without_tests = rule;  // which programs do not load
    without_tests.tests.clear();
    if (!(*other == without_tests)) fail_msg("the image changes %s", rule.id.c_str());
    assert_true(std::ranges::equal((*from_image)->literals(*other), from_text->literals(rule)));
  }
}

static void a_damaged_image_is_an_error(void**) {
  const RulesImage image{
      "1",
      "sha256:x",
      {{"peers", {"nccl.*", "mpi.*"}}},
      {{parse_pack("p", "[pack]\nname='p'\n" + rule_of("a.b", "text one"))->rules[0],
        {{"text one", false, 1}}}}};
  const std::string bytes = write_rules_image(image);
  const auto same = read_rules_image(bytes);
  assert_true(same.has_value());
  assert_true(same->sets == image.sets);
  assert_string_equal(same->rules[0].rule.match.c_str(), "text one");
  assert_int_equal(same->rules[0].literals[0].place, 1);
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    assert_false(read_rules_image(bytes.substr(0, length)).has_value());
  }
  assert_false(read_rules_image(bytes + "x").has_value());
}

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(every_rule_that_matches_comes_with_its_captures),
      cmocka_unit_test(source_and_app_must_fit),
      cmocka_unit_test(unless_takes_a_match_away),
      cmocka_unit_test(anchors_hold_at_the_lines_of_a_block),
      cmocka_unit_test(progress_rules_match_apart),
      cmocka_unit_test(a_later_pack_overrides_and_disables),
      cmocka_unit_test(patterns_are_checked_when_built),
      cmocka_unit_test(explains_must_not_go_round),
      cmocka_unit_test(the_digest_says_what_is_in_effect),
      cmocka_unit_test(a_clone_matches_the_same_and_shares_the_rules),
      cmocka_unit_test(site_packs_are_read_in_order_of_their_names),
      cmocka_unit_test(the_image_of_the_build_is_what_the_packs_say),
      cmocka_unit_test(a_damaged_image_is_an_error),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
