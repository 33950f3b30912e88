// SPDX-License-Identifier: Apache-2.0
// Rule packs: what a complete rule becomes, the defaults, and every kind of mistake.
#include <cstring>
#include <string>

#include "common/engine/rule.hh"
#include "tests/cmocka.hh"

using namespace nvab;

namespace {

constexpr const char* kHeader = "[pack]\nname = \"site\"\nversion = \"3\"\n";

Pack must_parse(const std::string& rules) {
  auto pack = parse_pack("site.toml", kHeader + rules);
  if (!pack) print_error("%s\n", pack.error().message.c_str());
  assert_true(pack.has_value());
  return std::move(*pack);
}

// The message of the error that `rules` must cause.
std::string error_of(const std::string& rules) {
  const auto pack = parse_pack("site.toml", kHeader + rules);
  if (pack) return "(no error)";
  assert_int_equal(pack.error().code, Error::Code::malformed);
  return pack.error().message;
}

void expect_error(const std::string& rule_lines, const char* part) {
  const std::string message = error_of("[[rule]]\n" + rule_lines);
  if (message.find(part) == std::string::npos) {
    print_error("got:  %s\nwant: %s\n", message.c_str(), part);
    ::fail();
  }
}

constexpr const char* kRoot =
    "id = 'a.b'\nmatch = 'broken pipe'\ntitle = 'T'\noutcome = 'gpu_lost'\n";

}  // namespace

static void every_field_of_a_line_rule_is_read(void**) {
  const Pack pack = must_parse(R"(
[[rule]]
id = "gpu.gone"
cause = "gpu_gone"
title = "GPU gone"
source = ["syslog", "scheduler"]
app = ["kernel", "nv*"]
match = 'GPU (?<gpu>\d+) is gone'
unless = 'echo'
caseless = true
role = "root"
outcome = "gpu_lost"
blames = "gpu"
strength = 90
generic = true
explains = ["cuda.*", "nccl.timeout"]
within = "2h"
reach = "same_gpu"
action = "requeue"
drain = true
advice = "Take it out."
explanation = "GPU {gpu} of {node} is gone."
provenance = "handbook 3"
shadow = true
[[rule.test]]
line = "GPU 3 is gone"
want = {gpu = "3"}
[[rule.test]]
line = "GPU is gone"
want = "no match"
)");
  assert_int_equal(pack.rules.size(), 1);
  const Rule& rule = pack.rules[0];
  assert_string_equal(rule.id.c_str(), "gpu.gone");
  assert_string_equal(rule.cause.c_str(), "gpu_gone");
  assert_string_equal(rule.title.c_str(), "GPU gone");
  assert_string_equal(rule.pack.c_str(), "site");
  assert_int_equal(rule.sources.size(), 2);
  assert_true(rule.sources[0] == Source::syslog && rule.sources[1] == Source::scheduler);
  assert_string_equal(rule.apps[1].c_str(), "nv*");
  assert_string_equal(rule.match.c_str(), "GPU (?<gpu>\\d+) is gone");
  assert_string_equal(rule.unless.c_str(), "echo");
  assert_true(rule.caseless && rule.generic && rule.drain && rule.shadow);
  assert_true(rule.role == Role::root && rule.blames == Blame::gpu &&
              rule.reach == Reach::same_gpu);
  assert_string_equal(rule.outcome.c_str(), "gpu_lost");
  assert_int_equal(rule.strength, 90);
  assert_string_equal(rule.explains[1].c_str(), "nccl.timeout");
  assert_true(rule.within == std::chrono::hours(2));
  assert_true(rule.action == Action::requeue);
  assert_string_equal(rule.advice.c_str(), "Take it out.");
  assert_string_equal(rule.explanation.c_str(), "GPU {gpu} of {node} is gone.");
  assert_string_equal(rule.provenance.c_str(), "handbook 3");
  assert_string_equal(rule.file.c_str(), "site.toml");
  assert_int_equal(rule.line, 5);
  assert_int_equal(rule.tests.size(), 2);
  assert_string_equal(rule.tests[0].want.at("gpu").c_str(), "3");
  assert_true(rule.tests[0].want_match);
  assert_false(rule.tests[1].want_match);
}

