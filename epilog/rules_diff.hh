// SPDX-License-Identifier: Apache-2.0
// nvab-rules diff: which verdicts change from one ruleset to another.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "epilog/rules_bundles.hh"

namespace nvab {

// What changes in one member of a verdict.
struct Change {
  std::string_view what;  // "root_cause", "outcome", "culprits", "drain", "action", "confidence"
  std::string before, after;
};

struct BundleDiff {
  std::string bundle;
  std::vector<Change> changes;
};

// Smaller shifts of confidence than this change nothing for anybody.
inline constexpr double kSmallShift = 0.05;

std::vector<Change> compare_verdicts(const Verdict& before, const Verdict& after);

// Judges a bundle by both. Errors: it cannot be read.
Result<BundleDiff> diff_bundle(const std::string& bundle, const Ruleset& before,
                               const Ruleset& after);

std::string diffs_text(const std::vector<BundleDiff>& diffs);
std::string diffs_json(const std::vector<BundleDiff>& diffs);

}  // namespace nvab
