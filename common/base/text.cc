// SPDX-License-Identifier: Apache-2.0
// Small work on text. sanitize() is the border that everything from a log or a scheduler crosses.
#include "common/base/text.hh"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>

namespace nvab {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
char lower_char(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }
unsigned char byte_at(std::string_view text, std::size_t i) {
  return i < text.size() ? static_cast<unsigned char>(text[i]) : 0;
}
bool is_continuation(unsigned char byte) { return (byte & 0xC0) == 0x80; }

// Length of the valid UTF-8 character of two or more bytes at `i`, or 0: overlong forms,
// surrogates and what lies past U+10FFFF are not valid.
std::size_t multibyte_length(std::string_view text, std::size_t i) {
  const unsigned char first = byte_at(text, i);
  const unsigned char second = byte_at(text, i + 1);
  if (!is_continuation(second)) return 0;
  if (first >= 0xC2 && first <= 0xDF) return 2;
  if (!is_continuation(byte_at(text, i + 2))) return 0;
  if (first == 0xE0) return second >= 0xA0 ? 3 : 0;
  if (first == 0xED) return second <= 0x9F ? 3 : 0;
  if (first >= 0xE1 && first <= 0xEF) return 3;
  if (!is_continuation(byte_at(text, i + 3))) return 0;
  if (first == 0xF0) return second >= 0x90 ? 4 : 0;
  if (first >= 0xF1 && first <= 0xF3) return 4;
  if (first == 0xF4) return second <= 0x8F ? 4 : 0;
  return 0;
}

// Length of the escape sequence at `i` (which is ESC): "ESC [ … letter", "ESC ] … BEL", or ESC
// and one more. Bounded, so that a lone ESC cannot swallow a file.
std::size_t escape_length(std::string_view text, std::size_t i) {
  constexpr std::size_t kMaxEscape = 256;  // window titles are the longest seen
  const std::size_t end = std::min(text.size(), i + kMaxEscape);
  const unsigned char kind = byte_at(text, i + 1);
  if (kind == '[') {
    std::size_t at = i + 2;
    while (at < end && byte_at(text, at) >= 0x20 && byte_at(text, at) <= 0x3F) ++at;
    const bool complete = at < end && byte_at(text, at) >= 0x40 && byte_at(text, at) <= 0x7E;
    return complete ? at + 1 - i : 1;
  }
  if (kind == ']') {
    for (std::size_t at = i + 2; at < end && text[at] != '\n'; ++at) {
      if (text[at] == '\a') return at + 1 - i;
      if (text[at] == '\x1B' && byte_at(text, at + 1) == '\\') return at + 2 - i;
    }
    return 1;
  }
  if (kind == '(' || kind == ')') return std::min<std::size_t>(3, text.size() - i);
  return kind >= 0x40 && kind <= 0x5F ? 2 : 1;
}

bool is_plain(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte >= 0x20 && byte < 0x7F) || byte == '\t' || byte == '\n';
  });
}

// Edit distance in which two neighbours swapped count once, given up past `limit`.
std::size_t edit_distance(std::string_view a, std::string_view b, std::size_t limit) {
  std::vector<std::size_t> before(b.size() + 1), row(b.size() + 1), next(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    next[0] = i;
    std::size_t least = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = row[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      next[j] = std::min({row[j] + 1, next[j - 1] + 1, change});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) next[j] = std::min(next[j], before[j - 2] + 1);
      least = std::min(least, next[j]);
    }
    if (least > limit) return limit + 1;
    before.swap(row);
    row.swap(next);
  }
  return row[b.size()];
}

}  // namespace

std::string_view trim(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::string join(std::span<const std::string> parts, std::string_view separator) {
  std::string out;
  for (const std::string& part : parts) {
    if (&part != parts.data()) out += separator;
    out += part;
  }
  return out;
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), lower_char);
  return out;
}

bool starts_with_nocase(std::string_view text, std::string_view prefix) {
  return text.size() >= prefix.size() &&
         std::equal(prefix.begin(), prefix.end(), text.begin(),
                    [](char a, char b) { return lower_char(a) == lower_char(b); });
}

