// SPDX-License-Identifier: Apache-2.0
// What went wrong with single files of a collection: counted, the first ones named.
#pragma once

#include <string>
#include <vector>

#include "common/base/result.hh"
#include "epilog/collector.hh"

namespace nvab {

// Problems named one by one in a report; the rest is counted.
inline constexpr std::size_t kMaxNamedProblems = 20;

class CollectProblems {
 public:
  void add(const std::string& path, Error error);
  std::size_t count() const { return count_; }

  // The worst word for what happened: timed_out, then error, then denied. Missing things are
  // no_data as long as nothing was read; `noun` is what the things are ("file"). The details hold
  // the problems.
  CollectOutcome outcome(bool anything_read, const char* noun) const;

 private:
  struct Problem {
    std::string path;
    Error error;
  };
  std::vector<Problem> named_;
  std::size_t count_ = 0, missing_ = 0, denied_ = 0, late_ = 0;
};

}  // namespace nvab
