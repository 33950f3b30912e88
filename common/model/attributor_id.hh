// SPDX-License-Identifier: Apache-2.0
// The name of a session, which runner and service derive alike.
#pragma once

#include <string>
#include <string_view>

#include "common/model/context.hh"

namespace nvab {

// From the context's key and the ruleset's name: whoever asks about the same context by the same
// rules arrives at the same session. 32 hexadecimal digits.
std::string attributor_id(const ExecutionContext& context, std::string_view ruleset);

}  // namespace nvab
