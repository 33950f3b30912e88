// SPDX-License-Identifier: Apache-2.0
// JSON of what an observation's entry_timeseries holds, a kind for each source. Members that are
// not known are left out, not null: bodies are large.
#pragma once

#include "common/base/json.hh"
#include "common/model/json_fields.hh"
#include "common/model/observation.hh"
#include "common/model/observation_read.hh"

namespace nvab {

Json to_json(const Origin& origin);  // null for an origin without a stream
Json to_json(const LogEntry& entry);
Json to_json(const MetricSample& sample);
Json to_json(const TaskExit& exit);
Json to_json(const FlightDump& dump);

}  // namespace nvab
