// SPDX-License-Identifier: Apache-2.0
// A training job's log as several programs write it at once, for benchmarks and large-file tests:
// step lines of two loggers, NCCL's topology lines, warnings, JSON, timers. The same bytes for the
// same arguments.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace nvab::test {

struct TrainingLog {
  std::uint64_t bytes = 0;  // ends at the first line break behind them
  unsigned ranks = 1024;
  // Of a million lines so many are one of `failures` instead; 200,000 is every fifth.
  unsigned failing_per_million = 100;
  std::span<const std::string> failures;
  unsigned seed = 1;
};

// Calls `write` with consecutive pieces of some hundred kilobytes, whole lines, until it returns
// false or the log is complete.
void write_training_log(const TrainingLog& log, const std::function<bool(std::string_view)>& write);

}  // namespace nvab::test
