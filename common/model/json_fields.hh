// SPDX-License-Identifier: Apache-2.0
// The members of one JSON object, read one a line and checked. Keeps the first error with the path
// of the member, so that a reader of a format has no branches for it. And the few forms that its
// writers share. For the files of this folder.
#pragma once

#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/json.hh"
#include "common/base/result.hh"
#include "common/base/time.hh"

namespace nvab {

Json text_or_null(const std::string& text);  // null for an empty text
Json json_ints(const std::vector<int>& values);
template <typename T>
Json json_list(const std::vector<T>& values, Json (*write)(const T&)) {
  Json list = Json::array();
  for (const T& value : values) list.push(write(value));
  return list;
}

// Every reader returns nothing (or an empty value) for a member that is absent or null, and for one
// that is wrong after keeping the error. Missing is never zero.
class JsonFields {
 public:
  // `path` stands in front of each member's name in messages; empty for the top. `error` is shared
  // by all objects of one document, and its message is empty while all is well.
  JsonFields(Json object, std::string path, Error& error);

  std::string text(std::string_view key);
  std::string text_or_number(std::string_view key);  // 1234 as "1234"
  std::optional<long long> integer(std::string_view key,
                                   long long low = std::numeric_limits<long long>::min(),
                                   long long high = std::numeric_limits<long long>::max());
  // A number that counts or names something: not negative, fits an int.
  std::optional<int> small(std::string_view key);
  std::uint64_t count(std::string_view key);
  std::optional<double> number(std::string_view key);  // also "NaN", "+Inf" as Prometheus writes
  bool flag(std::string_view key);
  std::optional<Time> time(std::string_view key);
  std::vector<std::string> texts(std::string_view key);
  std::vector<int> ints(std::string_view key);
  std::vector<std::uint64_t> counts(std::string_view key);
  std::map<std::string, std::string> text_map(std::string_view key);
  // A word of a closed list by its `from` function.
  template <typename Enum>
  std::optional<Enum> word(std::string_view key, std::optional<Enum> (*from)(std::string_view)) {
    const std::string given = text(key);
    if (given.empty()) return std::nullopt;
    const std::optional<Enum> value = from(given);
    if (!value) complain_about_word(key, given);
    return value;
  }

  Json list(std::string_view key);       // null unless it is an array
  Json object(std::string_view key);     // null unless it is an object
  Json any(std::string_view key);        // as it is
  bool has(std::string_view key) const;  // there and not null
  bool is_object(std::string_view key) const;
  JsonFields member(std::string_view key);  // the object as fields; all absent when it is absent
  template <typename T>
  std::vector<T> items(std::string_view key, T (*read)(JsonFields)) {
    std::vector<T> all;
    const Json array = list(key);
    for (std::size_t i = 0; i < array.size() && !failed(); ++i) {
      const std::string place = path_of(key) + "[" + std::to_string(i) + "]";
      all.push_back(read(JsonFields(array.at(i), place, error_)));
    }
    return all;
  }

  void complain(std::string_view key, std::string_view problem);
  bool failed() const { return !error_.message.empty(); }
  // The members that nobody asked for, in their order; null when there are none.
  Json unknown() const;

 private:
  Json take(std::string_view key);
  std::string path_of(std::string_view key) const;
  void complain_about_word(std::string_view key, std::string_view given);

  Json object_;
  std::string path_;
  Error& error_;
  std::vector<std::string> asked_;
};

}  // namespace nvab
