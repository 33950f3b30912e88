// SPDX-License-Identifier: Apache-2.0
// The only user of json-c. It parses and holds the tree; writing is done here, because json-c
// repeats a parsed number's own digits and rounds others, and equal documents must have equal
// bytes.
#include "common/base/json.hh"

#include <json-c/json.h>

#include <charconv>
#include <climits>
#include <cmath>
#include <memory>
#include <utility>

#include "common/base/text.hh"

namespace nvab {
namespace {

// json-c counts in int; nothing of moderate size comes near.
constexpr std::size_t kMaxText = 1024UL * 1024 * 1024;

struct FreeTokener {
  void operator()(json_tokener* tokener) const { json_tokener_free(tokener); }
};

json_type type_of(const json_object* value) { return json_object_get_type(value); }

// json-c keeps what lies past int64 as uint64 and saturates when asked for int64.
bool is_past_int64(const json_object* value) {
  return json_object_get_int64(value) == LLONG_MAX &&
         json_object_get_uint64(value) > static_cast<std::uint64_t>(LLONG_MAX);
}

tl::unexpected<Error> parse_error(std::string_view text, std::size_t offset, const char* what) {
  const std::string_view before = text.substr(0, offset);
  std::size_t line = 1;
  for (const char c : before) line += c == '\n' ? 1 : 0;
  const std::size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0
  return fail(Error::Code::malformed, "reading JSON: line " + std::to_string(line) + ", column " +
                                          std::to_string(offset - line_start + 1) + ": " + what);
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::size_t count_digits(std::string_view text) {
  std::size_t count = 0;
  while (count < text.size() && is_digit(text[count])) ++count;
  return count;
}

// A number by JSON's grammar: no "01", "1.", ".5", "+1".
bool is_json_number(std::string_view token) {
  if (token.starts_with('-')) token.remove_prefix(1);
  const std::size_t whole = count_digits(token);
  if (whole == 0 || (whole > 1 && token.front() == '0')) return false;
  token.remove_prefix(whole);
  if (token.starts_with('.')) {
    const std::size_t fraction = count_digits(token.substr(1));
    if (fraction == 0) return false;
    token.remove_prefix(fraction + 1);
  }
  if (token.starts_with('e') || token.starts_with('E')) {
    token.remove_prefix(1);
    if (token.starts_with('-') || token.starts_with('+')) token.remove_prefix(1);
    const std::size_t digits = count_digits(token);
    if (digits == 0) return false;
    token.remove_prefix(digits);
  }
  return token.empty();
}

// json-c in its strict mode still takes 'quotes', TRUE, NaN and 01 (seen with 0.16). This looks at
// the words alone and leaves the structure to json-c: where the first wrong one is, or npos.
std::size_t find_wrong_token(std::string_view text) {
  constexpr std::string_view kBetween = " \t\r\n{}[]:,";
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t start = i;
    if (kBetween.find(text[i]) != std::string_view::npos) {
      ++i;
    } else if (text[i] == '"') {
      for (++i; i < text.size() && text[i] != '"'; ++i) {
        if (static_cast<unsigned char>(text[i]) < 0x20) return i;
        if (text[i] == '\\') ++i;
      }
      ++i;
    } else {
      while (i < text.size() && text[i] != '"' && kBetween.find(text[i]) == std::string_view::npos)
        ++i;
      const std::string_view token = text.substr(start, i - start);
      const bool is_word = token == "true" || token == "false" || token == "null";
      if (!is_word && !is_json_number(token)) return start;
    }
  }
  return std::string_view::npos;
}

void write_string(std::string& out, std::string_view text) {
  constexpr char kHex[] = "0123456789abcdef";
  out += '"';
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c == '\r') {
      out += "\\r";
    } else if (byte < 0x20 || byte == 0x7F) {
      out += "\\u00";
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    } else {
      out += c;
    }
  }
  out += '"';
}

template <typename Number>
void write_number(std::string& out, Number value) {
  char buffer[32];  // the longest double has 24 characters
  const auto written = std::to_chars(buffer, buffer + sizeof buffer, value);
  out.append(buffer, written.ptr);
}

// One document as text, on one line or indented.
class Writer {
 public:
  explicit Writer(bool pretty) : pretty_(pretty) {}
  std::string take() { return std::move(out_); }

