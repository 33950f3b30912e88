// SPDX-License-Identifier: Apache-2.0
// Sums by day over the latest verdict of each context: what pages about a month of jobs are made
// of.
#pragma once

#include <optional>

#include "common/base/sqlite.hh"

namespace nvab {

// Adds (sign 1) or takes back (sign -1) what a context counts for in run_day and node_day, as its
// rows say now; of all contexts where none is given. Provisional verdicts count for nothing. To be
// called in the transaction that changes the context: before the change with -1, after it with 1.
Result<void> roll_up(Db& database, std::optional<long long> context_id, int sign);

}  // namespace nvab
