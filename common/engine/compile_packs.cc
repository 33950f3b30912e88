// SPDX-License-Identifier: Apache-2.0
// A program of the build: checks the rule packs and writes them as one image.
//   compile_packs OUTPUT FILE.toml...
#include <cstdio>
#include <vector>

#include "common/base/file.hh"
#include "common/engine/rules_image.hh"
#include "common/engine/ruleset_impl.hh"

namespace nvab {
namespace {

constexpr std::size_t kMaxPackBytes = 16 * 1024 * 1024;  // beyond any file a person writes

// "gpu.toml" of its path: messages and rules name the file without the place of the source tree.
std::string base_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

Result<void> compile_packs(const std::string& output, std::span<char* const> files) {
  std::vector<Pack> packs;
  for (const char* file : files) {
    auto text = read_file(file, kMaxPackBytes);
    if (!text) return fail("reading a rule pack", text.error());
    auto pack = parse_pack(base_name(file), *text);
    if (!pack) return tl::unexpected<Error>(pack.error());
    packs.push_back(std::move(*pack));
  }
  auto core = build_core("", {}, packs);
  if (!core) return tl::unexpected<Error>(core.error());
  RulesImage image;
  image.version = (*core)->name.version;
  image.digest = (*core)->name.digest;
  image.sets = (*core)->sets;
  for (const Rule& rule : (*core)->rules) {
    image.rules.push_back({rule, (*core)->literals[(*core)->index_of(rule)]});
  }
  return write_file(output, write_rules_image(image));
}

}  // namespace
}  // namespace nvab

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: compile_packs OUTPUT FILE.toml...\n");
    return 2;
  }
  const auto files = std::span(argv, static_cast<std::size_t>(argc)).subspan(2);
  const auto done = nvab::compile_packs(argv[1], files);
  if (!done) std::fprintf(stderr, "compile_packs: %s\n", done.error().message.c_str());
  return done ? 0 : 1;
}
