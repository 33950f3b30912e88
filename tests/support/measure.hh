// SPDX-License-Identifier: Apache-2.0
// For benchmarks: a program's time and memory, and a table in which each figure stands beside its
// peer's from the same run.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace nvab::test {

struct ProgramRun {
  double seconds = 0;  // wall clock, from its start to its end
  // Resident set at its largest; at least the caller's own, which the kernel counts until the exec.
  std::uint64_t peak_kib = 0;
  int exit_code = -1;  // -1 when a signal ended it or it could not be started
};

// Runs a program with /dev/null as its input, output into `output` (a file) and errors to
// /dev/null.
ProgramRun run_program(const std::vector<std::string>& argv,
                       const std::string& output = "/dev/null");

double median(std::vector<double> values);

// Samples by name, in the order in which names first came.
class Samples {
 public:
  void add(const std::string& name, double value);
  bool has(const std::string& name) const { return values_.count(name) > 0; }
  double median_of(const std::string& name) const;  // 0 when there are none
  const std::vector<std::string>& names() const { return names_; }
  const std::vector<double>& of(const std::string& name) const { return values_.at(name); }

 private:
  std::vector<std::string> names_;
  std::map<std::string, std::vector<double>> values_;
};

}  // namespace nvab::test
