// SPDX-License-Identifier: Apache-2.0
// Bodies that create or change a session, of v2 and v1, as contexts. Pure.
#pragma once

#include <string>
#include <string_view>

#include "service/observation_body.hh"
#include "service/session_store.hh"

namespace nvab {

// {"workload": {…}, "metadata": {"agent", "tenant", "ruleset"}}
BodyResult<NewSession> parse_session_v2(std::string_view body);
// The older workload: "id" is "JOB:cycleN:NANOSECONDS", made unique by the client; it is the
// session's identity as a whole, while the job's own number is what logs speak of.
BodyResult<NewSession> parse_session_v1(std::string_view body);

// {"workload": {…}}: members replace those of `workload` (JSON), null removes them.
BodyResult<ExecutionContext> apply_patch(std::string_view workload, std::string_view body);

}  // namespace nvab
