// SPDX-License-Identifier: Apache-2.0
// See array_splitter.hh.
#include "epilog/metric/array_splitter.hh"

namespace nvab {
namespace {

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

}  // namespace

void ArraySplitter::follow(char c) {
  if (in_string_) {
    if (is_escaped_) {
      is_escaped_ = false;
    } else if (c == '\\') {
      is_escaped_ = true;
    } else if (c == '"') {
      in_string_ = false;
    }
    return;
  }
  if (c == '"') in_string_ = true;
  if (c == '{' || c == '[') ++depth_;
  if (c == '}' || c == ']') --depth_;
}

bool ArraySplitter::end_element() {
  state_ = State::between;
  is_stopped_ = !element_(text_);
  text_.clear();
  return !is_stopped_;
}

bool ArraySplitter::take(char c) {
  switch (state_) {
    case State::before:
      if (c == '[') {
        state_ = State::between;
        return true;
      }
      return is_space(c) || refuse("it does not begin with '['");
    case State::between:
      if (c == ']') {
        state_ = State::after;
        return false;
      }
      if (is_space(c) || c == ',') return true;
      state_ = State::element;
      [[fallthrough]];
    case State::element:
      // At depth 0 and outside a string, ',' or ']' ends a scalar.
      if (depth_ == 0 && !in_string_ && (c == ',' || c == ']')) {
        if (!end_element()) return false;
        return take(c);
      }
      if (text_.size() >= max_element_) return refuse("an element is larger than any series is");
      text_.push_back(c);
      follow(c);
      if (depth_ == 0 && !in_string_ && (c == '}' || c == ']')) return end_element();
      return true;
    case State::after:
    case State::broken:
      return false;
  }
  return false;
}

bool ArraySplitter::feed(std::string_view block) {
  for (const char c : block) {
    if (!take(c)) return false;
  }
  return true;
}

Result<void> ArraySplitter::finish() const {
  if (state_ == State::after || is_stopped_) return {};
  if (state_ == State::broken) return fail(Error::Code::malformed, why_);
  if (state_ == State::before) return fail(Error::Code::malformed, "it holds no array");
  return fail(Error::Code::malformed, "the array is cut short");
}

}  // namespace nvab
