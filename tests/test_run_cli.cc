// SPDX-License-Identifier: Apache-2.0
// ctest: timeout=300
// nvab-run from the outside: what goes to stdout and stderr, exit codes, settings, summaries.
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "common/base/file.hh"
#include "common/base/json.hh"
#include "common/base/subprocess.hh"
#include "common/base/text.hh"
#include "tests/cmocka.hh"

using namespace nvab;

namespace {

std::string g_folder;

std::string demo() { return test::source_path("tests/scenarios/demo"); }
std::string in(const std::string& name) { return g_folder + "/" + name; }

CommandEnd nvab_run(std::vector<std::string> arguments, std::vector<std::string> environment = {}) {
  Command command;
  command.argv = {test::build_path("obj/nvab-run")};
  command.argv.insert(command.argv.end(), arguments.begin(), arguments.end());
  command.environment = std::move(environment);
  command.deadline = Deadline::after(std::chrono::seconds(60));
  auto end = run_command(command);
  if (!end) fail_msg("%s", end.error().message.c_str());
  return std::move(*end);
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

void expect(const std::string& text, const std::string& part) {
  if (!has(text, part)) fail_msg("'%s' is missing in\n%s", part.c_str(), text.c_str());
}

void a_replay_prints_one_json_object_and_sums_up_on_stderr(void**) {
  const CommandEnd end = nvab_run({"--replay", demo()});
  assert_int_equal(end.exit_code, 0);
  const auto result = Json::parse(trim(end.output));
  assert_true(result.has_value());
  assert_int_equal(split(trim(end.output), '\n').size(), 1);
  assert_string_equal(result->get("schema").as_string()->c_str(), "nvab.result/1");
  assert_string_equal(result->get("sub_domain").as_string()->c_str(), "gpu_hardware");
  assert_string_equal(result->get("evidence_status").as_string()->c_str(), "complete");
  assert_int_equal(result->get("attributor_id").as_string()->size(), 32);
  expect(end.errors,
         "1 discovered, 1 attempted, 1 attributed, 0 conflicted, 0 failed, 1 succeeded");
}

void the_same_evidence_gives_the_same_bytes(void**) {
  const auto without_reports = [](const std::string& output) {
    const auto result = Json::parse(trim(output));
    Json kept = Json::object();
    result->each([&](std::string_view key, const Json& value) {
      if (key != "connector_reports") kept.set(key, value);  // they hold seconds
    });
    return kept.dump();
  };
  const std::string first = without_reports(nvab_run({"--replay", demo()}).output);
  assert_string_equal(without_reports(nvab_run({"--replay", demo()}).output).c_str(),
                      first.c_str());
}

void text_and_explain_are_cards(void**) {
  const CommandEnd end = nvab_run({"--replay", demo(), "--format", "text"});
  expect(end.output, "sbatch --exclude=heron03 SCRIPT");
  assert_false(has(end.output, "What explains what"));
  assert_false(has(end.output, "\x1b"));
  expect(nvab_run({"--replay", demo(), "--format", "text", "--explain"}).output,
         "What explains what");
}

void usage_errors_have_their_code_and_a_sentence(void**) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"--no-such-option"}, {"--format", "xml"}, {"--redact"}, {}}) {
    const CommandEnd end = nvab_run(arguments);
    assert_int_equal(end.exit_code, 2);
    assert_true(end.output.empty());
    expect(end.errors, arguments.empty() ? "nothing to judge" : "nvab-run: ");
  }
  const CommandEnd missing = nvab_run({"--replay", "/nowhere/bundle"});
  assert_int_equal(missing.exit_code, 2);
  expect(missing.errors, "there is no such folder");
}

void help_and_version_go_to_stdout(void**) {
  const CommandEnd help = nvab_run({"--help"});
  assert_int_equal(help.exit_code, 0);
  expect(help.output, "--save-bundle");
  expect(nvab_run({"--version"}).output, "nvab-run ");
}

void configuration_errors_have_their_code_and_name_the_place(void**) {
  assert_true(write_file(in("bad.toml"), "[log.file.app]\npths = [\"x\"]\n").has_value());
  const CommandEnd end = nvab_run({"--config", in("bad.toml")});
  assert_int_equal(end.exit_code, 3);
  expect(end.errors, "bad.toml");
  expect(end.errors, "paths");  // the nearest known name
  assert_int_equal(nvab_run({"--connector", "eca", "static", "nods", "n1"}).exit_code, 3);
  assert_int_equal(nvab_run({"--config", in("none.toml")}).exit_code, 3);
}

