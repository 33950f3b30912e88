// SPDX-License-Identifier: Apache-2.0
// The elements of one big JSON array, one after the other, from blocks of any size: only one
// element is in memory at a time.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "common/base/result.hh"

namespace nvab {

class ArraySplitter {
 public:
  // `element` gets the text of each element; it need not be valid JSON, only its brackets and
  // strings were followed. False stops.
  using Element = std::function<bool(std::string_view text)>;
  ArraySplitter(std::size_t max_element, Element element)
      : max_element_(max_element), element_(std::move(element)) {}

  // False: no more is wanted (the array ended, the element callback said so, or an error).
  bool feed(std::string_view block);
  // Errors: malformed (not an array, cut short, an element over the limit).
  Result<void> finish() const;

 private:
  enum class State { before, between, element, after, broken };
  bool take(char c);
  void follow(char c);
  bool end_element();
  bool refuse(const char* why) {
    why_ = why;
    state_ = State::broken;
    return false;
  }

  std::size_t max_element_;
  Element element_;
  State state_ = State::before;
  std::string text_;
  int depth_ = 0;
  bool in_string_ = false, is_escaped_ = false, is_stopped_ = false;
  const char* why_ = "";
};

}  // namespace nvab
