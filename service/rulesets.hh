// SPDX-License-Identifier: Apache-2.0
// The rulesets of the service, by name. Loading new rules leaves sessions with those that they were
// created with.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.hh"
#include "common/engine/engine.hh"
#include "common/engine/ruleset.hh"

namespace nvab {

// A ruleset as it was loaded once, with clones for the threads that match with it. For any thread.
class LoadedRules {
 public:
  explicit LoadedRules(std::unique_ptr<Ruleset> rules) : rules_(std::move(rules)) {}

  const Ruleset& rules() const { return *rules_; }
  const RulesetName& name() const { return rules_->name(); }

  // A clone for one thread, until the lease ends. Clones are kept for their compiled patterns.
  class Lease {
   public:
    explicit Lease(LoadedRules& owner);
    ~Lease();
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    const Ruleset& operator*() const { return *clone_; }

   private:
    LoadedRules& owner_;
    std::unique_ptr<Ruleset> clone_;
  };

 private:
  const std::unique_ptr<Ruleset> rules_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Ruleset>> clones_;
};

// Which rules recognised something, and how often, over all sessions. For any thread.
class RuleHits {
 public:
  void count(const std::vector<Event>& events);
  std::map<std::string, std::uint64_t> all() const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::uint64_t, std::less<>> hits_;
};

struct RulesetSource {
  std::string name;    // "default"
  std::string folder;  // of the site's packs, beside those built in; may be missing
};

class Rulesets {
 public:
  static Result<std::unique_ptr<Rulesets>> load(std::vector<RulesetSource> sources);
  // All again from their folders; on an error all old ones stay. Errors name file and line.
  Result<void> reload();
  // Shared with the sessions that are judged by it, which may outlive a reload. Null: no such name.
  std::shared_ptr<LoadedRules> find(std::string_view name) const;
  std::vector<RulesetName> names() const;

 private:
  using Loaded = std::map<std::string, std::shared_ptr<LoadedRules>, std::less<>>;
  static Result<Loaded> load_all(const std::vector<RulesetSource>& sources);

  std::vector<RulesetSource> sources_;
  mutable std::mutex mutex_;
  Loaded loaded_;
};

}  // namespace nvab
