// SPDX-License-Identifier: Apache-2.0
// Small work on text that several layers need. All functions are pure and take any bytes.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace nvab {

std::string_view trim(std::string_view text);
std::vector<std::string_view> split(std::string_view text, char separator);
std::string join(std::span<const std::string> parts, std::string_view separator);
std::string lower(std::string_view text);  // ASCII only
bool starts_with_nocase(std::string_view text, std::string_view prefix);

// Whole-string decimal; nothing on sign trouble, overflow, or a tail.
std::optional<long long> parse_int(std::string_view text);
std::optional<double> parse_double(std::string_view text);

// Valid UTF-8 without control characters other than tab and newline: invalid bytes become U+FFFD,
// NUL and other controls are dropped, ANSI colour sequences are removed. `replaced`, when given,
// is increased by the number of bytes that were not kept.
std::string sanitize(std::string_view bytes, std::size_t* replaced = nullptr);

// Valid UTF-8: each invalid byte becomes U+FFFD and adds one to `replaced`; controls stay, for
// formats that escape them. For what people will see use sanitize().
std::string replace_invalid_utf8(std::string_view bytes, std::size_t* replaced = nullptr);

// Whether it is valid UTF-8 as it is; fast where most of it is ASCII.
bool is_utf8(std::string_view bytes);

// The first `limit` bytes, cut at a character border, with "…" when something was cut.
std::string excerpt(std::string_view text, std::size_t limit);

// The candidate closest to `wanted` by edit distance, when it is close enough to be a likely
// slip (at most a third of its length); else empty.
std::string_view nearest(std::string_view wanted, std::span<const std::string_view> candidates);

// Shell-style match of the whole text: '*' any run, '?' one character. No sets, no escapes.
bool glob_match(std::string_view pattern, std::string_view text);

}  // namespace nvab
