// SPDX-License-Identifier: Apache-2.0
// The shapes that a card is made of, in the given width and with or without colour. Makes every
// text safe for a terminal.
#pragma once

#include <string>
#include <string_view>

#include "common/model/verdict.hh"
#include "epilog/output/text_card.hh"

namespace nvab {

enum class Tint { none, red, yellow, green, dim, bold };

// "13:41:07.250": the time of day in UTC.
std::string clock_text(Time time);

class CardWriter {
 public:
  explicit CardWriter(const CardStyle& style);

  void gap() { out_ += '\n'; }
  // A line across the card with a text at either end.
  void rule(std::string_view left, std::string_view right);
  void heading(std::string_view text);
  void title(std::string_view text, Tint tint, std::string_view right);
  void paragraph(std::string_view text);
  void note(std::string_view text);
  // A label in the margin (empty: none) and wrapped text beside it.
  void field(std::string_view label, std::string_view text) { labelled(label, text, Tint::none); }
  void strong_field(std::string_view label, std::string_view text) {
    labelled(label, text, Tint::bold);
  }
  // Never broken: for pasting.
  void command(std::string_view text);
  // Time, place and text on one line; where it was read on the next.
  void evidence(std::string_view label, const TimelineItem& item, bool is_root);
  std::string take() { return std::move(out_); }

 private:
  void labelled(std::string_view label, std::string_view text, Tint tint);
  void put(std::string_view text, Tint tint);
  void margin(std::string_view label);

  CardStyle style_;
  std::size_t width_;
  std::string out_;
};

}  // namespace nvab
