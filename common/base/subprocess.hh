// SPDX-License-Identifier: Apache-2.0
// Other programs (sacct, scontrol, journalctl, kubectl): an argument vector and never a shell, a
// clean environment, a deadline, bounded output. Whatever the program does, the call returns.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/deadline.hh"
#include "common/base/result.hh"

namespace nvab {

// sacct's answer for 500 jobs with steps has about 1 MB.
inline constexpr std::size_t kMaxCommandOutput = 64 * 1024 * 1024;
// Of what a program complains about, the beginning is enough.
inline constexpr std::size_t kMaxCommandErrors = 16 * 1024;

struct Command {
  std::vector<std::string> argv;  // argv[0] is looked up in PATH unless it holds a '/'
  // The program sees PATH, LC_ALL=C and TZ=UTC, the variables named in `keep` as far as we have
  // them, and the assignments ("NAME=VALUE") in `environment`, which win.
  std::vector<std::string> keep = {};
  std::vector<std::string> environment = {};
  Deadline deadline = {};  // default: never; give one
  std::size_t max_output = kMaxCommandOutput;
  // What the program reads on its standard input; empty: /dev/null. Given as a file in memory, so
  // that a program that does not read it neither blocks nor signals us.
  std::string input = {};
  // When set, standard output goes here piece by piece instead of into CommandEnd; false ends the
  // program, which is no error.
  std::function<bool(std::string_view)> on_output = nullptr;
};

struct CommandEnd {
  int exit_code = -1;  // -1 when a signal ended it
  int signal = 0;
  bool was_stopped = false;  // by on_output
  std::string output;
  std::string errors;  // the beginning of standard error, sanitised

  bool succeeded() const { return exit_code == 0 || was_stopped; }
};

// Runs the program to its end. Any end of its own is a value, also a
// failure. Errors: not_found, permission (it could not be started); timeout (deadline; it and its
// process group are killed); unavailable (more output than max_output; killed as well).
Result<CommandEnd> run_command(const Command& command);

// "sacct failed with exit code 1: sacct: error: …": for a program whose end was not a success.
Error command_failure(const Command& command, const CommandEnd& end);

}  // namespace nvab
