// SPDX-License-Identifier: Apache-2.0
// PCRE2 with JIT and with limits, so that a pattern of a site pack cannot hang a run. The only user
// of <pcre2.h>.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/result.hh"

namespace nvab {

// Longest text handed to one match: a line (or block) is cut there.
inline constexpr std::size_t kMaxMatchText = 64 * 1024;

struct Capture {
  std::string_view name;  // lives as long as the Regex
  std::string_view text;  // lives as long as the subject
};

// A compiled pattern: UTF-8 off (bytes), multi-line ('^' and '$' also at line breaks), JIT compiled
// at first use. Immutable after construction but for that; one Regex may be used by one thread at a
// time.
class Regex {
 public:
  // Errors: malformed, with the offset in the pattern and PCRE2's words.
  static Result<Regex> compile(std::string_view pattern, bool caseless = false);
  Regex(Regex&&) noexcept;
  Regex& operator=(Regex&&) noexcept;
  ~Regex();

  // Whether it matches somewhere. Over PCRE2's match limit counts as no match; `limits_hit()` says
  // how often that happened.
  bool matches(std::string_view text) const;
  // The named groups that took part, in pattern order; nothing when there is no match.
  std::optional<std::vector<Capture>> match(std::string_view text) const;
  std::size_t limits_hit() const;

  const std::vector<std::string>& group_names() const;

 private:
  struct Impl;
  explicit Regex(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace nvab
