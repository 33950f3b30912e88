// SPDX-License-Identifier: Apache-2.0
// Values of settings: the types and their spellings.
#include "common/base/settings_value.hh"

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/base/text.hh"

namespace nvab {
namespace {

// Commas inside brackets belong to the element: "1234_[1,3],n[1-4,9]" has two.
std::vector<std::string> split_list(std::string_view text) {
  std::vector<std::string> items;
  std::string item;
  int depth = 0;
  const auto flush = [&] {
    if (const auto trimmed = trim(item); !trimmed.empty()) items.emplace_back(trimmed);
    item.clear();
  };
  for (const char c : text) {
    if (c == '[') ++depth;
    if (c == ']') depth = std::max(0, depth - 1);
    if (c == ',' && depth == 0) {
      flush();
    } else {
      item += c;
    }
  }
  flush();
  return items;
}

std::optional<std::string> check_integer(const ParamSpec& param, std::string_view text) {
  const auto number = parse_int(text);
  if (!number) return "wants a whole number";
  if (*number < param.low) return "wants at least " + std::to_string(param.low);
  if (*number > param.high) return "wants at most " + std::to_string(param.high);
  return std::nullopt;
}

std::optional<std::string> check_choices(const ParamSpec& param, const SettingValue& value) {
  if (param.choices.empty()) return std::nullopt;
  const auto words = split(param.choices, '|');
  const auto is_word = [&](std::string_view word) {
    return std::find(words.begin(), words.end(), word) != words.end();
  };
  const bool fits = param.type == ParamType::list
                        ? std::all_of(value.items.begin(), value.items.end(), is_word)
                        : is_word(value.text);
  if (fits) return std::nullopt;
  std::string list;
  for (const std::string_view word : words) {
    list += (list.empty() ? "" : ", ") + std::string(word);
  }
  return "wants one of: " + list;
}

bool has_controls(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 || byte == 0x7F;
  });
}

}  // namespace

std::optional<bool> parse_boolean(std::string_view text) {
  for (const std::string_view word : {"true", "yes", "on", "1"}) {
    if (text == word) return true;
  }
  for (const std::string_view word : {"false", "no", "off", "0"}) {
    if (text == word) return false;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> parse_bytes(std::string_view text) {
  constexpr std::string_view kUnits = "KMGTPE";
  std::string_view number = text;
  if (number.ends_with("iB")) {
    number.remove_suffix(2);
    if (number.empty() || kUnits.find(number.back()) == std::string_view::npos) return std::nullopt;
  } else if (number.ends_with('B')) {
    number.remove_suffix(1);
  }
  double scale = 1;
  if (const std::size_t unit = number.empty() ? std::string_view::npos : kUnits.find(number.back());
      unit != std::string_view::npos) {
    scale = std::pow(1024.0, static_cast<double>(unit + 1));
    number.remove_suffix(1);
  }
  if (number.empty() || number.find_first_not_of("0123456789.") != std::string_view::npos) {
    return std::nullopt;
  }
  if (scale == 1) {
    const auto whole = parse_int(number);
    return whole ? std::optional(static_cast<std::uint64_t>(*whole)) : std::nullopt;
  }
  const auto value = parse_double(number);
  // Past 2^63 no memory or disk of ours goes, and a double would not be exact any more.
  if (!value || *value * scale >= 9223372036854775808.0) return std::nullopt;
  return static_cast<std::uint64_t>(*value * scale);
}

bool is_setting_name(std::string_view name, bool is_instance) {
  const auto is_letter = [](char c) { return c >= 'a' && c <= 'z'; };
  if (name.empty() || !is_letter(name.front())) return false;
  return std::all_of(name.begin(), name.end(), [&](char c) {
    return is_letter(c) || (c >= '0' && c <= '9') || c == '_' || (is_instance && c == '-');
  });
}

std::optional<std::string> check_value(const ParamSpec& param, SettingValue& value) {
  if (has_controls(value.text)) return "holds a control character";
  if (replace_invalid_utf8(value.text) != value.text) return "is not UTF-8";
  switch (param.type) {
    case ParamType::string:
    case ParamType::path:
      break;
    case ParamType::integer:
      if (auto problem = check_integer(param, value.text)) return problem;
      break;
    case ParamType::boolean:
      if (!parse_boolean(value.text)) return "wants true or false";
      break;
    case ParamType::duration:
      if (!parse_duration(value.text)) return "wants a duration such as 90s, 15m or 2h";
      break;
    case ParamType::bytes:
      if (!parse_bytes(value.text)) return "wants a size such as 64K, 10M or 1G";
      break;
    case ParamType::list:
      if (value.items.empty()) value.items = split_list(value.text);
      break;
  }
  return check_choices(param, value);
}

std::string quoted_value(const ParamSpec& param, const SettingValue& value) {
  if (param.secret) return "";
  std::string shown = excerpt(sanitize(value.text), 60);
  std::replace(shown.begin(), shown.end(), '\n', ' ');  // a message is one line
  return " '" + shown + "'";
}

std::string did_you_mean(std::string_view wanted, const std::vector<std::string>& candidates) {
  const std::vector<std::string_view> views(candidates.begin(), candidates.end());
  const std::string_view found = nearest(wanted, views);
  return found.empty() ? "" : "; did you mean '" + std::string(found) + "'?";
}

}  // namespace nvab
