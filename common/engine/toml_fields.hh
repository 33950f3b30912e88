// SPDX-License-Identifier: Apache-2.0
// The members of one TOML table, read one a line and checked: types, words of closed lists, and
// nothing left over. Keeps the first error, so that a reader of a format has no branches for it.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.hh"
#include "common/base/time.hh"
#include "common/base/toml.hh"

namespace nvab {

class TomlFields {
 public:
  // `what` names the table in messages ("rule gpu.xid.79"). All three must outlive this.
  TomlFields(std::string_view file, const Toml& table, std::string what);

  // Each reads one member when it is there and leaves `out` alone when it is not; true when it was
  // read.
  bool text(std::string_view key, std::string* out);
  bool flag(std::string_view key, bool* out);
  bool integer(std::string_view key, int low, int high, int* out);
  bool number(std::string_view key, double* out);
  bool duration(std::string_view key, Duration* out);
  bool texts(std::string_view key, std::vector<std::string>* out);
  bool numbers(std::string_view key, std::vector<double>* out);
  // The member as it is, for tables and arrays of tables; null when it is absent.
  const Toml* any(std::string_view key);
  const Toml* any(std::string_view key, Toml::Kind kind);

  // A word of a closed list, given as to_string() of each value from `first` to `last`.
  template <typename Enum>
  bool word(std::string_view key, Enum first, Enum last, Enum* out) {
    std::vector<std::string_view> words;
    for (int i = static_cast<int>(first); i <= static_cast<int>(last); ++i) {
      words.push_back(to_string(static_cast<Enum>(i)));
    }
    const int index = index_of(key, words);
    if (index >= 0) *out = static_cast<Enum>(static_cast<int>(first) + index);
    return index >= 0;
  }
  // Position of the member's text in `words`; -1 when it is absent or wrong (an error is kept).
  int index_of(std::string_view key, std::span<const std::string_view> words);
  int index_of(const Toml& value, std::string_view key, std::span<const std::string_view> words);

  // Keeps an error about the member `key` (or the table itself when it has no such member).
  void complain(std::string_view key, std::string_view problem);
  bool failed() const { return !error_.message.empty(); }
  // Also complains about members that nobody asked for. The first error, if there was any.
  Result<void> finish();

 private:
  const Toml* take(std::string_view key, Toml::Kind kind);
  void complain_at(int line, std::string_view problem);

  std::string_view file_;
  const Toml& table_;
  std::string what_;
  std::vector<std::string_view> asked_;
  Error error_;
};

// "; did you mean 'x'?" when a candidate is near, else a list of what there is (if it is short).
std::string suggestion(std::string_view wanted, std::span<const std::string_view> candidates);

}  // namespace nvab