void a_job_given_by_hand_is_judged(void**) {
  assert_true(write_file(in("job.out"),
                         "Traceback (most recent call last):\n  File \"a.py\", line "
                         "1, in <module>\nValueError: no\n")
                  .has_value());
  const CommandEnd end = nvab_run(
      {"--connector", "eca",         "static", "job_id",      "77",    "--connector", "eca",
       "static",      "state",       "FAILED", "--connector", "eca",   "static",      "nodes",
       "n[1-2]",      "--connector", "log",    "file.app",    "paths", in("job.out")},
      {"NVAB_LOG_FILE_APP_SOURCE=applog"});
  assert_int_equal(end.exit_code, 0);
  const auto result = Json::parse(trim(end.output));
  assert_string_equal(result->get("sub_domain").as_string()->c_str(), "user_code");
  assert_int_equal(result->get("context").get("nodes").size(), 2);
  assert_string_equal(result->get("connector_reports").at(0).get("connector").as_string()->c_str(),
                      "log.file.app");
}

std::string config_for(const std::string& job, const std::string& more = "") {
  const std::string path = in("run" + job + ".toml");
  const std::string text = "[eca.static]\nfile = \"" + demo() + "/job.json\"\njob_id = \"" + job +
                           "\"\n[log.file.app]\nsource = \"applog\"\npaths = [\"" + demo() +
                           "/applog/*.out\"]\n" + more;
  assert_true(write_file(path, text).has_value());
  return path;
}

void several_configurations_are_several_runs_with_totals(void**) {
  const CommandEnd end = nvab_run(
      {"--config", config_for("1"), config_for("2"), "--summary-json", in("summary.json")});
  assert_int_equal(end.exit_code, 0);
  assert_int_equal(split(trim(end.output), '\n').size(), 2);
  expect(end.errors, "all 2 runs: 2 discovered");
  const auto summary = Json::parse(*read_file(in("summary.json"), 1 << 20));
  assert_int_equal(summary->get("runs").size(), 2);
  assert_int_equal(*summary->get("totals").get("succeeded").as_int(), 2);
  const Json second = summary->get("runs").at(1);
  assert_int_equal(*second.get("last_run_stats").get("attributed").as_int(), 1);
  const Json context = second.get("last_run_summaries").at(0);
  assert_string_equal(context.get("job").as_string()->c_str(), "2");
  assert_string_equal(context.get("status").as_string()->c_str(), "attributed");
  assert_true(context.has("sub_domain") && context.has("action") && context.has("context"));
}

void a_run_that_fails_does_not_stop_the_next(void**) {
  assert_true(write_file(in("broken.toml"), "[[\n").has_value());
  const CommandEnd end = nvab_run({"--config", in("broken.toml"), config_for("2")});
  assert_int_equal(end.exit_code, 3);
  assert_int_equal(split(trim(end.output), '\n').size(), 1);
}

void strict_wants_complete_evidence(void**) {
  const std::string config =
      config_for("3", "[log.file.gone]\nsource = \"syslog\"\npaths = [\"" + g_folder + "\"]\n");
  ::mkfifo(in("pipe.log").c_str(), 0644);  // cannot be taken: the evidence is partial
  assert_int_equal(nvab_run({"--config", config}).exit_code, 0);
  assert_int_equal(nvab_run({"--config", config, "--strict"}).exit_code, 4);
  assert_int_equal(nvab_run({"--replay", demo(), "--strict"}).exit_code, 0);
  ::unlink(in("pipe.log").c_str());
}

void an_output_that_cannot_write_is_an_error_only_when_it_was_the_last(void**) {
  const std::string config = config_for("4", "[output.sqlite]\npath = \"/nowhere/results.db\"\n");
  const CommandEnd partial = nvab_run({"--config", config});
  assert_int_equal(partial.exit_code, 0);  // stdout took it
  expect(partial.errors, "/nowhere/results.db");
  const CommandEnd none =
      nvab_run({"--config", config, "--connector", "output", "stdout", "enabled", "false"});
  assert_int_equal(none.exit_code, 1);
  assert_true(none.output.empty());
}

