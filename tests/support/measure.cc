// SPDX-License-Identifier: Apache-2.0
// See measure.hh.
#include "tests/support/measure.hh"

#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <chrono>

extern char** environ;

namespace nvab::test {

ProgramRun run_program(const std::vector<std::string>& argv, const std::string& output) {
  std::vector<char*> words;
  for (const std::string& word : argv) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, 1, output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0);
  ProgramRun run;
  const auto begin = std::chrono::steady_clock::now();
  pid_t child = 0;
  const int failed = posix_spawnp(&child, words[0], &files, nullptr, words.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  if (failed != 0) return run;
  int status = 0;
  struct rusage usage {};
  while (::wait4(child, &status, 0, &usage) < 0 && errno == EINTR) {
  }
  run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  run.peak_kib = static_cast<std::uint64_t>(usage.ru_maxrss);
  if (WIFEXITED(status)) run.exit_code = WEXITSTATUS(status);
  return run;
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 != 0 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

void Samples::add(const std::string& name, double value) {
  if (!has(name)) names_.push_back(name);
  values_[name].push_back(value);
}

double Samples::median_of(const std::string& name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? 0 : median(found->second);
}

}  // namespace nvab::test
