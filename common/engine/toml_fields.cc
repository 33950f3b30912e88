// SPDX-License-Identifier: Apache-2.0
// Reads TOML members by name and type; every message says file, line, table, key and what to write.
#include "common/engine/toml_fields.hh"

#include <fmt/core.h>

#include <algorithm>

#include "common/base/text.hh"

namespace nvab {

std::string suggestion(std::string_view wanted, std::span<const std::string_view> candidates) {
  const std::string_view near = nearest(wanted, candidates);
  if (!near.empty()) return fmt::format("; did you mean '{}'?", near);
  constexpr std::size_t kShortList = 10;  // more words than that hide the point of the message
  if (candidates.empty() || candidates.size() > kShortList) return "";
  std::string list;
  for (std::string_view candidate : candidates) {
    list += list.empty() ? "; there are: " : ", ";
    list += candidate;
  }
  return list;
}

TomlFields::TomlFields(std::string_view file, const Toml& table, std::string what)
    : file_(file), table_(table), what_(std::move(what)) {
  if (!table.is(Toml::Kind::table)) {
    complain_at(table.line, fmt::format("wants a table, not {}", to_string(table.kind)));
  }
}

void TomlFields::complain_at(int line, std::string_view problem) {
  if (failed()) return;
  error_ = {Error::Code::malformed, fmt::format("{}:{}: {}: {}", file_, line, what_, problem)};
}

void TomlFields::complain(std::string_view key, std::string_view problem) {
  const Toml* member = table_.get(key);
  complain_at(member ? member->line : table_.line, fmt::format("{} {}", key, problem));
}

const Toml* TomlFields::any(std::string_view key) {
  asked_.push_back(key);
  return failed() ? nullptr : table_.get(key);
}

const Toml* TomlFields::any(std::string_view key, Toml::Kind kind) { return take(key, kind); }

const Toml* TomlFields::take(std::string_view key, Toml::Kind kind) {
  const Toml* member = any(key);
  if (!member) return nullptr;
  const bool as_real = kind == Toml::Kind::real && member->is(Toml::Kind::integer);
  if (member->is(kind) || as_real) return member;
  complain(key, fmt::format("wants {}, not {}", to_string(kind), to_string(member->kind)));
  return nullptr;
}

bool TomlFields::text(std::string_view key, std::string* out) {
  const Toml* member = take(key, Toml::Kind::string);
  if (member) *out = member->text;
  return member != nullptr;
}

bool TomlFields::flag(std::string_view key, bool* out) {
  const Toml* member = take(key, Toml::Kind::boolean);
  if (member) *out = member->boolean;
  return member != nullptr;
}

bool TomlFields::integer(std::string_view key, int low, int high, int* out) {
  const Toml* member = take(key, Toml::Kind::integer);
  if (!member) return false;
  if (member->integer < low || member->integer > high) {
    complain(key, fmt::format("wants a number from {} to {}, not {}", low, high, member->integer));
    return false;
  }
  *out = static_cast<int>(member->integer);
  return true;
}

bool TomlFields::number(std::string_view key, double* out) {
  const Toml* member = take(key, Toml::Kind::real);
  if (member) *out = member->real;
  return member != nullptr;
}

bool TomlFields::duration(std::string_view key, Duration* out) {
  const Toml* member = take(key, Toml::Kind::string);
  if (!member) return false;
  const std::optional<Duration> value = parse_duration(member->text);
  if (value) *out = *value;
  if (!value) complain(key, fmt::format("wants a duration like \"35m\", not \"{}\"", member->text));
  return value.has_value();
}

bool TomlFields::texts(std::string_view key, std::vector<std::string>* out) {
  const Toml* member = take(key, Toml::Kind::array);
  if (!member) return false;
  out->clear();
  for (const Toml& element : member->elements) {
    if (!element.is(Toml::Kind::string)) {
      complain_at(element.line,
                  fmt::format("{} wants strings, not {}", key, to_string(element.kind)));
      return false;
    }
    out->push_back(element.text);
  }
  return true;
}

bool TomlFields::numbers(std::string_view key, std::vector<double>* out) {
  const Toml* member = take(key, Toml::Kind::array);
  if (!member) return false;
  out->clear();
  for (const Toml& element : member->elements) {
    if (!element.is(Toml::Kind::integer) && !element.is(Toml::Kind::real)) {
      complain_at(element.line,
                  fmt::format("{} wants numbers, not {}", key, to_string(element.kind)));
      return false;
    }
    out->push_back(element.real);
  }
  return true;
}

int TomlFields::index_of(const Toml& value, std::string_view key,
                         std::span<const std::string_view> words) {
  const auto found = std::find(words.begin(), words.end(), value.text);
  if (value.is(Toml::Kind::string) && found != words.end()) {
    return static_cast<int>(found - words.begin());
  }
  complain_at(
      value.line,
      value.is(Toml::Kind::string)
          ? fmt::format("{} does not know '{}'{}", key, value.text, suggestion(value.text, words))
          : fmt::format("{} wants a string, not {}", key, to_string(value.kind)));
  return -1;
}

int TomlFields::index_of(std::string_view key, std::span<const std::string_view> words) {
  const Toml* member = any(key);
  return member ? index_of(*member, key, words) : -1;
}

Result<void> TomlFields::finish() {
  for (const auto& [key, value] : table_.members) {
    if (std::find(asked_.begin(), asked_.end(), key) != asked_.end()) continue;
    complain_at(value.line, fmt::format("unknown key '{}'{}", key, suggestion(key, asked_)));
  }
  if (failed()) return tl::unexpected<Error>(error_);
  return {};
}

}  // namespace nvab