  void value(json_object* value) {
    switch (type_of(value)) {
      case json_type_null:
        out_ += "null";
        break;
      case json_type_boolean:
        out_ += json_object_get_boolean(value) ? "true" : "false";
        break;
      case json_type_double:
        write_double(json_object_get_double(value));
        break;
      case json_type_int:
        if (is_past_int64(value)) {
          write_number(out_, json_object_get_uint64(value));
        } else {
          write_number(out_, json_object_get_int64(value));
        }
        break;
      case json_type_string:
        write_string(out_, {json_object_get_string(value),
                            static_cast<std::size_t>(json_object_get_string_len(value))});
        break;
      case json_type_object:
        object(value);
        break;
      case json_type_array:
        array(value);
        break;
    }
  }

 private:
  // A parsed document may say 1e999, which JSON cannot hold as a number.
  void write_double(double number) {
    if (std::isfinite(number)) {
      write_number(out_, number);
    } else {
      out_ += "null";
    }
  }
  void object(json_object* value) {
    out_ += '{';
    bool first = true;
    json_object_object_foreach(value, key, member) {
      separate(first);
      write_string(out_, key);
      out_ += pretty_ ? ": " : ":";
      this->value(member);
    }
    close(first, '}');
  }
  void array(json_object* value) {
    out_ += '[';
    bool first = true;
    for (std::size_t i = 0; i < json_object_array_length(value); ++i) {
      separate(first);
      this->value(json_object_array_get_idx(value, i));
    }
    close(first, ']');
  }
  void separate(bool& first) {
    if (!first) out_ += ',';
    if (first) ++depth_;
    first = false;
    new_line();
  }
  void close(bool empty, char bracket) {
    if (!empty) {
      --depth_;
      new_line();
    }
    out_ += bracket;
  }
  void new_line() {
    if (pretty_) out_.append(1, '\n').append(depth_ * 2, ' ');
  }

  std::string out_;
  bool pretty_;
  std::size_t depth_ = 0;
};

}  // namespace

Json::Json(const Json& other) : value_(json_object_get(other.value_)) {}
Json::Json(Json&& other) noexcept : value_(std::exchange(other.value_, nullptr)) {}
Json& Json::operator=(Json other) noexcept {
  std::swap(value_, other.value_);
  return *this;
}
Json::~Json() { json_object_put(value_); }

Json Json::object() { return Json(json_object_new_object()); }
Json Json::array() { return Json(json_object_new_array()); }
Json Json::of(std::string_view text) {
  const std::string valid = replace_invalid_utf8(text.substr(0, kMaxText));
  return Json(json_object_new_string_len(valid.data(), static_cast<int>(valid.size())));
}
Json Json::of(bool value) { return Json(json_object_new_boolean(value ? 1 : 0)); }
Json Json::of(long long value) { return Json(json_object_new_int64(value)); }
Json Json::of(unsigned long long value) { return Json(json_object_new_uint64(value)); }
Json Json::of(double value) {
  return std::isfinite(value) ? Json(json_object_new_double(value)) : Json();
}
Json Json::of(Time time) { return of(format_rfc3339(time)); }

Result<Json> Json::parse(std::string_view text) {
  if (text.size() > kMaxText) {
    return fail(Error::Code::malformed, "reading JSON: the text is larger than 1 GiB");
  }
  const std::string valid = replace_invalid_utf8(text);
  if (const std::size_t wrong = find_wrong_token(valid); wrong != std::string::npos) {
    return parse_error(valid, wrong, "this is neither a string, a number, true, false nor null");
  }
  std::unique_ptr<json_tokener, FreeTokener> tokener(json_tokener_new_ex(kMaxJsonDepth));
  if (!tokener) return fail(Error::Code::unavailable, "reading JSON: out of memory");
  json_tokener_set_flags(tokener.get(), JSON_TOKENER_STRICT);
  // With the terminating NUL, so that a number at the very end is known to be complete.
  json_object* root =
      json_tokener_parse_ex(tokener.get(), valid.c_str(), static_cast<int>(valid.size() + 1));
  Json owned(root);
  const json_tokener_error error = json_tokener_get_error(tokener.get());
  const std::size_t end = json_tokener_get_parse_end(tokener.get());
  if (error == json_tokener_continue) return parse_error(valid, valid.size(), "it ends too early");
  if (error != json_tokener_success) {
    return parse_error(valid, std::min(end, valid.size()), json_tokener_error_desc(error));
  }
  if (end < valid.size()) return parse_error(valid, end, "something follows the value");
  return owned;
}

