// SPDX-License-Identifier: Apache-2.0
// TOML documents by toml++, copied into a plain tree, so that its heavy header stays in one file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.hh"

namespace nvab {

struct TomlMember;

// A value and where it was written, so that a caller's own checks can say where they failed.
struct Toml {
  enum class Kind { table, array, string, integer, real, boolean, date };
  Kind kind = Kind::table;
  std::string text;                 // string; dates as they would be written
  std::int64_t integer = 0;         // integer
  double real = 0;                  // real, and integer as a double
  bool boolean = false;             // boolean
  std::vector<Toml> elements;       // array
  std::vector<TomlMember> members;  // table, sorted by key
  int line = 0, column = 0;         // from 1

  const Toml* get(std::string_view key) const;  // null when it is absent or this is no table
  bool is(Kind wanted) const { return kind == wanted; }
};

// Not a std::pair: clang asks a pair for its properties while Toml is still incomplete.
struct TomlMember {
  std::string name;
  Toml value;
};

// "a table", "a string", …: for "wants a string, not a table".
std::string_view to_string(Toml::Kind kind);

// The document's top table. Errors: malformed, as "FILE:LINE:COLUMN: what is wrong".
Result<Toml> parse_toml(std::string_view file_name, std::string_view text);

}  // namespace nvab
