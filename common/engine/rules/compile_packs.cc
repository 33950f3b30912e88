// SPDX-License-Identifier: Apache-2.0
// Build tool: checks the built-in packs and writes them compiled (compiled_rules.hh) to the file
// named on the command line. A pack with an error stops the build with its sentence.
#include <cstdio>
#include <vector>

#include "common/base/file.hh"
#include "common/engine/builtin_packs.hh"
#include "common/engine/compiled_rules.hh"
#include "common/engine/ruleset.hh"

namespace nvab {

std::string_view builtin_compiled() { return {}; }

namespace {

Result<CompiledRules> compile() {
  auto built = Ruleset::load("default", "");
  if (!built) return tl::unexpected<Error>(built.error());
  CompiledRules compiled;
  compiled.version = (*built)->name().version;
  compiled.digest = (*built)->name().digest;
  for (const Rule& rule : (*built)->rules()) {
    compiled.rules.push_back(rule);
    compiled.rules.back().tests.clear();
    const auto literals = (*built)->literals(rule);
    compiled.literals.emplace_back(literals.begin(), literals.end());
  }
  return compiled;
}

}  // namespace
}  // namespace nvab

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: compile-packs FILE\n");
    return 2;
  }
  auto compiled = nvab::compile();
  if (!compiled) {
    std::fprintf(stderr, "compile-packs: %s\n", compiled.error().message.c_str());
    return 1;
  }
  const auto written = nvab::write_file(argv[1], nvab::write_compiled(std::move(*compiled)));
  if (!written) std::fprintf(stderr, "compile-packs: %s\n", written.error().message.c_str());
  return written ? 0 : 1;
}
