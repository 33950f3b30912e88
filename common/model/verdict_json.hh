// SPDX-License-Identifier: Apache-2.0
// The parts of a verdict's JSON, for the result that embeds them.
#pragma once

#include "common/model/json_fields.hh"
#include "common/model/verdict.hh"

namespace nvab {

// What was found: outcome, root cause, culprits, advice, progress, timeline, victims, alternatives,
// attributions.
void write_finding(Json& out, const Verdict& verdict);
// What was missing, and by which rules.
void write_limits(Json& out, const Verdict& verdict);
Verdict read_verdict(JsonFields& in);

}  // namespace nvab