std::optional<long long> parse_int(std::string_view text) {
  if (!text.empty() && text.front() == '+') {
    text.remove_prefix(1);
    if (!text.empty() && text.front() == '-') return std::nullopt;
  }
  long long value = 0;
  const char* end = text.data() + text.size();
  const auto [tail, error] = std::from_chars(text.data(), end, value);
  if (text.empty() || error != std::errc() || tail != end) return std::nullopt;
  return value;
}

std::optional<double> parse_double(std::string_view text) {
  if (!text.empty() && text.front() == '+') {
    text.remove_prefix(1);
    if (!text.empty() && text.front() == '-') return std::nullopt;
  }
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [tail, error] = std::from_chars(text.data(), end, value);
  if (text.empty() || error != std::errc() || tail != end) return std::nullopt;
  return value;
}

std::string sanitize(std::string_view bytes, std::size_t* replaced) {
  if (is_plain(bytes)) return std::string(bytes);
  std::string out;
  out.reserve(bytes.size());
  std::size_t lost = 0;
  for (std::size_t i = 0; i < bytes.size();) {
    const unsigned char byte = byte_at(bytes, i);
    std::size_t length = 1;
    if (byte == 0x1B) {
      length = escape_length(bytes, i);
      lost += length;
    } else if (byte < 0x20 || byte == 0x7F) {
      if (byte == '\t' || byte == '\n') {
        out += bytes[i];
      } else {
        ++lost;
      }
    } else if (byte < 0x80) {
      out += bytes[i];
    } else if ((length = multibyte_length(bytes, i)) == 0) {
      length = 1;
      out += kReplacement;
      ++lost;
    } else if (byte == 0xC2 && byte_at(bytes, i + 1) < 0xA0) {
      lost += length;  // U+0080..U+009F: controls, some terminals take them for escapes
    } else {
      out += bytes.substr(i, length);
    }
    i += length;
  }
  if (replaced != nullptr) *replaced += lost;
  return out;
}

std::string replace_invalid_utf8(std::string_view bytes, std::size_t* replaced) {
  std::string out;
  std::size_t lost = 0;
  std::size_t kept = 0;  // up to here `out` holds everything
  for (std::size_t i = 0; i < bytes.size();) {
    const std::size_t length = byte_at(bytes, i) < 0x80 ? 1 : multibyte_length(bytes, i);
    if (length == 0) {
      out.append(bytes, kept, i - kept);
      out += kReplacement;
      ++lost;
      kept = i + 1;
    }
    i += std::max<std::size_t>(length, 1);
  }
  out.append(bytes, kept);
  if (replaced != nullptr) *replaced += lost;
  return out;
}

bool is_utf8(std::string_view bytes) {
  constexpr std::size_t kBlock = 32;
  std::size_t i = 0;
  while (i < bytes.size()) {
    unsigned char high = 0;
    if (i + kBlock <= bytes.size()) {
      for (std::size_t k = 0; k < kBlock; ++k) high |= static_cast<unsigned char>(bytes[i + k]);
      if (high < 0x80) {
        i += kBlock;
        continue;
      }
    }
    const std::size_t length = byte_at(bytes, i) < 0x80 ? 1 : multibyte_length(bytes, i);
    if (length == 0) return false;
    i += length;
  }
  return true;
}

std::string excerpt(std::string_view text, std::size_t limit) {
  if (text.size() <= limit) return std::string(text);
  std::size_t end = limit;
  while (end > 0 && is_continuation(byte_at(text, end))) --end;
  return std::string(text.substr(0, end)) + "…";
}

std::string_view nearest(std::string_view wanted, std::span<const std::string_view> candidates) {
  // Names are short; a long one is no slip of a name, and must not cost quadratic time.
  constexpr std::size_t kMaxName = 64;
  if (wanted.empty() || wanted.size() > kMaxName) return {};
  const std::string name = lower(wanted);
  std::size_t best = std::max<std::size_t>(1, name.size() / 3) + 1;
  std::string_view found;
  for (const std::string_view candidate : candidates) {
    if (candidate.size() > kMaxName) continue;
    const std::size_t distance = edit_distance(name, lower(candidate), best);
    if (distance < best) {
      best = distance;
      found = candidate;
    }
  }
  return found;
}

bool glob_match(std::string_view pattern, std::string_view text) {
  std::size_t p = 0, t = 0;
  // Where to go on after the last '*' when what followed it did not fit: linear steps, no
  // recursion.
  std::size_t star = std::string_view::npos, resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace nvab
