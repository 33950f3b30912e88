// SPDX-License-Identifier: Apache-2.0
// What a Ruleset holds, for ruleset.cc and ruleset_build.cc only.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/base/regex.hh"
#include "common/engine/literal_matcher.hh"
#include "common/engine/rules_image.hh"
#include "common/engine/ruleset.hh"

namespace nvab {

// The immutable part.
struct RulesetCore {
  RulesetName name;
  RuleSets sets;
  std::vector<Rule> rules;                     // sorted by id
  std::vector<std::vector<Literal>> literals;  // by rule
  std::optional<LiteralMatcher> line_matcher, progress_matcher;
  bool has_shadow = false;  // any rule in shadow mode

  std::uint32_t index_of(const Rule& rule) const;
  // Null when there is none.
  const Rule* find(std::string_view id) const;
};

// How a core comes about (ruleset_build.cc): packs on top of rules that are compiled already.
Result<std::shared_ptr<const RulesetCore>> build_core(std::string_view name, RulesImage base,
                                                      std::span<const Pack> packs);

struct LazyRegex {
  std::optional<Regex> regex;
  bool tried = false;
};

struct Ruleset::Impl {
  explicit Impl(std::shared_ptr<const RulesetCore> shared)
      : core(std::move(shared)), matches(core->rules.size()), unlesses(core->rules.size()) {}

  // Shared by a ruleset and its clones: the rules that events point to must live as long as the
  // last of them.
  std::shared_ptr<const RulesetCore> core;
  std::vector<LazyRegex> matches, unlesses;  // by rule
  std::vector<std::uint32_t> candidates;     // kept between calls for its memory

  std::optional<RuleMatch> confirm(std::uint32_t index, std::string_view message);
  const Regex* pattern(LazyRegex* lazy, const std::string& text, bool caseless);
  // The owners of literals in `message`, in `candidates`.
  void find_candidates(const LiteralMatcher& matcher, std::string_view message);
  bool any_candidate(bool in_shadow) const;
  void run(const LiteralMatcher& matcher, std::string_view message, Source source,
           std::string_view app, std::vector<RuleMatch>* matches_out);
};

}  // namespace nvab
