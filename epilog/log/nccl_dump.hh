// SPDX-License-Identifier: Apache-2.0
// One rank's dump of NCCL's flight recorder (PyTorch's TORCH_NCCL_TRACE_BUFFER), as pickle or JSON,
// read into the model. Pure.
#pragma once

#include <optional>
#include <string_view>

#include "common/base/result.hh"
#include "common/model/observation.hh"

namespace nvab {

// A dump of the default 2000 entries has 1 to 2 MB.
inline constexpr std::size_t kMaxDumpBytes = 32 * 1024 * 1024;
// The newest are kept: what a rank was in, not what it did an hour ago.
inline constexpr std::size_t kMaxDumpEntries = 20'000;

// The rank that a dump's file name ends in: "nccl_trace_rank_12" and "_dump_12.json" are 12.
std::optional<int> rank_of_dump(std::string_view file_name);

// Errors: malformed or unsupported. Members of other versions are skipped, missing ones left out.
Result<FlightDump> parse_nccl_dump(std::string_view file_name, std::string_view bytes);

// A dump as JSON in the same form, which parse_nccl_dump reads back equal.
Json dump_to_json(const FlightDump& dump);

}  // namespace nvab
