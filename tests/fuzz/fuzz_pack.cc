// SPDX-License-Identifier: Apache-2.0
// Any text as a rule pack: it is refused with a sentence or becomes a ruleset, whose rules match
// what PCRE2 alone says they match.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>

#include "common/engine/ruleset.hh"

using namespace nvab;

namespace {

void try_tests(const Ruleset& rules, const Pack& pack) {
  for (const Rule& written : pack.rules) {
    const Rule* rule = rules.find(written.id);
    if (rule == nullptr) std::abort();
    if (rule->metric || rule->role == Role::progress) continue;
    for (const RuleTest& test : written.tests) {
      std::vector<RuleMatch> matches;
      const Source source = rule->sources.front();
      rules.match(test.line, source, rule->apps.empty() ? "" : rule->apps.front(), &matches);
      const bool found = std::any_of(matches.begin(), matches.end(),
                                     [&](const RuleMatch& match) { return match.rule == rule; });
      // With a glob for a program any may be meant.
      if (!rule->apps.empty()) continue;
      if (found != rules.try_rule(*rule, test.line).has_value()) std::abort();
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto pack = parse_pack("p.toml", {reinterpret_cast<const char*>(data), size});
  if (!pack) {
    if (pack.error().message.find("p.toml") == std::string::npos) std::abort();
    return 0;
  }
  const Pack packs[] = {*pack};
  const auto rules = Ruleset::build("fuzz", packs);
  if (!rules) {
    if (rules.error().message.size() < 10) std::abort();
    return 0;
  }
  // A pack that says an id twice keeps the last.
  std::set<std::string> ids;
  for (const Rule& rule : pack->rules) {
    if (!ids.insert(rule.id).second) return 0;
  }
  try_tests(**rules, *pack);
  return 0;
}
