// SPDX-License-Identifier: Apache-2.0
// Lines with one and the same time, more than a page may hold, cannot be paged by time: they are
// asked for by their text, in two halves, and each half in two again.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace nvab {

// A regular expression (RE2) that about half of the lines match, judged by those that came; with
// its negation it takes in every line there is. Nothing where they all begin alike.
std::optional<std::string> split_lines(const std::vector<std::string>& lines);

}  // namespace nvab
