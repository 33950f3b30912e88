// SPDX-License-Identifier: Apache-2.0
// See json_sax.hh.
#include "common/base/json_sax.hh"

#include <rapidjson/error/en.h>
#include <rapidjson/reader.h>

#include <string>

#include "common/base/json.hh"
#include "common/base/text.hh"

namespace nvab {
namespace {

// RapidJSON's input, over pieces. The end of the text is a NUL for it.
class PieceStream {
 public:
  using Ch = char;
  explicit PieceStream(const std::function<std::string_view()>& next) : next_(next) { fill(); }

  char Peek() const { return at_ < piece_.size() ? piece_[at_] : '\0'; }
  char Take() {
    const char c = Peek();
    ++at_;
    if (at_ >= piece_.size()) fill();
    return c;
  }
  std::size_t Tell() const { return before_ + at_; }
  // Only for writing into the text, which does not happen.
  char* PutBegin() { return nullptr; }
  void Put(char /*c*/) {}
  void Flush() {}
  std::size_t PutEnd(char* /*begin*/) { return 0; }

 private:
  void fill() {
    before_ += at_;
    at_ = 0;
    piece_ = is_at_end_ ? std::string_view() : next_();
    is_at_end_ = piece_.empty();
  }

  const std::function<std::string_view()>& next_;
  std::string_view piece_;
  std::size_t at_ = 0, before_ = 0;
  bool is_at_end_ = false;
};

class Handler {
 public:
  explicit Handler(JsonEvents& events) : events_(events) {}
  bool is_too_deep() const { return is_too_deep_; }

  bool Null() { return events_.other(); }
  bool Bool(bool /*value*/) { return events_.other(); }
  bool Int(int value) { return events_.number(value); }
  bool Uint(unsigned value) { return events_.number(value); }
  bool Int64(std::int64_t value) { return events_.number(static_cast<double>(value)); }
  bool Uint64(std::uint64_t value) { return events_.number(static_cast<double>(value)); }
  bool Double(double value) { return events_.number(value); }
  bool RawNumber(const char* /*text*/, rapidjson::SizeType /*size*/, bool /*copy*/) {
    return false;
  }
  bool String(const char* text, rapidjson::SizeType size, bool /*copy*/) {
    const std::string_view value(text, size);
    return is_utf8(value) ? events_.text(value) : events_.text(replace_invalid_utf8(value));
  }
  bool Key(const char* text, rapidjson::SizeType size, bool /*copy*/) {
    return events_.key({text, size});
  }
  bool StartObject() { return open(true); }
  bool StartArray() { return open(false); }
  bool EndObject(rapidjson::SizeType /*members*/) { return close(true); }
  bool EndArray(rapidjson::SizeType /*elements*/) { return close(false); }

 private:
  bool open(bool is_object) {
    is_too_deep_ = ++depth_ > kMaxJsonDepth;
    return !is_too_deep_ && events_.begin(is_object);
  }
  bool close(bool is_object) {
    --depth_;
    return events_.end(is_object);
  }

  JsonEvents& events_;
  int depth_ = 0;
  bool is_too_deep_ = false;
};

}  // namespace

Result<bool> read_json(const std::function<std::string_view()>& next, JsonEvents& events) {
  PieceStream stream(next);
  Handler handler(events);
  rapidjson::Reader reader;
  // Iterative: a document that is nested deeply must not use the stack.
  const rapidjson::ParseResult parsed =
      reader.Parse<rapidjson::kParseIterativeFlag>(stream, handler);
  if (!parsed.IsError()) return true;
  const std::string where = "reading JSON: offset " + std::to_string(parsed.Offset()) + ": ";
  if (handler.is_too_deep()) return fail(Error::Code::malformed, where + "it is nested too deep");
  if (parsed.Code() == rapidjson::kParseErrorTermination) return false;
  return fail(Error::Code::malformed, where + rapidjson::GetParseError_En(parsed.Code()));
}

}  // namespace nvab
