// SPDX-License-Identifier: Apache-2.0
// nvab-rules: the built-in packs pass their own tests and lint; lint, test and explain find what
// they are for.
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <vector>

#include "common/base/file.hh"
#include "common/base/json.hh"
#include "common/base/subprocess.hh"
#include "epilog/rules_tool.hh"
#include "tests/cmocka.hh"

using namespace nvab;

namespace {

PackSet set_of(std::initializer_list<std::string> texts, std::size_t builtin_count = 0) {
  PackSet set;
  for (const std::string& text : texts) {
    const std::string name = "p" + std::to_string(set.packs.size());
    auto pack = parse_pack(name + ".toml", "[pack]\nname = '" + name + "'\n" + text);
    if (!pack) fail_msg("%s", pack.error().message.c_str());
    set.packs.push_back(std::move(*pack));
  }
  set.builtin_count = builtin_count;
  return set;
}

std::string rule(const std::string& id, const std::string& match, const std::string& more = "") {
  return "[[rule]]\nid = '" + id + "'\nrole = 'cascade'\nprovenance = 'none'\nmatch = '''" + match +
         "'''\n" + more + "\n";
}

std::string test_of(const std::string& line, const std::string& want) {
  return "[[rule.test]]\nline = '''" + line + "'''\nwant = " + want + "\n";
}

std::string findings(const PackSet& set) { return findings_text(lint_packs(set)); }

void expect(const std::string& text, const char* part) {
  if (text.find(part) == std::string::npos) fail_msg("'%s' is missing in\n%s", part, text.c_str());
}

void the_built_in_rules_pass_their_own_tests(void**) {
  // From the packs' text: what programs load at their start has left the tests behind.
  const auto set = read_packs("", {});
  assert_true(set.has_value());
  const auto rules = Ruleset::build("default", set->packs);
  assert_true(rules.has_value());
  TestTotals totals;
  const auto failed = run_rule_tests(**rules, "", &totals);
  if (!failed.empty()) fail_msg("%s", findings_text(failed).c_str());
  assert_true(totals.tests > totals.rules);
}

void the_built_in_packs_have_no_errors(void**) {
  const auto set = read_packs("", {});
  assert_true(set.has_value());
  std::vector<Finding> errors;
  for (Finding& finding : lint_packs(*set)) {
    if (finding.is_error) errors.push_back(finding);
  }
  if (!errors.empty()) fail_msg("%s", findings_text(errors).c_str());
}

void an_id_twice_is_an_error_in_built_in_packs_and_an_override_in_others(void**) {
  const std::string one = rule("a.b", "frobnicated widget");
  expect(findings(set_of({one, one}, 2)), "p1.toml:3: a.b: error: the id is taken already");
  expect(findings(set_of({one, one}, 1)), "a.b: warning: overrides the rule at p0.toml:3");
}

void patterns_literals_and_tests_are_checked(void**) {
  expect(findings(set_of({rule("a.b", "widget(frob")})), "a.b: error:");
  expect(findings(set_of({rule("a.b", "[0-9]+.[a-z]*")})), "a.b: error:");
  expect(findings(set_of({rule("a.b", "kernel: x?")})), "stands in too many ordinary lines");
  expect(findings(set_of({rule("a.b", "frobnicated widget")})), "has no test that it matches");
  expect(findings(set_of({rule("a.b", "frobnicated widget", "explains = ['zz.*']")})),
         "explains 'zz.*', which fits no rule");
}

void a_rule_that_never_has_the_say_is_named(void**) {
  const std::string line = test_of("frobnicated widget 7", "\"match\"");
  const std::string taken = rule("a.taken", "frobnicated widget [0-9]", line);
  const std::string benign =
      "[[rule]]\nid = 'a.benign'\nrole = 'benign'\nprovenance = 'none'\n"
      "match = 'frobnicated widget'\n" +
      line;
  expect(findings(set_of({taken + benign})), "a.taken: warning: never has the say: a.benign");
  const std::string same = rule("a.same", "frobnicated widget [0-9]", line);
  expect(findings(set_of({taken + same})), "matches exactly what");
}

void a_failing_test_says_what_came_instead(void**) {
  const PackSet set = set_of({rule("a.b", "frobnicated (?<node>\\w+) widget",
                                   test_of("frobnicated red widget", "{node = 'blue'}") +
                                       test_of("frobnicated widget", "'match'") +
                                       test_of("frobnicated red widget", "'no match'"))});
  const auto rules = Ruleset::build("t", set.packs);
  TestTotals totals;
  const std::string text = findings_text(run_rule_tests(**rules, "", &totals));
  assert_int_equal(totals.failed, 3);
  expect(text, "captures node='red' and not 'blue'");
  expect(text, "does not match, and should");
  expect(text, "matches, and should not");
  totals = TestTotals();
  run_rule_tests(**rules, "zz.*", &totals);
  assert_int_equal(totals.tests, 0);
}

void explaining_names_rules_that_fire_and_near_ones(void**) {
  const PackSet set = set_of({rule("a.fires", "frobnicated (?<node>\\w+)") +
                              rule("a.near", "frobnicated red widget of (?<node>\\w+)") +
                              rule("a.system", "frobnicated red", "source = ['syslog']\n") +
                              rule("a.far", "unrelated thing")});
  const auto rules = Ruleset::build("t", set.packs);
  const std::string text =
      explain_lines(**rules, "x.log", "nothing here\nfrobnicated red hat\n", Source::applog, false);
  expect(text, "x.log:2 [applog] frobnicated red hat");
  expect(text, "fires  a.fires (cascade) node=red");
  expect(text,
         "not    a.near: 'frobnicated red ' is there, but not all of "
         "'frobnicated red widget of '");
  expect(text, "not    a.system: it would match, but does not read applog");
  assert_null(std::strstr(text.c_str(), "a.far"));
  assert_null(std::strstr(text.c_str(), "x.log:1"));
}

CommandEnd nvab_rules(std::vector<std::string> arguments) {
  Command command;
  command.argv = {test::build_path("obj/nvab-rules"), "--rules-dir", "/nowhere"};
  command.argv.insert(command.argv.end(), arguments.begin(), arguments.end());
  command.deadline = Deadline::after(std::chrono::seconds(60));
  auto end = run_command(command);
  if (!end) fail_msg("%s", end.error().message.c_str());
  return std::move(*end);
}

void the_program_lists_shows_tests_and_explains(void**) {
  const CommandEnd list = nvab_rules({"list", "gpu.xid.7*"});
  assert_int_equal(list.exit_code, 0);
  expect(list.output, "gpu.xid.79");
  expect(nvab_rules({"show", "gpu.xid.79"}).output, "explains");
  const CommandEnd missing = nvab_rules({"show", "gpu.xid.799"});
  assert_int_equal(missing.exit_code, 1);
  expect(missing.errors, "did you mean gpu.xid.79?");
  assert_int_equal(nvab_rules({"test", "gpu.*"}).exit_code, 0);
  assert_int_equal(nvab_rules({"lint"}).exit_code, 0);
  const CommandEnd explained =
      nvab_rules({"explain", test::source_path("tests/scenarios/demo/syslog/heron03.log")});
  assert_int_equal(explained.exit_code, 0);
  expect(explained.output, "fires  gpu.xid.79 (root, gpu_lost)");
}

std::string demo() { return test::source_path("tests/scenarios/demo"); }

void coverage_says_which_rules_fire_and_how(void**) {
  const CommandEnd end = nvab_rules({"coverage", "--never", demo()});
  assert_int_equal(end.exit_code, 0);
  expect(end.output, "1 bundles, 0 of them with the answer unknown");
  expect(end.output, "  never  gpu.xid.63\n");
  const auto json = Json::parse(nvab_rules({"coverage", "--format", "json", demo()}).output);
  assert_true(json.has_value());
  bool found = false;
  for (const Json& rule : json->get("rules").elements()) {
    if (rule.get("rule").as_string() != "gpu.xid.79") continue;
    found = true;
    assert_int_equal(*rule.get("root").as_int(), 1);
    assert_true(*rule.get("support").as_int() >= 1);
    assert_int_equal(*rule.get("bundles").as_int(), 1);
  }
  assert_true(found);
  assert_int_equal(nvab_rules({"coverage", "/nowhere"}).exit_code, 2);
}

void coverage_names_lines_near_the_failure_that_no_rule_knows(void**) {
  const std::string folder = "rules_tool_bundle." + std::to_string(::getpid());
  assert_true(make_folders(folder + "/jobs/1/applog").has_value());
  assert_true(write_file(folder + "/jobs/1/job.json",
                         R"({"scheduler":"slurm","job_id":"1","state":"FAILED","nodes":["n1"]})")
                  .has_value());
  assert_true(write_file(folder + "/jobs/1/applog/out.log",
                         "all is well\nwidget 17 failed to frobnicate\nwidget 4711 failed to "
                         "frobnicate\n")
                  .has_value());
  const CommandEnd end = nvab_rules({"coverage", folder});
  std::filesystem::remove_all(folder);
  expect(end.output, "1 bundles, 2 lines: widget 17 failed to frobnicate\n");
  expect(end.output, "/jobs/1/applog/out.log:2\n");
  assert_null(std::strstr(end.output.c_str(), "all is well"));
}

void diff_says_which_verdicts_change_and_how(void**) {
  const CommandEnd same = nvab_rules({"diff", "builtin", "builtin", "--on", demo()});
  assert_int_equal(same.exit_code, 0);
  expect(same.output, "0 of 1 verdicts change\n");
  const std::string path = "rules_tool_diff." + std::to_string(::getpid()) + ".toml";
  assert_true(write_file(path, "[pack]\nname = 'x'\ndisable = ['gpu.xid.79']\n").has_value());
  const CommandEnd text = nvab_rules({"diff", "builtin", path, "--on", demo()});
  const CommandEnd json = nvab_rules({"diff", "builtin", path, "--on", demo(), "--format", "json"});
  ::unlink(path.c_str());
  assert_int_equal(text.exit_code, 1);
  expect(text.output, "root_cause");
  expect(text.output, "xid_79_fell_off_bus by gpu.xid.79 -> ");
  expect(text.output, "1 of 1 verdicts change: ");
  const auto parsed = Json::parse(json.output);
  assert_true(parsed.has_value());
  assert_int_equal(*parsed->get("bundles").as_int(), 1);
  const Json change = parsed->get("changed").at(0).get("changes").at(0);
  assert_false(change.get("what").as_string()->empty());
  assert_string_not_equal(change.get("before").as_string()->c_str(),
                          change.get("after").as_string()->c_str());
  assert_int_equal(nvab_rules({"diff", "builtin", "/nowhere", "--on", demo()}).exit_code, 3);
  assert_int_equal(nvab_rules({"diff", "builtin", "builtin", "--on", "/nowhere"}).exit_code, 2);
}

void a_rule_in_shadow_mode_changes_no_verdict_until_it_is_armed(void**) {
  const std::string path = "rules_tool_shadow." + std::to_string(::getpid()) + ".toml";
  assert_true(write_file(path, "[pack]\nname = 'x'\n" +
                                   rule("a.b", "GPU has fallen off the bus",
                                        "title = 't'\noutcome = 'gpu_lost'\nshadow = true\n"))
                  .has_value());
  const CommandEnd calm = nvab_rules({"diff", "builtin", path, "--on", demo()});
  const CommandEnd covered = nvab_rules({"--pack", path, "coverage", "--only", "a.*", demo()});
  ::unlink(path.c_str());
  assert_int_equal(calm.exit_code, 0);
  expect(covered.output, "a.b ");
  expect(covered.output, "1 of 1 rules fired");
}

void lint_of_a_file_is_about_that_file_alone(void**) {
  const std::string path = "rules_tool_lint." + std::to_string(::getpid()) + ".toml";
  const std::string good =
      rule("a.b", "frobnicated widget", test_of("frobnicated widget", "'match'"));
  assert_true(write_file(path, "[pack]\nname = 'x'\n" + good).has_value());
  const CommandEnd end = nvab_rules({"lint", "--strict", path});
  ::unlink(path.c_str());
  if (end.exit_code != 0) fail_msg("%s", end.output.c_str());
}

void bad_command_lines_and_bad_packs_have_their_codes(void**) {
  assert_int_equal(nvab_rules({"frob"}).exit_code, 2);
  assert_int_equal(nvab_rules({}).exit_code, 2);
  const std::string path = "rules_tool_test." + std::to_string(::getpid()) + ".toml";
  assert_true(
      write_file(path, "[pack]\nname = 'x'\n[[rule]]\nid = 'a.b'\nmtach = 'x'\n").has_value());
  const CommandEnd bad = nvab_rules({"--pack", path, "list"});
  const CommandEnd lint = nvab_rules({"lint", path});
  ::unlink(path.c_str());
  assert_int_equal(bad.exit_code, 3);
  expect(bad.errors, "match");
  assert_int_equal(lint.exit_code, 1);
  expect(lint.errors, path.c_str());
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(the_built_in_rules_pass_their_own_tests),
      cmocka_unit_test(the_built_in_packs_have_no_errors),
      cmocka_unit_test(an_id_twice_is_an_error_in_built_in_packs_and_an_override_in_others),
      cmocka_unit_test(patterns_literals_and_tests_are_checked),
      cmocka_unit_test(a_rule_that_never_has_the_say_is_named),
      cmocka_unit_test(a_failing_test_says_what_came_instead),
      cmocka_unit_test(explaining_names_rules_that_fire_and_near_ones),
      cmocka_unit_test(the_program_lists_shows_tests_and_explains),
      cmocka_unit_test(coverage_says_which_rules_fire_and_how),
      cmocka_unit_test(coverage_names_lines_near_the_failure_that_no_rule_knows),
      cmocka_unit_test(diff_says_which_verdicts_change_and_how),
      cmocka_unit_test(a_rule_in_shadow_mode_changes_no_verdict_until_it_is_armed),
      cmocka_unit_test(lint_of_a_file_is_about_that_file_alone),
      cmocka_unit_test(bad_command_lines_and_bad_packs_have_their_codes),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
