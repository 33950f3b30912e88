// SPDX-License-Identifier: Apache-2.0
// The first stage of matching: byte strings of which at least one must stand in any text that a
// pattern can match, chosen so that ordinary log lines seldom hold them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.hh"

namespace nvab {

// Shorter ones stand in too many ordinary lines.
inline constexpr std::size_t kMinLiteral = 5;
// Longer ones select nothing more.
inline constexpr std::size_t kMaxLiteral = 32;
// More alternatives than this cost the first stage more than they tell apart.
inline constexpr std::size_t kMaxLiterals = 32;

struct Literal {
  std::string text;       // lower case when `caseless`
  bool caseless = false;  // ASCII letters match either case
  int place = -1;         // where LiteralMatcher looks into it; -1: not chosen yet
  auto operator<=>(const Literal&) const = default;
};

// Every text that `pattern` (PCRE2, multi-line, bytes) matches holds one of these. None holds a
// line break: a block's lines are apart in the raw stream. Errors: malformed when an alternative
// has no literal of `min_length` bytes, or uses syntax that this small parser does not follow; the
// message says what it found.
Result<std::vector<Literal>> required_literals(std::string_view pattern, bool caseless,
                                               std::size_t min_length = kMinLiteral);

// How seldom an ordinary log holds `text`, in bits: each more halves the expected hits. An
// estimate from a table of letters and of words that logs are full of.
double rarity_bits(std::string_view text);
// The same for four bytes in either case, as a share of all places, and fast.
double gram_share(std::string_view gram);

}  // namespace nvab
