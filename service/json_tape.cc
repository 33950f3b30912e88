// SPDX-License-Identifier: Apache-2.0
// See json_tape.hh. The only user of RapidJSON in the request path.
#include "service/json_tape.hh"

// Reading blanks and strings by vectors; both are part of their processor's base line.
#if defined(__SSE2__)
#define RAPIDJSON_SSE2
#elif defined(__aarch64__)
#define RAPIDJSON_NEON
#endif
#include <rapidjson/error/en.h>
#include <rapidjson/reader.h>

#include <algorithm>
#include <cmath>

#include "common/base/json.hh"
#include "common/base/text.hh"

namespace nvab {
namespace {

using Kind = JsonToken::Kind;

// Vector loads end at a multiple of 16 behind the text.
constexpr std::size_t kSlack = 64;
// Objects up to this size are searched for equal names pair by pair; larger ones are sorted.
constexpr std::size_t kMaxPairwise = 24;

// The double is a whole number that a long long holds.
std::optional<long long> whole(double value) {
  constexpr double kLimit = 9223372036854775808.0;  // 2^63
  if (std::floor(value) != value || value < -kLimit || value >= kLimit) return std::nullopt;
  return static_cast<long long>(value);
}

std::optional<long long> integer_of(const JsonToken& token) {
  if (token.kind == Kind::integer) return token.value.integer;
  if (token.kind == Kind::real) return whole(token.value.real);
  return std::nullopt;
}

}  // namespace

// RapidJSON's handler: appends tokens, and remembers what is open.
class TapeWriter {
 public:
  TapeWriter(JsonTape& tape, std::string_view streamed, const JsonTape::Take* take)
      : tokens_(tape.tokens_), streamed_(streamed), take_(take) {}

  bool Null() { return add({}); }
  bool Bool(bool value) {
    JsonToken token;
    token.kind = Kind::boolean;
    token.value.boolean = value;
    return add(token);
  }
  bool Int(int value) { return Int64(value); }
  bool Uint(unsigned value) { return Int64(value); }
  bool Int64(std::int64_t value) {
    JsonToken token;
    token.kind = Kind::integer;
    token.value.integer = value;
    return add(token);
  }
  bool Uint64(std::uint64_t value) {
    constexpr auto kMax = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    if (value <= kMax) return Int64(static_cast<std::int64_t>(value));
    return Double(static_cast<double>(value));
  }
  bool Double(double value) {
    JsonToken token;
    token.kind = Kind::real;
    token.value.real = value;
    return add(token);
  }
  bool RawNumber(const char* /*text*/, rapidjson::SizeType /*size*/, bool /*copy*/) {
    return false;
  }
  bool String(const char* text, rapidjson::SizeType size, bool /*copy*/) {
    JsonToken token;
    token.kind = Kind::text;
    token.value.text = text;
    token.size = size;
    return add(token);
  }
  bool Key(const char* text, rapidjson::SizeType size, bool /*copy*/) {
    key_ = text;
    key_size_ = size;
    return true;
  }
  bool StartObject() { return open(Kind::object); }
  bool StartArray() { return open(Kind::array); }
  bool EndObject(rapidjson::SizeType members) {
    const std::uint32_t object = close();
    if (has_twins(object, members)) return stop(Error::Code::malformed, "a member stands twice");
    return complete(object);
  }
  bool EndArray(rapidjson::SizeType /*elements*/) { return complete(close()); }

  const Error& error() const { return error_; }

