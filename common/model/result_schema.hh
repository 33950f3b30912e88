// SPDX-License-Identifier: Apache-2.0
// The steps from an empty database to the current schema, in order. A step that was released never
// changes; a new version appends one.
#pragma once

#include <span>
#include <string_view>

namespace nvab {

// Step n brings version n to n + 1.
std::span<const std::string_view> result_migrations();

}  // namespace nvab
