// SPDX-License-Identifier: Apache-2.0
// A result as a card that a person reads in ten seconds: what, who, how sure, the lines that prove
// it, what to do, what was missing. Pure.
#pragma once

#include <string>

#include "common/model/result.hh"

namespace nvab {

struct CardStyle {
  int width = 80;        // columns; narrower than kMinCardWidth is taken as that
  bool color = false;    // ANSI colours
  bool explain = false;  // also the whole chain, what was set aside and why, and alternatives
};
inline constexpr int kMinCardWidth = 60;

// Ends with a line end. Everything from outside is made safe for a terminal.
std::string text_card(const AttributionResult& result, const CardStyle& style);

}  // namespace nvab
