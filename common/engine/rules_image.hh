// SPDX-License-Identifier: Apache-2.0
// The built-in rules as bytes that load in a millisecond: read from TOML, checked and given their
// first stage when the program is built. Without the rules' tests, which only nvab-rules wants.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.hh"
#include "common/engine/literals.hh"
#include "common/engine/rule.hh"

namespace nvab {

// A rule with the literals of its first stage.
struct CompiledRule {
  Rule rule;
  std::vector<Literal> literals;
};

struct RulesImage {
  std::string version;              // of the packs
  std::string digest;               // of all rules
  RuleSets sets;                    // that packs on top may name
  std::vector<CompiledRule> rules;  // sorted by id
};

std::string write_rules_image(const RulesImage& image);
// Errors: malformed. The image is part of the program, so that can only be a mistake in its build.
Result<RulesImage> read_rules_image(std::string_view bytes);

// The image built into this program (generated; see Makefile).
std::string_view builtin_rules_image();

}  // namespace nvab
