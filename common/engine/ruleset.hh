// SPDX-License-Identifier: Apache-2.0
// Rules compiled for matching in two stages: a required literal of each rule in one literal
// matcher, then that rule alone, with PCRE2, on that line alone (why: see README, "How the scan
// works").
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/regex.hh"
#include "common/base/result.hh"
#include "common/engine/literals.hh"
#include "common/engine/rule.hh"
#include "common/model/verdict.hh"

namespace nvab {

struct RuleMatch {
  const Rule* rule = nullptr;
  std::vector<Capture> captures;
};

// Immutable; holds the rules that Events point to, so it lives longer than any Engine. Matching
// compiles patterns lazily and is therefore for one thread at a time; clone() is cheap.
class Ruleset {
 public:
  // Later packs override rules of the same id and may disable others; both must be known. Errors:
  // malformed, with the rule's id, file and line (a pattern that PCRE2 refuses, no required
  // literal, an unknown placeholder in `explanation`, a cycle in `explains`).
  static Result<std::unique_ptr<Ruleset>> build(std::string_view name, std::span<const Pack> packs);
  // The packs built into the binary, and those of `site_folder` (*.toml, sorted by name; a missing
  // folder is no error). Reads files: for programs, not for the engine.
  static Result<std::unique_ptr<Ruleset>> load(std::string_view name,
                                               const std::string& site_folder);
  std::unique_ptr<Ruleset> clone() const;
  ~Ruleset();

  std::span<const Rule> rules() const;
  const Rule* find(std::string_view id) const;
  const RulesetName& name() const;  // name, version, digest ("sha256:…" of all rules in effect)

  static constexpr std::size_t npos = static_cast<std::size_t>(-1);
  // Stage one on raw bytes: the place of a byte on the first line, at or after `from`, that holds
  // a literal of any line rule (progress rules excepted: their lines are sampled) or opens a block;
  // npos when there is none. A literal across the end of `bytes` is not seen.
  std::size_t next_candidate(std::string_view bytes, std::size_t from) const;
  // Whether stage one lets any line rule, or any progress rule, look at this message; rules in
  // shadow mode do not count.
  bool may_match(std::string_view message) const;
  bool may_be_progress(std::string_view message) const;
  // Whether it lets any rule in shadow mode look.
  bool may_match_shadow(std::string_view message) const;
  // Whether next_candidate() stops in this line for the sake of others than rules in shadow mode.
  bool is_candidate(std::string_view line) const;
  bool has_shadow() const;

  // Both stages on one message (a line or block) of one source written by `app`: every rule that
  // matches, in rule order, progress rules excepted. Captures point into `message`.
  void match(std::string_view message, Source source, std::string_view app,
             std::vector<RuleMatch>* matches) const;
  // The same for progress rules alone.
  void match_progress(std::string_view message, Source source,
                      std::vector<RuleMatch>* matches) const;
  // One rule alone, as match() would try it, without its literals, source and app (for
  // `nvab-rules explain` and tests). Nothing when it does not match.
  std::optional<RuleMatch> try_rule(const Rule& rule, std::string_view message) const;
  // The literals of a rule's first stage; empty for a metric rule.
  std::span<const Literal> literals(const Rule& rule) const;

 private:
  struct Impl;
  explicit Ruleset(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace nvab
