// SPDX-License-Identifier: Apache-2.0
// Rules in effect, their first stage and their lazily compiled patterns. How packs are merged and
// checked is in ruleset_build.cc.
#include "common/engine/ruleset.hh"

#include <algorithm>

#include "common/base/text.hh"
#include "common/engine/ruleset_impl.hh"

namespace nvab {
namespace {

bool applies(const Rule& rule, Source source, std::string_view app) {
  if (std::find(rule.sources.begin(), rule.sources.end(), source) == rule.sources.end()) {
    return false;
  }
  return rule.apps.empty() ||
         std::any_of(rule.apps.begin(), rule.apps.end(),
                     [&](const std::string& glob) { return glob_match(glob, app); });
}

}  // namespace

std::uint32_t RulesetCore::index_of(const Rule& rule) const {
  return static_cast<std::uint32_t>(&rule - rules.data());
}

const Rule* RulesetCore::find(std::string_view id) const {
  const auto at =
      std::lower_bound(rules.begin(), rules.end(), id,
                       [](const Rule& rule, std::string_view wanted) { return rule.id < wanted; });
  return at != rules.end() && at->id == id ? &*at : nullptr;
}

Ruleset::Ruleset(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Ruleset::~Ruleset() = default;

std::unique_ptr<Ruleset> Ruleset::clone() const {
  return std::unique_ptr<Ruleset>(new Ruleset(std::make_unique<Impl>(impl_->core)));
}

std::span<const Rule> Ruleset::rules() const { return impl_->core->rules; }
const RulesetName& Ruleset::name() const { return impl_->core->name; }

const Rule* Ruleset::find(std::string_view id) const { return impl_->core->find(id); }

std::span<const Literal> Ruleset::literals(const Rule& rule) const {
  return impl_->core->literals[impl_->core->index_of(rule)];
}

std::size_t Ruleset::next_candidate(std::string_view bytes, std::size_t from) const {
  return impl_->core->line_matcher->next(bytes, from);
}

void Ruleset::Impl::find_candidates(const LiteralMatcher& matcher, std::string_view message) {
  candidates.clear();
  matcher.owners(message, &candidates);
}

bool Ruleset::Impl::any_candidate(bool in_shadow) const {
  // The openers of blocks come last and are no rule's.
  return std::any_of(candidates.begin(), candidates.end(), [&](std::uint32_t owner) {
    return owner < core->rules.size() && core->rules[owner].shadow == in_shadow;
  });
}

bool Ruleset::may_match(std::string_view message) const {
  impl_->find_candidates(*impl_->core->line_matcher, message);
  return impl_->any_candidate(false);
}

bool Ruleset::may_be_progress(std::string_view message) const {
  if (!has_shadow()) return impl_->core->progress_matcher->next(message, 0) != npos;
  impl_->find_candidates(*impl_->core->progress_matcher, message);
  return impl_->any_candidate(false);
}

bool Ruleset::may_match_shadow(std::string_view message) const {
  for (const auto* matcher : {&impl_->core->line_matcher, &impl_->core->progress_matcher}) {
    impl_->find_candidates(**matcher, message);
    if (impl_->any_candidate(true)) return true;
  }
  return false;
}

bool Ruleset::is_candidate(std::string_view line) const {
  if (next_candidate(line, 0) == npos) return false;
  if (!has_shadow()) return true;
  impl_->find_candidates(*impl_->core->line_matcher, line);
  const bool opener =
      !impl_->candidates.empty() && impl_->candidates.back() >= impl_->core->rules.size();
  return opener || impl_->any_candidate(false);
}

bool Ruleset::has_shadow() const { return impl_->core->has_shadow; }

std::optional<RuleMatch> Ruleset::try_rule(const Rule& rule, std::string_view message) const {
  return impl_->confirm(impl_->core->index_of(rule), message);
}

std::optional<RuleMatch> Ruleset::Impl::confirm(std::uint32_t index, std::string_view message) {
  const Rule& rule = core->rules[index];
  const Regex* match = pattern(&matches[index], rule.match, rule.caseless);
  if (!match) return std::nullopt;
  std::optional<std::vector<Capture>> captures = match->match(message);
  if (!captures) return std::nullopt;
  if (!rule.unless.empty()) {
    const Regex* unless = pattern(&unlesses[index], rule.unless, rule.caseless);
    if (unless && unless->matches(message)) return std::nullopt;
  }
  return RuleMatch{&rule, std::move(*captures)};
}

// Compiled at first use: a run of a small log needs few of the patterns.
const Regex* Ruleset::Impl::pattern(LazyRegex* lazy, const std::string& text, bool caseless) {
  if (!lazy->tried) {
    lazy->tried = true;
    if (auto compiled = Regex::compile(text, caseless)) lazy->regex = std::move(*compiled);
  }
  return lazy->regex ? &*lazy->regex : nullptr;
}

void Ruleset::Impl::run(const LiteralMatcher& matcher, std::string_view message, Source source,
                        std::string_view app, std::vector<RuleMatch>* matches_out) {
  message = message.substr(0, kMaxMatchText);
  find_candidates(matcher, message);
  for (std::uint32_t index : candidates) {
    if (index >= core->rules.size()) break;  // only opens a block
    if (!applies(core->rules[index], source, app)) continue;
    if (auto found = confirm(index, message)) matches_out->push_back(std::move(*found));
  }
}

void Ruleset::match(std::string_view message, Source source, std::string_view app,
                    std::vector<RuleMatch>* matches) const {
  impl_->run(*impl_->core->line_matcher, message, source, app, matches);
}

void Ruleset::match_progress(std::string_view message, Source source,
                             std::vector<RuleMatch>* matches) const {
  impl_->run(*impl_->core->progress_matcher, message, source, {}, matches);
}

}  // namespace nvab
