// SPDX-License-Identifier: Apache-2.0
// Checked access to JSON members.
#include "common/model/json_fields.hh"

#include <algorithm>

#include "common/base/text.hh"

namespace nvab {

Json text_or_null(const std::string& text) { return text.empty() ? Json() : Json::of(text); }

Json json_ints(const std::vector<int>& values) {
  Json list = Json::array();
  for (const int value : values) list.push(Json::of(value));
  return list;
}

JsonFields::JsonFields(Json object, std::string path, Error& error)
    : object_(std::move(object)), path_(std::move(path)), error_(error) {
  if (!object_.is_null() && !object_.is_object()) complain("", "wants an object");
}

std::string JsonFields::path_of(std::string_view key) const {
  if (key.empty()) return path_.empty() ? "the document" : path_;
  return path_.empty() ? std::string(key) : path_ + "." + std::string(key);
}

void JsonFields::complain(std::string_view key, std::string_view problem) {
  if (failed()) return;
  error_.code = Error::Code::malformed;
  error_.message = "'" + path_of(key) + "' " + std::string(problem);
}

void JsonFields::complain_about_word(std::string_view key, std::string_view given) {
  complain(key, "has the value '" + excerpt(sanitize(given), 40) + "', which is none of its words");
}

Json JsonFields::take(std::string_view key) {
  asked_.emplace_back(key);
  return object_.get(key);
}

bool JsonFields::has(std::string_view key) const { return !object_.get(key).is_null(); }

bool JsonFields::is_object(std::string_view key) const { return object_.get(key).is_object(); }

std::string JsonFields::text(std::string_view key) {
  const Json value = take(key);
  if (!value.is_null() && !value.is_string()) complain(key, "wants a text");
  return value.as_string().value_or("");
}

std::string JsonFields::text_or_number(std::string_view key) {
  const Json value = take(key);
  if (const auto number = value.as_int()) return std::to_string(*number);
  if (!value.is_null() && !value.is_string()) complain(key, "wants a text or a whole number");
  return value.as_string().value_or("");
}

std::optional<long long> JsonFields::integer(std::string_view key, long long low, long long high) {
  const Json value = take(key);
  if (value.is_null()) return std::nullopt;
  const auto number = value.as_int();
  if (!number) {
    complain(key, "wants a whole number");
    return std::nullopt;
  }
  if (*number < low || *number > high) {
    complain(key, "is out of range");
    return std::nullopt;
  }
  return number;
}

std::optional<int> JsonFields::small(std::string_view key) {
  const auto number = integer(key, 0, std::numeric_limits<int>::max());
  if (!number) return std::nullopt;
  return static_cast<int>(*number);
}

std::uint64_t JsonFields::count(std::string_view key) {
  return static_cast<std::uint64_t>(
      integer(key, 0, std::numeric_limits<long long>::max()).value_or(0));
}

std::optional<double> JsonFields::number(std::string_view key) {
  const Json value = take(key);
  if (value.is_null()) return std::nullopt;
  if (const auto number = value.as_double()) return number;
  if (const auto text = value.as_string()) {
    if (const auto number = parse_double(*text)) return number;
  }
  complain(key, "wants a number");
  return std::nullopt;
}

bool JsonFields::flag(std::string_view key) {
  const Json value = take(key);
  if (!value.is_null() && !value.is_bool()) complain(key, "wants true or false");
  return value.as_bool().value_or(false);
}

std::optional<Time> JsonFields::time(std::string_view key) {
  const std::string given = text(key);
  if (given.empty()) return std::nullopt;
  const auto time = parse_rfc3339(given);
  if (!time) {
    complain(key, "has the value '" + excerpt(sanitize(given), 40) +
                      "', which is no time such as 2026-03-01T10:59:58Z");
  }
  return time;
}

std::vector<std::string> JsonFields::texts(std::string_view key) {
  const Json array = list(key);
  std::vector<std::string> values = strings_of(array);
  if (values.size() != array.size()) complain(key, "wants a list of texts");
  return values;
}

std::vector<int> JsonFields::ints(std::string_view key) {
  std::vector<int> values;
  for (const Json& element : list(key).elements()) {
    const auto number = element.as_int();
    if (!number || *number < 0 || *number > std::numeric_limits<int>::max()) {
      complain(key, "wants a list of whole numbers that are not negative");
      return {};
    }
    values.push_back(static_cast<int>(*number));
  }
  return values;
}

std::vector<std::uint64_t> JsonFields::counts(std::string_view key) {
  std::vector<std::uint64_t> values;
  for (const Json& element : list(key).elements()) {
    const auto number = element.as_int();
    if (!number || *number < 0) {
      complain(key, "wants a list of counts");
      return {};
    }
    values.push_back(static_cast<std::uint64_t>(*number));
  }
  return values;
}

std::map<std::string, std::string> JsonFields::text_map(std::string_view key) {
  std::map<std::string, std::string> values;
  object(key).each([&](std::string_view name, const Json& value) {
    if (!value.is_string()) complain(key, "wants texts as its members");
    values[std::string(name)] = value.as_string().value_or("");
  });
  return values;
}

Json JsonFields::list(std::string_view key) {
  Json value = take(key);
  if (value.is_null() || value.is_array()) return value;
  complain(key, "wants a list");
  return {};
}

Json JsonFields::object(std::string_view key) {
  Json value = take(key);
  if (value.is_null() || value.is_object()) return value;
  complain(key, "wants an object");
  return {};
}

Json JsonFields::any(std::string_view key) { return take(key); }

JsonFields JsonFields::member(std::string_view key) {
  return JsonFields(object(key), path_of(key), error_);
}

Json JsonFields::unknown() const {
  Json rest;
  object_.each([&](std::string_view key, const Json& value) {
    if (std::find(asked_.begin(), asked_.end(), key) != asked_.end()) return;
    if (rest.is_null()) rest = Json::object();
    rest.set(key, value);
  });
  return rest;
}

}  // namespace nvab
