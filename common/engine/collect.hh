// SPDX-License-Identifier: Apache-2.0
// Collection: from hypotheses to the verdict that people and programs read.
#pragma once

#include "common/engine/analysis.hh"

namespace nvab {

// Bounds that keep a verdict readable and small whatever the job's size.
inline constexpr std::size_t kMaxTimeline = 40;        // events that count
inline constexpr std::size_t kMaxTimelineMarked = 20;  // events that do not, for --explain
inline constexpr std::size_t kMaxAlternatives = 5;
inline constexpr std::size_t kMaxAttributions = 1000;
inline constexpr std::size_t kMaxShadow = 50;  // rules in shadow mode that matched

// Last pass: fills Analysis::verdict.
void collect_verdict(Analysis& analysis);

// "{node}", "{rank}", "{gpu}", "{nic}" and capture names in a rule's template, filled in from an
// event; a placeholder that is not known becomes "(unknown)".
std::string fill_template(std::string_view text, const Event& event);

}  // namespace nvab
