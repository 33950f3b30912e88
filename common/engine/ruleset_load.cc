// SPDX-License-Identifier: Apache-2.0
// The rules of a program: those built in, and the packs of a site on top of them.
#include <utility>
#include <vector>

#include "common/base/file.hh"
#include "common/engine/rules_image.hh"
#include "common/engine/ruleset_impl.hh"

namespace nvab {
namespace {

// A site's pack is written by hand; this is far beyond that.
constexpr std::size_t kMaxPackBytes = 16 * 1024 * 1024;

Result<std::vector<Pack>> read_site_packs(const std::string& folder) {
  std::vector<Pack> packs;
  if (folder.empty() || !is_folder(folder)) return packs;
  auto names = list_folder(folder);
  if (!names) return fail("reading the site's rule packs", names.error());
  for (const std::string& name : *names) {
    if (!name.ends_with(".toml") || name.starts_with(".")) continue;
    const std::string path = folder + "/" + name;
    auto text = read_file(path, kMaxPackBytes);
    if (!text) return fail("reading a site's rule pack", text.error());
    auto pack = parse_pack(path, *text);
    if (!pack) return fail("reading a site's rule pack", pack.error());
    packs.push_back(std::move(*pack));
  }
  return packs;
}

}  // namespace

Result<std::unique_ptr<Ruleset>> Ruleset::load(std::string_view name,
                                               const std::string& site_folder) {
  auto builtin = read_rules_image(builtin_rules_image());
  if (!builtin) return fail("reading the built-in rules", builtin.error());
  auto site = read_site_packs(site_folder);
  if (!site) return tl::unexpected<Error>(site.error());
  auto core = build_core(name, std::move(*builtin), *site);
  if (!core) return tl::unexpected<Error>(core.error());
  return std::unique_ptr<Ruleset>(new Ruleset(std::make_unique<Impl>(std::move(*core))));
}

}  // namespace nvab
