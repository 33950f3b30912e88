// SPDX-License-Identifier: Apache-2.0
// Rules compiled for matching in two stages: a required literal of each rule in one literal
// matcher, then that rule alone, with PCRE2, on that line alone (why: see README, "How the scan
// works").
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/regex.hh"
#include "common/base/result.hh"
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
  // Later packs override rules of the same id and may disable others. Errors: malformed, with the
  // rule's id, file and line (a pattern that PCRE2 refuses, no required literal, an unknown
  // outcome, a cycle in `explains`).
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

  // Stage one on raw bytes: calls hit(offset of the end of a literal) in ascending order for all
  // literals of all line rules, progress rules excepted (they are sampled).
  template <typename Hit>
  void scan(std::string_view bytes, Hit&& hit) const {
    scan_literals(
        bytes,
        [](void* context, std::uint64_t end) {
          (*static_cast<std::remove_reference_t<Hit>*>(context))(end);
        },
        &hit);
  }

  // Both stages on one message (a line or block) of one source written by `app`: every rule that
  // matches, in rule order. Captures point into `message`.
  void match(std::string_view message, Source source, std::string_view app,
             std::vector<RuleMatch>* matches) const;
  // The same for progress rules alone.
  void match_progress(std::string_view message, Source source,
                      std::vector<RuleMatch>* matches) const;

 private:
  struct Impl;
  explicit Ruleset(std::unique_ptr<Impl> impl);
  void scan_literals(std::string_view bytes, void (*hit)(void*, std::uint64_t),
                     void* context) const;
  std::unique_ptr<Impl> impl_;
};

}  // namespace nvab
