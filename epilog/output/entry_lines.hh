// SPDX-License-Identifier: Apache-2.0
// A log entry of a saved bundle: plain lines for people and for other readers, and beside them, in
// an index, what plain lines cannot hold. Both together are the entry again, byte for byte. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "common/base/json.hh"
#include "common/base/result.hh"
#include "common/model/observation.hh"

namespace nvab {

// The entry as log lines, each with its '\n': what is known of time, rank, node and program stands
// in front of each line of the message.
std::string plain_lines(const LogEntry& entry, Source source);

// The entry's line of the index, without '\n'.
std::string index_line(const LogEntry& entry);

// How many plain lines belong to an index line; at least 1.
std::size_t lines_of(const Json& index);

// Puts an entry together again. `lines` are without '\n'. A line that was changed since (its front
// is not what the index says) is taken as it stands, and counted in `changed`.
Result<LogEntry> entry_of(const Json& index, std::span<const std::string> lines, Source source,
                          std::size_t* changed);

// Where a stream lies in a bundle: "applog/slurm-7.out" and "index/applog/slurm-7.out.ndjson".
std::string plain_path(Source source, std::string_view name);
std::string index_path(Source source, std::string_view name);

}  // namespace nvab
