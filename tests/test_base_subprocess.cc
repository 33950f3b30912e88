// SPDX-License-Identifier: Apache-2.0
// Subprocesses that behave, and those that hang, flood, linger or are not there.
#include "common/base/subprocess.hh"

#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstring>

#include "common/base/file.hh"
#include "common/base/text.hh"
#include "tests/cmocka.hh"

using namespace nvab;

// A shell only here, to be the program that misbehaves.
static Command shell(const std::string& script) {
  Command command;
  command.argv = {"sh", "-c", script};
  command.deadline = Deadline::after(std::chrono::seconds(10));
  return command;
}

static CommandEnd must_run(const Command& command) {
  auto end = run_command(command);
  if (!end) fail_msg("%s", end.error().message.c_str());
  return *end;
}

static void output_errors_and_exit_code_come_back(void**) {
  const CommandEnd end = must_run(shell("echo out; echo err >&2; exit 3"));
  assert_string_equal(end.output.c_str(), "out\n");
  assert_string_equal(end.errors.c_str(), "err\n");
  assert_int_equal(end.exit_code, 3);
  assert_false(end.succeeded());
  assert_string_equal(command_failure(shell(""), end).message.c_str(),
                      "sh failed with exit code 3: err");
}

static void the_end_by_a_signal_is_told(void**) {
  const CommandEnd end = must_run(shell("kill -TERM $$"));
  assert_int_equal(end.signal, SIGTERM);
  assert_int_equal(end.exit_code, -1);
  assert_string_equal(command_failure(shell(""), end).message.c_str(), "sh was ended by signal 15");
}

static void arguments_reach_the_program_as_they_are(void**) {
  Command command = shell("");
  command.argv = {"printf", "%s|", "a b", "$HOME", "`id`", "; rm x", ""};
  assert_string_equal(must_run(command).output.c_str(), "a b|$HOME|`id`|; rm x||");
}

static void the_environment_is_clean_but_for_what_was_asked(void**) {
  setenv("NVAB_TEST_SECRET", "s", 1);
  setenv("NVAB_TEST_KEPT", "k", 1);
  Command command = shell("env | sort");
  command.keep = {"NVAB_TEST_KEPT", "NVAB_TEST_ABSENT"};
  command.environment = {"NVAB_TEST_GIVEN=g", "TZ=Asia/Tokyo"};
  const std::string output = must_run(command).output;
  assert_null(std::strstr(output.c_str(), "NVAB_TEST_SECRET"));
  assert_null(std::strstr(output.c_str(), "NVAB_TEST_ABSENT"));
  assert_non_null(std::strstr(output.c_str(), "NVAB_TEST_KEPT=k\n"));
  assert_non_null(std::strstr(output.c_str(), "NVAB_TEST_GIVEN=g\n"));
  assert_non_null(std::strstr(output.c_str(), "LC_ALL=C\n"));
  assert_non_null(std::strstr(output.c_str(), "TZ=Asia/Tokyo\n"));
  assert_null(std::strstr(output.c_str(), "TZ=UTC"));
}

static void input_is_empty_and_no_other_descriptor_is_passed_on(void**) {
  const int leaked = dup(0);  // without close-on-exec, as a careless library opens them
  const CommandEnd end = must_run(shell("cat; ls /proc/self/fd | wc -l"));
  close(leaked);
  // 0, 1, 2 and the one that ls reads the folder with.
  assert_string_equal(std::string(trim(end.output)).c_str(), "4");
}

static void input_is_read_to_its_end_whatever_its_size(void**) {
  Command command;
  command.input = std::string(3'000'000, 'x') + '\n';
  command.argv = {"sh", "-c", "cat | wc -c"};
  assert_string_equal(std::string(trim(must_run(command).output)).c_str(), "3000001");
  command.argv = {"sh", "-c", "echo changed 1>&0; cat"};
  command.input = "one\ntwo\n";
  // Whoever gets it may read it, not write it.
  assert_string_equal(must_run(command).output.c_str(), "one\ntwo\n");
}

static void a_program_that_does_not_read_its_input_ends_as_it_likes(void**) {
  Command command = shell("exit 4");
  command.input = std::string(3'000'000, 'x');
  assert_int_equal(must_run(command).exit_code, 4);
  command.argv = {"sleep", "60"};
  command.deadline = Deadline::after(std::chrono::milliseconds(200));
  const auto hung = run_command(command);
  assert_false(hung.has_value());
  assert_true(hung.error().code == Error::Code::timeout);
}