 private:
  bool stop(Error::Code code, const char* why) {
    error_ = {code, why};
    return false;
  }
  bool append(JsonToken token) {
    if (tokens_.size() >= JsonTape::kMaxTokens) {
      return stop(Error::Code::unavailable, "it holds more values than the service takes at once");
    }
    token.key = key_;
    token.key_size = key_size_;
    key_ = nullptr;
    key_size_ = 0;
    tokens_.push_back(token);
    return true;
  }
  bool add(JsonToken token) {
    return append(token) && complete(static_cast<std::uint32_t>(tokens_.size() - 1));
  }
  bool open(Kind kind) {
    if (open_.size() >= static_cast<std::size_t>(kMaxJsonDepth)) {
      return stop(Error::Code::malformed, "it is nested too deeply");
    }
    JsonToken token;
    token.kind = kind;
    token.size = JsonTape::kOpen;
    open_.push_back(static_cast<std::uint32_t>(tokens_.size()));
    return append(token);
  }
  std::uint32_t close() {
    const std::uint32_t index = open_.back();
    open_.pop_back();
    tokens_[index].size = static_cast<std::uint32_t>(tokens_.size());
    return index;
  }
  // A value is complete: if it is an element of the streamed list, it may go.
  bool complete(std::uint32_t index) {
    if (take_ == nullptr || open_.size() != 2) return true;
    const JsonToken& list = tokens_[open_.back()];
    if (list.kind != Kind::array || list.name() != streamed_) return true;
    if (tokens_[open_.front()].kind == Kind::object && (*take_)(index)) tokens_.resize(index);
    return true;
  }
  bool has_twins(std::uint32_t object, std::size_t members);

