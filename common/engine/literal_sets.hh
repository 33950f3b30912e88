// SPDX-License-Identifier: Apache-2.0
// What is known of the texts that a part of a pattern can match, and how parts combine. For
// common/engine/literals.cc only.
#pragma once

#include <optional>
#include <vector>

#include "common/engine/literals.hh"

namespace nvab {

using LiteralSet = std::vector<Literal>;  // sorted, unique

// Sets grow by multiplication; a larger one is cut into two at that place.
inline constexpr std::size_t kMaxSet = 24;
inline constexpr std::size_t kMaxExact = 64;

struct LiteralInfo {
  std::optional<LiteralSet> exact;   // all texts that it can match, if these are few
  std::vector<LiteralSet> required;  // of each set one member occurs
};

LiteralInfo any_text();    // nothing is known
LiteralInfo empty_text();  // matches without taking room

void normalise(LiteralSet* set);

// How good a first stage the set is: the bits of rarity it promises. Negative when it cannot serve
// (a member shorter than `min_length`, too many members).
double value_of(const LiteralSet& set, std::size_t min_length);
// The most valuable set of `info`; null when none serves.
const LiteralSet* best_set(const LiteralInfo& info, std::size_t min_length);

// One of several alternatives.
LiteralInfo unite(std::vector<LiteralInfo> branches);
// `info` or nothing (`at_most` 1), or any number of it.
LiteralInfo optional_of(const LiteralInfo& info, int at_most);

// The best window of a literal: at most kMaxLiteral bytes, and without quotes and the like where
// there is enough beside them.
Literal clip(const Literal& literal);

// A concatenation, extended part by part: the exact texts since the last place where exactness
// ended, and what was required before it.
class LiteralRun {
 public:
  void add(const LiteralInfo& info);
  // What follows does not stand directly behind what was added so far.
  void cut();
  LiteralInfo finish() &&;

 private:
  bool fits(const LiteralSet& next) const;
  void multiply(const LiteralSet& next);
  LiteralSet current_{Literal{}};
  std::vector<LiteralSet> required_;
  bool all_exact_ = true;
};

}  // namespace nvab
