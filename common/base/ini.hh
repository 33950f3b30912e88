// SPDX-License-Identifier: Apache-2.0
// INI files by inih, with what it lacks: the line of each value, and refusal of what it would cut.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.hh"

namespace nvab {

// inih cuts longer lines in two without a word (its buffer has 200 bytes), and section names at 49.
inline constexpr std::size_t kMaxIniLine = 199;
inline constexpr std::size_t kMaxIniSection = 49;

struct IniEntry {
  std::string section;
  std::string key;    // empty: the section's header itself
  std::string value;  // without a pair of double quotes around it
  int line = 0;       // from 1
};

// The entries in their order. "#" and ";" begin a comment at the start of a line, " ;" also behind
// a value. Errors: malformed, as "FILE:LINE: what is wrong" (no section, no "=", a key twice in a
// section, a line or section name that is too long, a NUL).
Result<std::vector<IniEntry>> parse_ini(std::string_view file_name, std::string_view text);

}  // namespace nvab
