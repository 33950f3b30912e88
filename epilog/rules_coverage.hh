// SPDX-License-Identifier: Apache-2.0
// nvab-rules coverage: what the rules make of a folder of bundles, and what they leave unread.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "epilog/rules_bundles.hh"

namespace nvab {

// How one rule did. Counts are of events; folded repeats count.
struct RuleCoverage {
  std::set<std::string> bundles;  // where it fired
  std::uint64_t events = 0;       // all
  std::uint64_t root = 0;         // bundles in which it is the root cause
  std::uint64_t support = 0;      // events that speak for the root cause
  std::uint64_t effect = 0;       // that another event explains
  std::uint64_t open = 0;         // that count, and that nothing explains
  std::uint64_t set_aside = 0;    // marked: recovered, outside the window, superseded, …
  std::uint64_t shadow = 0;       // of a rule in shadow mode
};

// Lines that look like trouble, near the end of a job that failed, and that no rule knows.
struct UnknownLine {
  std::set<std::string> bundles;
  std::uint64_t lines = 0;
  std::string example, where;  // the first one, and its bundle, stream and line
};

class CoverageReport {
 public:
  explicit CoverageReport(const Ruleset& rules) : rules_(rules) {}
  // Judges one more bundle. Errors: it cannot be read.
  Result<void> add(const std::string& bundle);
  // `glob` chooses rules by id (empty: all).
  std::string text(std::string_view glob, bool list_never) const;
  std::string json(std::string_view glob) const;

 private:
  std::vector<const UnknownLine*> unknown_lines() const;

  const Ruleset& rules_;
  std::size_t bundles_ = 0, unknown_verdicts_ = 0;
  std::map<std::string, RuleCoverage, std::less<>> rules_seen_;
  std::map<std::string, UnknownLine> unknown_;  // by the line without its numbers
};

}  // namespace nvab
