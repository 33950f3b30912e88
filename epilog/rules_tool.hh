// SPDX-License-Identifier: Apache-2.0
// What nvab-rules does with rule packs. Each function yields the text to print.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/engine/ruleset.hh"

namespace nvab {

// Packs as they were read, in the order in which later ones override earlier ones.
struct PackSet {
  std::vector<Pack> packs;
  std::size_t builtin_count = 0;  // the first ones
};

// The built-in packs, those of `site_folder` (may be empty), then `files`. Errors: the first pack
// that cannot be read or parsed, with file, line and key.
Result<PackSet> read_packs(const std::string& site_folder, const std::vector<std::string>& files);

// The engine's passes ("pass.NAME"), then rules, whose id fits the glob (empty: all), one a line,
// or as JSON objects one a line.
std::string list_rules(const Ruleset& rules, std::string_view glob, bool as_json);

// Everything about one rule, for people.
std::string show_rule(const Ruleset& rules, const Rule& rule);

struct Finding {
  bool is_error = false;  // else a warning
  std::string where;      // "gpu.toml:12: gpu.xid.79"
  std::string what;       // a sentence
};
std::string findings_text(const std::vector<Finding>& findings);

// What is wrong with packs beyond what reading them finds: ids of built-in packs twice, patterns
// that PCRE2 refuses, missing or common literals, rules that others always take the lines from,
// globs in `explains` that fit nothing, cycles, missing tests. `benign` may be a log of jobs that
// went well: rules whose first stage stops too often in it are named.
std::vector<Finding> lint_packs(const PackSet& set);
Result<std::vector<Finding>> lint_cost(const Ruleset& rules, const std::string& benign);

struct TestTotals {
  int rules = 0, tests = 0, failed = 0;
};
// Runs the tests that rules carry (whose id fits the glob; empty: all), by both stages of matching.
std::vector<Finding> run_rule_tests(const Ruleset& rules, std::string_view glob,
                                    TestTotals* totals);

// Which rules fire on the lines of a text, and why others near them do not: the literal is there,
// but not the rest. `name` is for messages; `source` empty: told by each line.
std::string explain_lines(const Ruleset& rules, std::string_view name, std::string_view text,
                          std::optional<Source> source, bool all_lines);

// The message of a line or block as rules see it, and the program that wrote it.
struct RuleText {
  std::string message, app;
};
RuleText rule_text(std::string_view lines, Source source);

}  // namespace nvab
