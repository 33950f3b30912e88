// SPDX-License-Identifier: Apache-2.0
// JSON documents by json-c, with every access type-checked (json-c aborts the process on a wrong
// type). For documents of moderate size; big request bodies are read with RapidJSON elsewhere.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.hh"
#include "common/base/time.hh"

struct json_object;

namespace nvab {

// Deeper nesting than any format of ours has.
inline constexpr int kMaxJsonDepth = 64;

// A counted reference to a JSON value; copying shares it, so change a value only while building it.
// A default one is JSON null. Not for use by two threads at once.
class Json {
 public:
  Json() = default;
  Json(const Json& other);
  Json(Json&& other) noexcept;
  Json& operator=(Json other) noexcept;
  ~Json();

  static Json object();
  static Json array();
  static Json of(std::string_view text);  // invalid UTF-8 is replaced
  static Json of(const char* text) { return of(std::string_view(text)); }
  static Json of(bool value);
  static Json of(long long value);
  static Json of(unsigned long long value);
  static Json of(int value) { return of(static_cast<long long>(value)); }
  static Json of(long value) { return of(static_cast<long long>(value)); }
  static Json of(unsigned value) { return of(static_cast<unsigned long long>(value)); }
  static Json of(unsigned long value) { return of(static_cast<unsigned long long>(value)); }
  static Json of(double value);  // shortest decimal that reads back the same; not finite: null
  static Json of(Time time);     // RFC 3339

  // The whole text must be one JSON value, nested at most kMaxJsonDepth deep; invalid UTF-8 is
  // replaced, of equal keys the last counts. Errors: malformed, with line and column (in bytes).
  static Result<Json> parse(std::string_view text);

  bool is_null() const;
  bool is_object() const;
  bool is_array() const;
  bool is_string() const;
  bool is_number() const;
  bool is_bool() const;

  // Nothing when the type differs.
  std::optional<std::string> as_string() const;
  std::optional<long long> as_int() const;  // also a whole double, also nothing out of range
  std::optional<double> as_double() const;
  std::optional<bool> as_bool() const;

  // Object: the member, or null. Array: the element, or null.
  Json get(std::string_view key) const;
  Json at(std::size_t index) const;
  std::size_t size() const;  // members or elements; 0 for scalars
  bool has(std::string_view key) const;
  void each(const std::function<void(std::string_view key, const Json& value)>& visit) const;
  std::vector<Json> elements() const;

  // Building. On a value of another type these do nothing.
  Json& set(std::string_view key, Json value);
  Json& push(Json value);

  std::string dump() const;         // one line, members in the order they were set
  std::string dump_pretty() const;  // two spaces, for people

 private:
  explicit Json(json_object* owned) : value_(owned) {}
  json_object* value_ = nullptr;
};

// An optional as the value or null.
template <typename T>
Json json_or_null(const std::optional<T>& value) {
  return value ? Json::of(*value) : Json();
}
Json json_strings(const std::vector<std::string>& values);
std::vector<std::string> strings_of(const Json& array);  // elements that are strings

}  // namespace nvab
