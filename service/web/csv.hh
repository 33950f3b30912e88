// SPDX-License-Identifier: Apache-2.0
// A table of the API as CSV (RFC 4180).
#pragma once

#include <string>

#include "common/base/json.hh"

namespace nvab {

// A row an object of the list; columns are the members of the first that are no lists or objects. A
// text that a spreadsheet would take for a formula gets a quote in front.
std::string csv_of(const Json& list);

}  // namespace nvab