static void what_a_rule_leaves_out_has_defaults(void**) {
  const Pack pack = must_parse(std::string("[[rule]]\n") + kRoot);
  const Rule& rule = pack.rules[0];
  assert_string_equal(rule.cause.c_str(), "a_b");
  assert_int_equal(rule.sources.size(), 2);
  assert_true(rule.sources[0] == Source::applog && rule.sources[1] == Source::syslog);
  assert_true(rule.role == Role::root && rule.reach == Reach::job);
  assert_true(rule.blames == Blame::node);  // gpu_lost blames nodes
  assert_int_equal(rule.strength, 70);
  assert_true(rule.within == std::chrono::minutes(35));
  assert_false(rule.action.has_value());
  const Pack user =
      must_parse("[[rule]]\nid='a.c'\nmatch='m'\ntitle='t'\noutcome='user_exception'\n");
  assert_true(user.rules[0].blames == Blame::none);
  const Pack benign = must_parse("[[rule]]\nid='a.c'\nmatch='m'\nrole='benign'\n");
  assert_string_equal(benign.rules[0].title.c_str(), "a.c");
}

static void a_metric_rule_is_read(void**) {
  const Pack pack = must_parse(R"(
[[rule]]
id = "gpu.remap"
title = "Row remap failed"
outcome = "gpu_row_remap"
metric = {names = ["DCGM_FI_DEV_ROW_REMAP_FAILURE"], test = "changes_to", values = [1, 2.5]}
[[rule]]
id = "gpu.hot"
role = "confirmation"
metric = {names = ["T*"], test = "above", threshold = 90, hold = "5m"}
[[rule]]
id = "gpu.count"
role = "confirmation"
metric = {names = ["C"], test = "increases"}
)");
  const MetricMatch& sticky = *pack.rules[0].metric;
  assert_true(sticky.test == MetricTest::changes_to);
  assert_true(sticky.values.size() == 2 && sticky.values[1] == 2.5);
  assert_true(pack.rules[0].sources.size() == 1);
  assert_true(pack.rules[0].sources[0] == Source::node_metrics);
  assert_true(pack.rules[1].metric->threshold == 90);
  assert_true(pack.rules[1].metric->hold == std::chrono::minutes(5));
  assert_true(pack.rules[2].metric->threshold == 1);
}

static void a_pack_may_disable_rules_and_have_none(void**) {
  const auto pack =
      parse_pack("off.toml", "[pack]\nname = 'off'\ndisable = ['gpu.xid.79', 'nccl.x']\n");
  assert_true(pack.has_value());
  assert_int_equal(pack->rules.size(), 0);
  assert_int_equal(pack->disabled.size(), 2);
  assert_string_equal(pack->disabled[1].c_str(), "nccl.x");
}

static void a_misspelled_key_names_the_nearest(void**) {
  expect_error(std::string(kRoot) + "explian = ['x.*']\n",
               "site.toml:9: rule a.b: unknown key 'explian'; did you mean 'explains'?");
  expect_error(std::string(kRoot) + "metrik = 3\n", "did you mean 'metric'?");
  expect_error(std::string(kRoot) + "[[rule.test]]\nlime = 'x'\nwant = 'match'\n",
               "rule a.b: test: line is missing");
  expect_error(std::string(kRoot) + "[[rule.test]]\nline = 'x'\nwant = 'match'\nwnt = 1\n",
               "unknown key 'wnt'; did you mean 'want'?");
  const auto header = parse_pack("p.toml", "[pack]\nname = 'x'\nversoin = '1'\n");
  assert_non_null(strstr(header.error().message.c_str(), "did you mean 'version'?"));
  const auto top = parse_pack("p.toml", "[pack]\nname = 'x'\n[[rules]]\nid = 'a.b'\n");
  assert_non_null(strstr(top.error().message.c_str(), "unknown key 'rules'; did you mean 'rule'?"));
}

static void a_word_outside_its_list_names_the_nearest(void**) {
  expect_error("id='a.b'\nmatch='m'\ntitle='t'\noutcome='gpu_lots'\n",
               "outcome does not know 'gpu_lots'; did you mean 'gpu_lost'?");
  expect_error("id='a.b'\nmatch='m'\nrole='rot'\n",
               "role does not know 'rot'; did you mean 'root'?");
  expect_error(std::string(kRoot) + "source=['sys']\n", "source does not know 'sys'; there are: ");
  expect_error(std::string(kRoot) + "action='requeu'\n", "did you mean 'requeue'?");
  expect_error(std::string(kRoot) + "blames='host'\n", "blames does not know 'host'");
  expect_error(std::string(kRoot) + "reach='rank'\n", "reach does not know 'rank'");
}