  std::vector<JsonToken>& tokens_;
  std::string_view streamed_;
  const JsonTape::Take* take_;
  std::vector<std::uint32_t> open_;
  const char* key_ = nullptr;
  std::uint32_t key_size_ = 0;
  Error error_;
  std::vector<std::string_view> names_;
};

bool TapeWriter::has_twins(std::uint32_t object, std::size_t members) {
  if (members < 2) return false;
  names_.clear();
  const std::uint32_t end = tokens_[object].size;
  for (std::uint32_t i = object + 1; i < end;) {
    const JsonToken& token = tokens_[i];
    if (members <= kMaxPairwise) {
      for (const std::string_view name : names_) {
        if (name == token.name()) return true;
      }
    }
    names_.push_back(token.name());
    i = token.kind >= Kind::object ? token.size : i + 1;
  }
  if (members <= kMaxPairwise) return false;
  std::sort(names_.begin(), names_.end());
  return std::adjacent_find(names_.begin(), names_.end()) != names_.end();
}

Result<void> JsonTape::parse(std::string* body) { return parse(body, {}, Take()); }

Result<void> JsonTape::parse(std::string* body, std::string_view name, const Take& take) {
  tokens_.clear();
  bytes_replaced_ = 0;
  if (!is_utf8(*body)) {
    std::size_t replaced = 0;
    *body = replace_invalid_utf8(*body, &replaced);
    bytes_replaced_ = replaced;
  }
  // The parser takes a NUL for the end, and would not see what follows.
  if (body->find('\0') != std::string::npos) {
    return fail(Error::Code::malformed, "it holds a NUL byte");
  }
  body->reserve(body->size() + kSlack);
  TapeWriter writer(*this, name, take ? &take : nullptr);
  rapidjson::Reader reader;
  rapidjson::InsituStringStream stream(body->data());
  constexpr unsigned kFlags = rapidjson::kParseInsituFlag | rapidjson::kParseFullPrecisionFlag;
  const rapidjson::ParseResult result = reader.Parse<kFlags>(stream, writer);
  if (!result.IsError()) return {};
  if (result.Code() == rapidjson::kParseErrorTermination && !writer.error().message.empty()) {
    return fail(writer.error().code,
                writer.error().message + " (at byte " + std::to_string(result.Offset()) + ")");
  }
  return fail(Error::Code::malformed, std::string(rapidjson::GetParseError_En(result.Code())) +
                                          " (at byte " + std::to_string(result.Offset()) + ")");
}

std::optional<std::uint32_t> JsonTape::member(std::uint32_t index, std::string_view name) const {
  if (tokens_[index].kind != Kind::object) return std::nullopt;
  const std::uint32_t end = end_of(index);
  for (std::uint32_t i = first_in(index); i < end; i = end_of(i)) {
    if (tokens_[i].name() == name) return i;
  }
  return std::nullopt;
}

TapeFields::TapeFields(const JsonTape& tape, std::uint32_t index, Error& error,
                       const TapeFields* parent, std::string_view name, long element)
    : tape_(tape),
      error_(error),
      parent_(parent),
      name_(name),
      element_(element),
      begin_(0),
      end_(0),
      hint_(0) {
  if (index == kAbsent) return;
  const Kind kind = tape.at(index).kind;
  if (kind == Kind::object) {
    begin_ = hint_ = JsonTape::first_in(index);
    end_ = tape.end_of(index);
  } else if (kind != Kind::null) {
    complain("", "wants an object");
  }
}

std::uint32_t TapeFields::find(std::string_view key) {
  for (std::uint32_t i = hint_; i < end_; i = tape_.end_of(i)) {
    if (tape_.at(i).name() != key) continue;
    hint_ = tape_.end_of(i);
    return i;
  }
  for (std::uint32_t i = begin_; i < hint_; i = tape_.end_of(i)) {
    if (tape_.at(i).name() != key) continue;
    hint_ = tape_.end_of(i);
    return i;
  }
  return kAbsent;
}

const JsonToken* TapeFields::take(std::string_view key) {
  const std::uint32_t index = find(key);
  if (index == kAbsent || tape_.at(index).kind == Kind::null) return nullptr;
  return &tape_.at(index);
}

std::string TapeFields::path() const {
  std::string out = parent_ != nullptr ? parent_->path() : std::string();
  if (!out.empty() && !name_.empty()) out += '.';
  out += name_;
  if (element_ >= 0) out += "[" + std::to_string(element_) + "]";
  return out;
}

void TapeFields::complain(std::string_view key, std::string_view problem) {
  if (failed()) return;
  std::string place = path();
  if (!place.empty() && !key.empty()) place += '.';
  place += key;
  if (place.empty()) place = "the document";
  error_.code = Error::Code::malformed;
  error_.message = "'" + place + "' " + std::string(problem);
}

void TapeFields::complain_about_word(std::string_view key, std::string_view given) {
  complain(key, "has the value '" + excerpt(sanitize(given), 40) + "', which is none of its words");
}

std::string_view TapeFields::view(std::string_view key) {
  const JsonToken* token = take(key);
  if (token == nullptr) return {};
  if (token->kind == Kind::text) return token->as_text();
  complain(key, "wants a text");
  return {};
}

std::string TapeFields::text(std::string_view key) { return std::string(view(key)); }

std::string TapeFields::text_or_number(std::string_view key) {
  const JsonToken* token = take(key);
  if (token == nullptr) return {};
  if (token->kind == Kind::text) return std::string(token->as_text());
  if (const auto number = integer_of(*token)) return std::to_string(*number);
  complain(key, "wants a text or a whole number");
  return {};
}

std::optional<long long> TapeFields::integer(std::string_view key, long long low, long long high) {
  const JsonToken* token = take(key);
  if (token == nullptr) return std::nullopt;
  const auto number = integer_of(*token);
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

std::optional<int> TapeFields::small(std::string_view key) {
  const auto number = integer(key, 0, std::numeric_limits<int>::max());
  if (!number) return std::nullopt;
  return static_cast<int>(*number);
}

std::uint64_t TapeFields::count(std::string_view key) {
  return static_cast<std::uint64_t>(
      integer(key, 0, std::numeric_limits<long long>::max()).value_or(0));
}

std::optional<double> TapeFields::number(std::string_view key) {
  const JsonToken* token = take(key);
  if (token == nullptr) return std::nullopt;
  if (token->kind == Kind::integer) return static_cast<double>(token->value.integer);
  if (token->kind == Kind::real) return token->value.real;
  if (token->kind == Kind::text) {
    if (const auto number = parse_double(token->as_text())) return number;
  }
  complain(key, "wants a number");
  return std::nullopt;
}

bool TapeFields::flag(std::string_view key) {
  const JsonToken* token = take(key);
  if (token == nullptr) return false;
  if (token->kind == Kind::boolean) return token->value.boolean;
  complain(key, "wants true or false");
  return false;
}

std::optional<Time> TapeFields::time(std::string_view key) {
  const std::string_view given = view(key);
  if (given.empty()) return std::nullopt;
  const auto time = parse_rfc3339(given);
  if (!time) {
    complain(key, "has the value '" + excerpt(sanitize(given), 40) +
                      "', which is no time such as 2026-03-01T10:59:58Z");
  }
  return time;
}

std::uint32_t TapeFields::list_of(std::string_view key) {
  const std::uint32_t index = find(key);
  if (index == kAbsent || tape_.at(index).kind == Kind::null) return kAbsent;
  if (tape_.at(index).kind == Kind::array) return index;
  complain(key, "wants a list");
  return kAbsent;
}

std::uint32_t TapeFields::object_of(std::string_view key) {
  const std::uint32_t index = find(key);
  if (index == kAbsent || tape_.at(index).kind == Kind::null) return kAbsent;
  if (tape_.at(index).kind == Kind::object) return index;
  complain(key, "wants an object");
  return kAbsent;
}

std::vector<std::string> TapeFields::texts(std::string_view key) {
  std::vector<std::string> values;
  const std::uint32_t list = list_of(key);
  if (list == kAbsent) return values;
  for (std::uint32_t i = JsonTape::first_in(list); i < tape_.skip(list); i = tape_.skip(i)) {
    if (tape_.at(i).kind != Kind::text) {
      complain(key, "wants a list of texts");
      break;
    }
    values.emplace_back(tape_.at(i).as_text());
  }
  return values;
}

std::vector<int> TapeFields::ints(std::string_view key) {
  std::vector<int> values;
  const std::uint32_t list = list_of(key);
  if (list == kAbsent) return values;
  for (std::uint32_t i = JsonTape::first_in(list); i < tape_.skip(list); i = tape_.skip(i)) {
    const auto number = integer_of(tape_.at(i));
    if (!number || *number < 0 || *number > std::numeric_limits<int>::max()) {
      complain(key, "wants a list of whole numbers that are not negative");
      return {};
    }
    values.push_back(static_cast<int>(*number));
  }
  return values;
}

std::vector<std::uint64_t> TapeFields::counts(std::string_view key) {
  std::vector<std::uint64_t> values;
  const std::uint32_t list = list_of(key);
  if (list == kAbsent) return values;
  for (std::uint32_t i = JsonTape::first_in(list); i < tape_.skip(list); i = tape_.skip(i)) {
    const auto number = integer_of(tape_.at(i));
    if (!number || *number < 0) {
      complain(key, "wants a list of counts");
      return {};
    }
    values.push_back(static_cast<std::uint64_t>(*number));
  }
  return values;
}

std::map<std::string, std::string> TapeFields::text_map(std::string_view key) {
  std::map<std::string, std::string> values;
  const std::uint32_t object = object_of(key);
  if (object == kAbsent) return values;
  for (std::uint32_t i = JsonTape::first_in(object); i < tape_.skip(object); i = tape_.skip(i)) {
    const JsonToken& token = tape_.at(i);
    if (token.kind != Kind::text) {
      complain(key, "wants texts as its members");
      break;
    }
    values[std::string(token.name())] = token.as_text();
  }
  return values;
}

bool TapeFields::has(std::string_view key) { return take(key) != nullptr; }

bool TapeFields::is_object(std::string_view key) {
  const JsonToken* token = take(key);
  return token != nullptr && token->kind == Kind::object;
}

TapeFields TapeFields::member(std::string_view key) {
  return TapeFields(tape_, object_of(key), error_, this, key, -1);
}

}  // namespace nvab
