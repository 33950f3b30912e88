// SPDX-License-Identifier: Apache-2.0
// The built-in rules as the build left them: checked, with the literals of their first stage
// chosen, so that a run neither reads TOML nor looks into patterns before its first line. Written
// by obj/compile-packs at build time, linked into the programs, never read from a file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.hh"
#include "common/engine/literals.hh"
#include "common/engine/rule.hh"

namespace nvab {

struct CompiledRules {
  std::string version, digest;
  std::vector<Rule> rules;                     // by id, without their tests
  std::vector<std::vector<Literal>> literals;  // by rule
};

std::string write_compiled(CompiledRules rules);
// Errors: malformed; then this binary was not linked as built.
Result<CompiledRules> read_compiled(std::string_view bytes);

// What was linked in; empty in the tool that writes it.
std::string_view builtin_compiled();

}  // namespace nvab