static void a_program_that_is_not_there_is_not_found(void**) {
  Command command = shell("");
  command.argv = {"nvab-no-such-program"};
  const auto missing = run_command(command);
  assert_false(missing.has_value());
  assert_true(missing.error().code == Error::Code::not_found);
  assert_non_null(std::strstr(missing.error().message.c_str(), "nvab-no-such-program"));
  command.argv = {"/etc/passwd"};
  assert_true(run_command(command).error().code == Error::Code::permission);
  command.argv = {};
  assert_false(run_command(command).has_value());
}

static void a_program_that_hangs_is_killed_with_what_it_started(void**) {
  char name[] = "/tmp/nvab_test_subprocess.XXXXXX";
  const Fd file(mkstemp(name));
  const std::string path = name;
  Command command = shell("sleep 600 & echo $! > " + path + "; trap '' TERM; sleep 600");
  command.deadline = Deadline::after(std::chrono::milliseconds(300));
  const auto start = std::chrono::steady_clock::now();
  const auto end = run_command(command);
  assert_true(std::chrono::steady_clock::now() - start < std::chrono::seconds(3));
  assert_false(end.has_value());
  assert_true(end.error().code == Error::Code::timeout);
  const auto child = parse_int(trim(*read_file(path, 100)));
  unlink(name);
  assert_true(child.has_value() && *child > 1);
  // Dead, or a zombie until init takes it.
  for (int tries = 0; tries < 100 && kill(static_cast<pid_t>(*child), 0) == 0; ++tries) {
    const auto status = read_file("/proc/" + std::to_string(*child) + "/stat", 4096);
    if (status && status->find(") Z ") != std::string::npos) break;
    usleep(20'000);
    if (tries == 99) fail_msg("the grandchild %lld lives", *child);
  }
}

static void a_flood_is_cut_off(void**) {
  Command command = shell("cat /dev/zero");
  command.max_output = 1'000'000;
  const auto end = run_command(command);
  assert_false(end.has_value());
  assert_true(end.error().code == Error::Code::unavailable);
  command = shell("head -c 1000000 /dev/zero");
  command.max_output = 1'000'000;
  assert_int_equal(must_run(command).output.size(), 1'000'000);
}

static void much_on_standard_error_blocks_nobody_and_is_kept_in_part(void**) {
  const CommandEnd end = must_run(shell("yes complaint | head -c 1000000 >&2; echo done"));
  assert_string_equal(end.output.c_str(), "done\n");
  assert_int_equal(end.errors.size(), kMaxCommandErrors);
}

static void what_a_program_leaves_behind_does_not_hold_us(void**) {
  const auto start = std::chrono::steady_clock::now();
  const CommandEnd end = must_run(shell("(sleep 30) & echo done"));
  assert_string_equal(end.output.c_str(), "done\n");
  assert_int_equal(end.exit_code, 0);
  assert_true(std::chrono::steady_clock::now() - start < std::chrono::seconds(5));
}

static void output_can_be_taken_piece_by_piece_and_stopped(void**) {
  Command command = shell("head -c 300000 /dev/zero; echo end");
  std::size_t bytes = 0;
  command.on_output = [&](std::string_view piece) {
    bytes += piece.size();
    return true;
  };
  assert_true(must_run(command).output.empty());
  assert_int_equal(bytes, 300'004);
  command = shell("cat /dev/zero");
  command.on_output = [](std::string_view) { return false; };
  const CommandEnd stopped = must_run(command);
  assert_true(stopped.was_stopped && stopped.succeeded());
}

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(output_errors_and_exit_code_come_back),
      cmocka_unit_test(the_end_by_a_signal_is_told),
      cmocka_unit_test(arguments_reach_the_program_as_they_are),
      cmocka_unit_test(the_environment_is_clean_but_for_what_was_asked),
      cmocka_unit_test(input_is_empty_and_no_other_descriptor_is_passed_on),
      cmocka_unit_test(input_is_read_to_its_end_whatever_its_size),
      cmocka_unit_test(a_program_that_does_not_read_its_input_ends_as_it_likes),
      cmocka_unit_test(a_program_that_is_not_there_is_not_found),
      cmocka_unit_test(a_program_that_hangs_is_killed_with_what_it_started),
      cmocka_unit_test(a_flood_is_cut_off),
      cmocka_unit_test(much_on_standard_error_blocks_nobody_and_is_kept_in_part),
      cmocka_unit_test(what_a_program_leaves_behind_does_not_hold_us),
      cmocka_unit_test(output_can_be_taken_piece_by_piece_and_stopped),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
