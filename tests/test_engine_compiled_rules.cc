// SPDX-License-Identifier: Apache-2.0
// The rules as built into the program are the rules as written in the packs.
#include "common/engine/compiled_rules.hh"

#include "common/engine/builtin_packs.hh"
#include "common/engine/ruleset.hh"
// After ours: it defines fail() as a macro.
#include "tests/cmocka.hh"

using namespace nvab;

namespace {

std::unique_ptr<Ruleset> from_text() {
  std::vector<Pack> packs;
  for (const BuiltinPack& builtin : builtin_packs()) {
    packs.push_back(*parse_pack(std::string(builtin.name) + ".toml", builtin.text));
  }
  return std::move(*Ruleset::build("default", packs));
}

void what_was_compiled_is_what_was_written(void**) {
  const auto written = from_text();
  const auto linked = Ruleset::load("default", "");
  assert_true(linked.has_value());
  assert_string_equal((*linked)->name().digest.c_str(), written->name().digest.c_str());
  assert_string_equal((*linked)->name().version.c_str(), written->name().version.c_str());
  assert_int_equal((*linked)->rules().size(), written->rules().size());
  assert_true(written->rules().size() > 300);
  for (std::size_t i = 0; i < written->rules().size(); ++i) {
    const Rule& want = written->rules()[i];
    const Rule& got = (*linked)->rules()[i];
    assert_string_equal(got.id.c_str(), want.id.c_str());
    assert_string_equal(got.provenance.c_str(), want.provenance.c_str());
    assert_int_equal(got.line, want.line);
    const auto chosen = written->literals(want), kept = (*linked)->literals(got);
    assert_true(std::equal(chosen.begin(), chosen.end(), kept.begin(), kept.end()));
  }
}

void a_rule_survives_writing_with_every_field(void**) {
  CompiledRules rules;
  rules.version = "v";
  Rule rule;
  rule.id = "a.b";
  rule.everywhere = "bad_config";
  rule.sources = {Source::syslog, Source::node_metrics};
  rule.metric = MetricMatch{{"m"}, MetricTest::above, {1.5, -2}, 0.25, std::chrono::minutes(5)};
  rule.action = Action::requeue;
  rule.blames = Blame::peer;
  rule.reach = Reach::same_gpu;
  rule.within = std::chrono::hours(3);
  rule.drain = true;
  rules.rules = {rule};
  rules.literals = {{{"needle", true}}};
  const auto back = read_compiled(write_compiled(rules));
  assert_true(back.has_value());
  const Rule& got = back->rules[0];
  assert_string_equal(got.everywhere.c_str(), "bad_config");
  assert_int_equal(got.sources.size(), 2);
  assert_true(got.sources[1] == Source::node_metrics);
  assert_true(got.metric && got.metric->values[1] == -2 && got.metric->threshold == 0.25);
  assert_true(got.metric->hold == std::chrono::minutes(5));
  assert_true(got.action == Action::requeue && got.blames == Blame::peer);
  assert_true(got.reach == Reach::same_gpu && got.within == std::chrono::hours(3));
  assert_true(got.drain && !got.shadow);
  assert_true(back->literals[0][0].caseless);
}

void cut_bytes_are_refused(void**) {
  CompiledRules rules;
  rules.rules.resize(2);
  rules.literals.resize(2);
  const std::string whole = write_compiled(rules);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    assert_false(read_compiled(std::string_view(whole).substr(0, size)).has_value());
  }
  assert_true(read_compiled(whole).has_value());
  assert_false(read_compiled(whole + "x").has_value());
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(what_was_compiled_is_what_was_written),
      cmocka_unit_test(a_rule_survives_writing_with_every_field),
      cmocka_unit_test(cut_bytes_are_refused),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
