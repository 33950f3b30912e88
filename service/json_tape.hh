// SPDX-License-Identifier: Apache-2.0
// JSON of requests, parsed in place by RapidJSON into a flat list of tokens: no allocation a value,
// bounded depth and number, every string a view into the body. TapeFields reads objects of it with
// the calls of JsonFields, so that a format is written once for both.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.hh"
#include "common/base/time.hh"

namespace nvab {

struct JsonToken {
  enum class Kind : std::uint8_t { null, boolean, integer, real, text, object, array };
  const char* key = nullptr;  // of an object's member
  union {
    const char* text;
    std::int64_t integer;
    double real;
    bool boolean;
  } value = {};
  std::uint32_t key_size = 0;
  std::uint32_t size = 0;  // of a text; of an object or array: the index behind its last token
  Kind kind = Kind::null;

  std::string_view name() const { return {key, key_size}; }
  std::string_view as_text() const { return {value.text, size}; }
};

class JsonTape {
 public:
  // Values that one document may have on the tape at a time: 64 MiB of short lines have fewer.
  static constexpr std::size_t kMaxTokens = 4 * 1024 * 1024;

  // Parses the whole of `body`, which is changed and must stay as it is while the tape is read.
  // Invalid UTF-8 is replaced first and counted. Errors: malformed (no JSON, a member twice in an
  // object, nested deeper than kMaxJsonDepth, a number that is too large, a NUL), unavailable (too
  // many values).
  Result<void> parse(std::string* body);

  // The same, but elements of the top object's array member `name` are handed to `take` as soon as
  // they are complete (tape so far, index of the element's token) and then forgotten; where `take`
  // says no, they stay on the tape. The array's own token stays.
  using Take = std::function<bool(std::uint32_t element)>;
  Result<void> parse(std::string* body, std::string_view name, const Take& take);

  const JsonToken& at(std::uint32_t index) const { return tokens_[index]; }
  // The index behind the value at `index`, and all that is in it.
  std::uint32_t skip(std::uint32_t index) const {
    const JsonToken& token = tokens_[index];
    return token.kind >= JsonToken::Kind::object ? token.size : index + 1;
  }
  // The first token inside the object or array at `index`; its end is skip(index).
  static std::uint32_t first_in(std::uint32_t index) { return index + 1; }
  // The end of the value at `index`, also while it is being parsed.
  std::uint32_t end_of(std::uint32_t index) const {
    return tokens_[index].size != kOpen ? skip(index) : static_cast<std::uint32_t>(tokens_.size());
  }
  // The member of the object at `index`, or nothing.
  std::optional<std::uint32_t> member(std::uint32_t index, std::string_view name) const;
  std::uint64_t bytes_replaced() const { return bytes_replaced_; }

  static constexpr std::uint32_t kOpen = std::numeric_limits<std::uint32_t>::max();

 private:
  friend class TapeWriter;
  std::vector<JsonToken> tokens_;
  std::uint64_t bytes_replaced_ = 0;
};

// The members of one object on a tape; see JsonFields for what each reader does. A copy refers to
// its parent, which must outlive it.
class TapeFields {
 public:
  static constexpr std::uint32_t kAbsent = std::numeric_limits<std::uint32_t>::max();
  // The object at `index`; `path` stands in front of names in messages.
  TapeFields(const JsonTape& tape, std::uint32_t index, std::string_view path, Error& error)
      : TapeFields(tape, index, error, nullptr, path, -1) {}

  std::string text(std::string_view key);
  std::string text_or_number(std::string_view key);
  std::optional<long long> integer(std::string_view key,
                                   long long low = std::numeric_limits<long long>::min(),
                                   long long high = std::numeric_limits<long long>::max());
  std::optional<int> small(std::string_view key);
  std::uint64_t count(std::string_view key);
  std::optional<double> number(std::string_view key);
  bool flag(std::string_view key);
  std::optional<Time> time(std::string_view key);
  std::vector<std::string> texts(std::string_view key);
  std::vector<int> ints(std::string_view key);
  std::vector<std::uint64_t> counts(std::string_view key);
  std::map<std::string, std::string> text_map(std::string_view key);
  template <typename Enum>
  std::optional<Enum> word(std::string_view key, std::optional<Enum> (*from)(std::string_view)) {
    const std::string_view given = view(key);
    if (given.empty()) return std::nullopt;
    const std::optional<Enum> value = from(given);
    if (!value) complain_about_word(key, given);
    return value;
  }

  bool has(std::string_view key);
  bool is_object(std::string_view key);
  TapeFields member(std::string_view key);
  template <typename T>
  std::vector<T> items(std::string_view key, T (*read)(TapeFields)) {
    std::vector<T> all;
    const std::uint32_t list = list_of(key);
    if (list == kAbsent) return all;
    const std::uint32_t end = tape_.skip(list);
    long index = 0;
    for (std::uint32_t i = JsonTape::first_in(list); i < end && !failed(); i = tape_.skip(i)) {
      all.push_back(read(TapeFields(tape_, i, error_, this, key, index++)));
    }
    return all;
  }

  void complain(std::string_view key, std::string_view problem);
  bool failed() const { return !error_.message.empty(); }
  // A text without a copy; empty when it is absent or none.
  std::string_view view(std::string_view key);

 private:
  TapeFields(const JsonTape& tape, std::uint32_t index, Error& error, const TapeFields* parent,
             std::string_view name, long element);
  std::uint32_t find(std::string_view key);
  const JsonToken* take(std::string_view key);  // null when absent or null
  std::uint32_t list_of(std::string_view key);
  std::uint32_t object_of(std::string_view key);
  std::string path() const;
  void complain_about_word(std::string_view key, std::string_view given);

  const JsonTape& tape_;
  Error& error_;
  const TapeFields* parent_;
  std::string_view name_;  // of this object in its parent, or the path
  long element_;           // its index, in a list
  std::uint32_t begin_, end_;
  std::uint32_t hint_;  // senders keep the order of members: look behind the last one found first
};

}  // namespace nvab