static void wrong_types_and_ranges_are_errors(void**) {
  expect_error("id=3\nmatch='m'\n", "id wants a string, not a whole number");
  expect_error(std::string(kRoot) + "strength=0\n", "strength wants a number from 1 to 100, not 0");
  expect_error(std::string(kRoot) + "strength='9'\n",
               "strength wants a whole number, not a string");
  expect_error(std::string(kRoot) + "drain='yes'\n", "drain wants true or false, not a string");
  expect_error(std::string(kRoot) + "explains='x'\n", "explains wants an array, not a string");
  expect_error(std::string(kRoot) + "explains=[1]\n", "explains wants strings, not a whole number");
  expect_error(std::string(kRoot) + "within='soon'\n", "within wants a duration like \"35m\"");
  expect_error(std::string(kRoot) + "source=[]\n", "source is empty");
  expect_error(std::string(kRoot) + "[[rule.test]]\nline='x'\nwant='perhaps'\n",
               "want does not know 'perhaps'");
  expect_error(std::string(kRoot) + "[[rule.test]]\nline='x'\nwant={gpu=3}\n",
               "want wants strings");
  expect_error(std::string(kRoot) + "[[rule.test]]\nline='x'\n", "want is missing");
  const auto no_table = parse_pack("p.toml", "[pack]\nname='x'\n\nrule=[]\n");
  assert_false(no_table.has_value());
  assert_false(parse_pack("p.toml", "rule = [3]\n[pack]\nname = 'x'\n").has_value());
}

static void what_belongs_together_is_checked(void**) {
  expect_error("match='m'\n", "a rule: id is missing");
  expect_error("id='a.b'\n", "match or metric is missing");
  expect_error("id='a.b'\nmatch=''\nrole='benign'\n", "match is empty");
  expect_error("id='A.b'\nmatch='m'\nrole='benign'\n", "id wants lower case words");
  expect_error("id='single'\nmatch='m'\nrole='benign'\n", "id wants lower case words");
  expect_error("id='a.b'\nmatch='m'\ntitle='t'\n", "outcome is missing");
  expect_error("id='a.b'\nmatch='m'\noutcome='gpu_lost'\n", "title is missing");
  expect_error("id='a.b'\nmatch='m'\nrole='benign'\ndrain=true\n",
               "drain wants a rule that blames");
  expect_error("id='a.b'\nmatch='m'\nrole='benign'\nsource=['node_metrics']\n",
               "node_metrics wants metric");
  expect_error("id='a.b'\nmatch='m'\nmetric={names=['x']}\nrole='benign'\n", "exclude each other");
  const std::string metric = "id='a.b'\nrole='confirmation'\nmetric=";
  expect_error(metric + "{test='increases'}\n", "metric: names is missing");
  expect_error(metric + "{names=['x'],test='changes_to'}\n", "values is missing");
  expect_error(metric + "{names=['x'],test='above'}\n", "threshold is missing");
  expect_error(metric + "{names=['x'],values=[1]}\n", "values belongs to");
  expect_error(metric + "{names=['x'],hold='5m'}\n", "hold belongs to");
  expect_error(metric + "{names=['x'],hodl='5m'}\n", "did you mean 'hold'?");
}

static void the_same_id_twice_is_an_error_with_both_lines(void**) {
  const std::string rule = std::string("[[rule]]\n") + kRoot;
  assert_string_equal(error_of(rule + rule).c_str(),
                      "site.toml:9: rule a.b is there already, at line 4");
}

static void no_header_is_an_error(void**) {
  const auto pack = parse_pack("p.toml", "[[rule]]\nid = 'a.b'\n");
  assert_string_equal(pack.error().message.c_str(),
                      "p.toml:1: the pack: [pack] is missing (with at least a name)");
}

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(every_field_of_a_line_rule_is_read),
      cmocka_unit_test(what_a_rule_leaves_out_has_defaults),
      cmocka_unit_test(a_metric_rule_is_read),
      cmocka_unit_test(a_pack_may_disable_rules_and_have_none),
      cmocka_unit_test(a_misspelled_key_names_the_nearest),
      cmocka_unit_test(a_word_outside_its_list_names_the_nearest),
      cmocka_unit_test(wrong_types_and_ranges_are_errors),
      cmocka_unit_test(what_belongs_together_is_checked),
      cmocka_unit_test(the_same_id_twice_is_an_error_with_both_lines),
      cmocka_unit_test(no_header_is_an_error),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
