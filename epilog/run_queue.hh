// SPDX-License-Identifier: Apache-2.0
// The modes of nvab-run that are about the queue: --work, --watch, --sweep, --queue-status,
// --requeue.
#pragma once

#include <string>

#include "epilog/run_options.hh"
#include "epilog/summary.hh"

namespace nvab {

// --work, --watch and --sweep with the settings of one file (empty: none).
RunSummary run_queue(const std::string& config, const RunOptions& options);

// --queue-status and --requeue: the answer on stdout, trouble on stderr; the exit code.
int answer_about_queue(const std::string& config, const RunOptions& options);

}  // namespace nvab
