// SPDX-License-Identifier: Apache-2.0
// A bundle under other names.
#pragma once

#include <string>

#include "common/model/result.hh"
#include "epilog/host.hh"

namespace nvab {

// Writes the bundle `from` redacted to the empty folder `to`, then judges it and compares the
// verdict with `result` under the new names. Returns what differs as a sentence; empty: nothing.
Result<std::string> redact_bundle(const std::string& from, const std::string& to,
                                  const AttributionResult& result, Host& host);

}  // namespace nvab