bool Json::is_null() const { return value_ == nullptr; }
bool Json::is_object() const { return type_of(value_) == json_type_object; }
bool Json::is_array() const { return type_of(value_) == json_type_array; }
bool Json::is_string() const { return type_of(value_) == json_type_string; }
bool Json::is_number() const {
  return type_of(value_) == json_type_int || type_of(value_) == json_type_double;
}
bool Json::is_bool() const { return type_of(value_) == json_type_boolean; }

std::optional<std::string> Json::as_string() const {
  if (!is_string()) return std::nullopt;
  return std::string(json_object_get_string(value_),
                     static_cast<std::size_t>(json_object_get_string_len(value_)));
}

std::optional<long long> Json::as_int() const {
  if (type_of(value_) == json_type_int) {
    if (is_past_int64(value_)) return std::nullopt;
    return json_object_get_int64(value_);
  }
  if (type_of(value_) != json_type_double) return std::nullopt;
  const double number = json_object_get_double(value_);
  // 2^63 is exact as a double, and the first that does not fit.
  constexpr double kLimit = 9223372036854775808.0;
  if (!(number >= -kLimit && number < kLimit) || number != std::trunc(number)) return std::nullopt;
  return static_cast<long long>(number);
}

std::optional<double> Json::as_double() const {
  if (!is_number()) return std::nullopt;
  if (type_of(value_) == json_type_int && is_past_int64(value_)) {
    return static_cast<double>(json_object_get_uint64(value_));
  }
  return json_object_get_double(value_);
}

std::optional<bool> Json::as_bool() const {
  if (!is_bool()) return std::nullopt;
  return json_object_get_boolean(value_) != 0;
}

Json Json::get(std::string_view key) const {
  json_object* member = nullptr;
  if (!is_object()) return {};
  json_object_object_get_ex(value_, std::string(key).c_str(), &member);
  return Json(json_object_get(member));
}

Json Json::at(std::size_t index) const {
  if (!is_array() || index >= size()) return {};
  return Json(json_object_get(json_object_array_get_idx(value_, index)));
}

std::size_t Json::size() const {
  if (is_array()) return json_object_array_length(value_);
  return is_object() ? static_cast<std::size_t>(json_object_object_length(value_)) : 0;
}

bool Json::has(std::string_view key) const {
  return is_object() && json_object_object_get_ex(value_, std::string(key).c_str(), nullptr);
}

void Json::each(const std::function<void(std::string_view, const Json&)>& visit) const {
  if (!is_object()) return;
  json_object_object_foreach(value_, key, member) { visit(key, Json(json_object_get(member))); }
}

std::vector<Json> Json::elements() const {
  std::vector<Json> all;
  if (!is_array()) return all;
  all.reserve(size());
  for (std::size_t i = 0; i < size(); ++i) all.push_back(at(i));
  return all;
}

Json& Json::set(std::string_view key, Json value) {
  if (!is_object()) return *this;
  const std::string name = replace_invalid_utf8(key);
  if (json_object_object_add(value_, name.c_str(), value.value_) == 0) value.value_ = nullptr;
  return *this;
}

Json& Json::push(Json value) {
  if (!is_array()) return *this;
  if (json_object_array_add(value_, value.value_) == 0) value.value_ = nullptr;
  return *this;
}

std::string Json::dump() const {
  Writer writer(false);
  writer.value(value_);
  return writer.take();
}

std::string Json::dump_pretty() const {
  Writer writer(true);
  writer.value(value_);
  return writer.take();
}

Json json_strings(const std::vector<std::string>& values) {
  Json array = Json::array();
  for (const std::string& value : values) array.push(Json::of(value));
  return array;
}

std::vector<std::string> strings_of(const Json& array) {
  std::vector<std::string> values;
  for (const Json& element : array.elements()) {
    if (auto text = element.as_string()) values.push_back(std::move(*text));
  }
  return values;
}

}  // namespace nvab
