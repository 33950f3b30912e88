// SPDX-License-Identifier: Apache-2.0
// The second half of a card, for --explain: the chain, what was set aside and why, alternatives.
#pragma once

#include "common/model/result.hh"

namespace nvab {

class CardWriter;

void explain(const AttributionResult& result, CardWriter* out);

}  // namespace nvab
