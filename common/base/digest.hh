// SPDX-License-Identifier: Apache-2.0
// SHA-256 by libmd: ids of sessions, observations and rulesets.
#pragma once

#include <string>
#include <string_view>

namespace nvab {

std::string sha256_hex(std::string_view bytes);

}  // namespace nvab
