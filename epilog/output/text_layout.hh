// SPDX-License-Identifier: Apache-2.0
// Text in columns of a terminal: how wide it is, where to cut and where to break it. Pure; takes
// UTF-8.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace nvab {

// Columns that a terminal gives to the text: wide characters take two, combining ones none.
std::size_t columns_of(std::string_view text);

// At most `columns` of the text, with "…" in place of what was cut. Line ends become spaces.
std::string cut_to(std::string_view text, std::size_t columns);

// The text in lines of at most `columns`, broken at spaces; a longer word is broken where it must.
std::vector<std::string> wrap(std::string_view text, std::size_t columns);

// The text and spaces up to `columns`.
std::string pad_to(std::string_view text, std::size_t columns);

}  // namespace nvab
