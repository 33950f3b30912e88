// SPDX-License-Identifier: Apache-2.0
// ctest: timeout=600
// A rule in shadow mode is tried and reported, and changes no byte of any verdict: every scenario
// is judged with a copy in shadow mode of every built-in rule, each as a root that drains, as a
// benign rule that would take the lines from all others, and as progress and placement.
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "common/base/text.hh"
#include "common/engine/builtin_packs.hh"
#include "common/engine/collect.hh"
#include "tests/support/scenario_case.hh"
// After ours: it defines fail() as a macro.
#include "tests/cmocka.hh"

using namespace nvab;
using namespace nvab::test;

namespace {

std::vector<Pack> g_packs;
std::vector<ScenarioCase> g_scenarios;

std::unique_ptr<Ruleset> build(const std::vector<Pack>& packs) {
  auto rules = Ruleset::build("default", packs);
  if (!rules) fail_msg("%s", rules.error().message.c_str());
  return std::move(*rules);
}

// The pack with which a site would do most harm.
Pack shadows(Role role, const std::string& prefix) {
  Pack pack;
  pack.name = "site";
  for (const Pack& builtin : g_packs) {
    for (Rule rule : builtin.rules) {
      const bool progress = role == Role::progress || rule.role == Role::progress;
      if (progress && (rule.metric || role != rule.role)) continue;  // their literals are shorter
      rule.id = prefix + rule.id;
      rule.role = role;
      rule.shadow = true;
      rule.strength = 100;
      rule.explains = {"*"};
      if (rule.outcome.empty()) rule.outcome = "gpu_lost";
      rule.blames = Blame::node;
      rule.drain = true;
      rule.explanation.clear();
      rule.tests.clear();
      pack.rules.push_back(rule);
    }
  }
  return pack;
}

// Rules that hold for lines that nobody else reads.
Pack greedy_shadows() {
  auto pack = parse_pack("greedy.toml", R"([pack]
name = "greedy"
[[rule]]
id = "zz.loss"
title = "x"
match = 'loss[=:] ?|epoch |samples|iteration|elapsed|throughput|step '
caseless = true
role = "root"
outcome = "gpu_lost"
strength = 100
shadow = true
[[rule]]
id = "zz.any_metric"
title = "x"
metric = {names = ["*"], test = "increases", threshold = 0.0001}
role = "root"
outcome = "gpu_lost"
shadow = true
)");
  if (!pack) fail_msg("%s", pack.error().message.c_str());
  return std::move(*pack);
}

std::string bytes(Verdict verdict) {
  verdict.shadow.clear();
  verdict.ruleset = {};
  return to_json(verdict).dump();
}

void no_byte_changes(const Pack& pack, std::size_t reported_at_least) {
  const auto plain = build(g_packs);
  std::vector<Pack> packs = g_packs;
  packs.push_back(pack);
  const auto with_shadow = build(packs);
  std::size_t reported = 0;
  for (const ScenarioCase& scenario : g_scenarios) {
    const Verdict before = judge(*plain, scenario).verdict;
    const Verdict after = judge(*with_shadow, scenario).verdict;
    assert_true(before.shadow.empty());
    assert_true(after.shadow.size() <= kMaxShadow);
    reported += after.shadow.empty() ? 0 : 1;
    if (bytes(before) != bytes(after)) {
      fail_msg("%s:\n%s\n%s", scenario.name.c_str(), bytes(before).c_str(), bytes(after).c_str());
    }
  }
  assert_true(reported >= reported_at_least);
}

void roots_that_drain(void**) { no_byte_changes(shadows(Role::root, "zz."), 100); }
void benign_ones_that_take_all_lines(void**) { no_byte_changes(shadows(Role::benign, "zz."), 100); }
void placement(void**) { no_byte_changes(shadows(Role::placement, "zz."), 100); }
void progress(void**) { no_byte_changes(shadows(Role::progress, "zz."), 20); }
void greedy_ones(void**) { no_byte_changes(greedy_shadows(), 20); }

void what_was_found_is_in_the_json_and_comes_back(void**) {
  std::vector<Pack> packs = g_packs;
  packs.push_back(shadows(Role::root, "zz."));
  const auto rules = build(packs);
  const Verdict verdict = judge(*rules, g_scenarios.front()).verdict;
  const Json json = to_json(verdict);
  assert_true(json.get("shadow").size() > 0);
  const Json first = json.get("shadow").at(0);
  assert_string_equal(first.get("role").as_string()->c_str(), "root");
  assert_true(*first.get("events").as_int() > 0);
  const auto again = verdict_from_json(json);
  assert_true(again.has_value());
  assert_string_equal(to_json(*again).dump().c_str(), json.dump().c_str());
}

int load(void**) {
  for (const BuiltinPack& builtin : builtin_packs()) {
    g_packs.push_back(*parse_pack(std::string(builtin.name) + ".toml", builtin.text));
  }
  g_scenarios = load_scenarios(source_path("tests/scenarios"));
  return g_scenarios.size() > 100 ? 0 : 1;
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(roots_that_drain),
      cmocka_unit_test(benign_ones_that_take_all_lines),
      cmocka_unit_test(placement),
      cmocka_unit_test(progress),
      cmocka_unit_test(greedy_ones),
      cmocka_unit_test(what_was_found_is_in_the_json_and_comes_back),
  };
  return cmocka_run_group_tests(tests, load, nullptr);
}