void results_are_kept_in_a_database(void**) {
  const std::string path = in("results.db");
  for (int i = 0; i < 2; ++i) {
    const CommandEnd end =
        nvab_run({"--replay", demo(), "--connector", "output", "sqlite", "path", path});
    assert_int_equal(end.exit_code, 0);
  }
  assert_true(exists(path));
}

void the_exit_code_can_say_what_to_do(void**) {
  assert_int_equal(nvab_run({"--replay", demo(), "--exit-code-by-action"}).exit_code, 12);
  const std::string user = test::source_path("tests/scenarios/gpu-user-label-assert");
  assert_int_equal(nvab_run({"--replay", user, "--exit-code-by-action"}).exit_code, 15);
}

void settings_are_checked_shown_and_listed(void**) {
  const std::string config = config_for("5");
  const CommandEnd checked = nvab_run({"--check-config", "--config", config});
  assert_int_equal(checked.exit_code, 0);
  expect(checked.output, ": ok");
  assert_true(write_file(in("empty.toml"), "[log.file]\nsource = \"applog\"\n").has_value());
  assert_int_equal(nvab_run({"--check-config", "--config", in("empty.toml")}).exit_code, 3);
  const CommandEnd shown =
      nvab_run({"--show-config", "--config", config}, {"NVAB_RUN_TIMEOUT_SECONDS=7"});
  expect(shown.output, "run5.toml:");
  expect(shown.output, "NVAB_RUN_TIMEOUT_SECONDS");
  const CommandEnd listed = nvab_run({"--list-connectors"});
  for (const char* name : {"[eca.static]", "[log.file]", "[log.task_exits]",
                           "[log.flight_recorder]", "[metric.file]", "[output.sqlite]", "[run]"}) {
    expect(listed.output, name);
  }
}

void messages_can_be_json(void**) {
  const CommandEnd end = nvab_run({"--replay", demo(), "--log-format", "json"});
  const auto summary = Json::parse(trim(end.errors));
  assert_true(summary.has_value());
  assert_string_equal(summary->get("schema").as_string()->c_str(), "nvab.summary/1");
}

void nothing_but_the_summary_is_on_a_stderr_that_is_no_terminal(void**) {
  assert_true(nvab_run({"--replay", demo(), "--quiet"}).errors.empty());
}

void a_bundle_can_be_saved_and_replayed(void**) {
  const std::string folder = in("bundle");
  const CommandEnd saved = nvab_run({"--replay", demo(), "--save-bundle", folder, "--redact"});
  assert_int_equal(saved.exit_code, 0);
  const CommandEnd again = nvab_run({"--replay", folder});
  const auto result = Json::parse(trim(again.output));
  assert_string_equal(result->get("sub_domain").as_string()->c_str(), "gpu_hardware");
  assert_false(has(again.output, "heron"));
  assert_false(has(again.output, "mira"));
}

}  // namespace

int main() {
  g_folder = "run_cli_test." + std::to_string(::getpid());
  ::mkdir(g_folder.c_str(), 0755);
  const CMUnitTest tests[] = {
      cmocka_unit_test(a_replay_prints_one_json_object_and_sums_up_on_stderr),
      cmocka_unit_test(the_same_evidence_gives_the_same_bytes),
      cmocka_unit_test(text_and_explain_are_cards),
      cmocka_unit_test(usage_errors_have_their_code_and_a_sentence),
      cmocka_unit_test(help_and_version_go_to_stdout),
      cmocka_unit_test(configuration_errors_have_their_code_and_name_the_place),
      cmocka_unit_test(a_job_given_by_hand_is_judged),
      cmocka_unit_test(several_configurations_are_several_runs_with_totals),
      cmocka_unit_test(a_run_that_fails_does_not_stop_the_next),
      cmocka_unit_test(strict_wants_complete_evidence),
      cmocka_unit_test(an_output_that_cannot_write_is_an_error_only_when_it_was_the_last),
      cmocka_unit_test(results_are_kept_in_a_database),
      cmocka_unit_test(the_exit_code_can_say_what_to_do),
      cmocka_unit_test(settings_are_checked_shown_and_listed),
      cmocka_unit_test(messages_can_be_json),
      cmocka_unit_test(nothing_but_the_summary_is_on_a_stderr_that_is_no_terminal),
      cmocka_unit_test(a_bundle_can_be_saved_and_replayed),
  };
  const int failed = cmocka_run_group_tests(tests, nullptr, nullptr);
  std::filesystem::remove_all(g_folder);
  return failed;
}
