// SPDX-License-Identifier: Apache-2.0
// Bundles judged by any ruleset, for nvab-rules coverage and diff: every line is read, and what the
// engine made of it can be looked at.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "common/engine/engine.hh"
#include "common/engine/ruleset.hh"

namespace nvab {

// Folders below `path` (itself included) that hold a job.json, sorted; at most a few levels down.
// Errors: not_found when there is none.
Result<std::vector<std::string>> find_bundles(const std::vector<std::string>& paths);

struct JudgedBundle {
  ExecutionContext context;
  Judgement judgement;  // its events point into the ruleset
};

// Judges the bundle by `rules`. `see` (may be empty) is told of every entry of its logs. Errors:
// the bundle cannot be read.
using SeeEntry = std::function<void(const LogEntry& entry, Source source)>;
Result<JudgedBundle> judge_bundle(const std::string& folder, const Ruleset& rules,
                                  const SeeEntry& see);

}  // namespace nvab
