// SPDX-License-Identifier: Apache-2.0
// See rulesets.hh.
#include "service/rulesets.hh"

#include <utility>

namespace nvab {

LoadedRules::Lease::Lease(LoadedRules& owner) : owner_(owner) {
  {
    const std::lock_guard lock(owner_.mutex_);
    if (!owner_.clones_.empty()) {
      clone_ = std::move(owner_.clones_.back());
      owner_.clones_.pop_back();
    }
  }
  if (!clone_) clone_ = owner_.rules_->clone();
}

LoadedRules::Lease::~Lease() {
  const std::lock_guard lock(owner_.mutex_);
  owner_.clones_.push_back(std::move(clone_));
}

void RuleHits::count(const std::vector<Event>& events) {
  std::map<const Rule*, std::uint64_t> found;
  for (const Event& event : events) ++found[event.rule];
  const std::lock_guard lock(mutex_);
  for (const auto& [rule, hits] : found) hits_[rule->id] += hits;
}

std::map<std::string, std::uint64_t> RuleHits::all() const {
  const std::lock_guard lock(mutex_);
  return {hits_.begin(), hits_.end()};
}

Result<Rulesets::Loaded> Rulesets::load_all(const std::vector<RulesetSource>& sources) {
  Loaded loaded;
  for (const RulesetSource& source : sources) {
    auto rules = Ruleset::load(source.name, source.folder);
    if (!rules) return fail("loading the ruleset '" + source.name + "'", rules.error());
    loaded[source.name] = std::make_shared<LoadedRules>(std::move(*rules));
  }
  return loaded;
}

Result<std::unique_ptr<Rulesets>> Rulesets::load(std::vector<RulesetSource> sources) {
  auto loaded = load_all(sources);
  if (!loaded) return tl::unexpected(std::move(loaded.error()));
  auto rulesets = std::make_unique<Rulesets>();
  rulesets->sources_ = std::move(sources);
  rulesets->loaded_ = std::move(*loaded);
  return rulesets;
}

Result<void> Rulesets::reload() {
  auto loaded = load_all(sources_);
  if (!loaded) return tl::unexpected(std::move(loaded.error()));
  const std::lock_guard lock(mutex_);
  for (auto& [name, rules] : *loaded) {
    std::shared_ptr<LoadedRules>& old = loaded_[name];
    // Unchanged rules keep their clones, and sessions on both sides of the reload share them.
    if (old->name().digest != rules->name().digest ||
        old->name().version != rules->name().version) {
      old = std::move(rules);
    }
  }
  return {};
}

std::shared_ptr<LoadedRules> Rulesets::find(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  const auto found = loaded_.find(name);
  return found == loaded_.end() ? nullptr : found->second;
}

std::vector<RulesetName> Rulesets::names() const {
  const std::lock_guard lock(mutex_);
  std::vector<RulesetName> names;
  for (const auto& [name, rules] : loaded_) names.push_back(rules->name());
  return names;
}

}  // namespace nvab
