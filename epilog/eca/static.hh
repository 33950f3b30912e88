// SPDX-License-Identifier: Apache-2.0
// One workload described by hand: a job.json, single fields, or both (fields win).
#pragma once

#include <memory>
#include <string>

#include "epilog/collector.hh"

namespace nvab {

// The context in a job.json. Errors: as for reading files, and malformed with the member's name.
Result<ExecutionContext> read_job_file(const std::string& path);

}  // namespace nvab
