// SPDX-License-Identifier: Apache-2.0
// Finds any of many literals in raw bytes, at memory speed.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "common/engine/literals.hh"

namespace nvab {

// A literal and whom it stands for (several may have one owner).
struct OwnedLiteral {
  // No line break. Best of seven bytes or more; with less than kMinLiteral each is searched for by
  // itself.
  Literal literal;
  std::uint32_t owner = 0;
};

// Immutable: any number of threads may use one.
class LiteralMatcher {
 public:
  explicit LiteralMatcher(std::span<const OwnedLiteral> literals);
  // Sets `place` where it is not set: takes a microsecond, and need not be done at each start.
  static void choose_place(Literal* literal);
  ~LiteralMatcher();

  static constexpr std::size_t npos = static_cast<std::size_t>(-1);
  // The place of a byte inside a literal in `bytes`, at or after `from`: of all literals that begin
  // there, one on the first line that has any. npos when there is none.
  std::size_t next(std::string_view bytes, std::size_t from) const;
  // Appends the owners of the literals in `text`, each once, ascending.
  void owners(std::string_view text, std::vector<std::uint32_t>* owners) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace nvab
