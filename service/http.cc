// SPDX-License-Identifier: Apache-2.0
// See http.hh.
#include "service/http.hh"

#include <algorithm>
#include <iterator>

#include "common/base/text.hh"

namespace nvab {
namespace {

constexpr std::string_view kMethods[] = {"GET",   "HEAD",   "POST",    "PUT",
                                         "PATCH", "DELETE", "OPTIONS", "OTHER"};

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

std::string_view to_string(Method method) { return kMethods[static_cast<int>(method)]; }

Method method_from(std::string_view word) {
  const auto* const end = std::end(kMethods) - 1;
  return static_cast<Method>(std::find(std::begin(kMethods), end, word) - std::begin(kMethods));
}

std::optional<std::string> percent_decode(std::string_view text, bool plus) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && plus) {
      out += ' ';
    } else if (text[i] != '%') {
      out += text[i];
    } else {
      const int high = i + 1 < text.size() ? hex_digit(text[i + 1]) : -1;
      const int low = i + 2 < text.size() ? hex_digit(text[i + 2]) : -1;
      if (high < 0 || low < 0) return std::nullopt;
      out += static_cast<char>(high * 16 + low);
      i += 2;
    }
  }
  return out;
}

std::optional<std::string> Request::query(std::string_view name) const {
  const std::size_t mark = target.find('?');
  if (mark == std::string_view::npos) return std::nullopt;
  for (const std::string_view pair : split(target.substr(mark + 1), '&')) {
    const std::size_t equals = pair.find('=');
    if (percent_decode(pair.substr(0, equals), true) != name) continue;
    if (equals == std::string_view::npos) return std::string();
    return percent_decode(pair.substr(equals + 1), true);
  }
  return std::nullopt;
}

std::string media_type(std::string_view content_type) {
  return lower(trim(content_type.substr(0, content_type.find(';'))));
}

}  // namespace nvab
