// SPDX-License-Identifier: Apache-2.0
// nvab-run --doctor: tries all that a run needs, and says what to do about each fault. Changes
// nothing.
#pragma once

#include <string>
#include <vector>

#include "epilog/probe.hh"
#include "epilog/run_options.hh"

namespace nvab {

// One thing that was tried, by whom it is needed: "log.loki.app", "queue", "plugin".
struct DoctorCheck {
  std::string part;
  ProbeFinding finding;
};

// Everything about the settings of one file (empty: none), in a fixed order. Without a word about
// jobs or evidence in them, what a runner of Slurm's queue needs.
std::vector<DoctorCheck> examine(const std::string& config, const RunOptions& options);

// As a table for people, and as one JSON object ("nvab.doctor/1").
std::string doctor_text(const std::vector<DoctorCheck>& checks);
std::string doctor_json(const std::string& config, const std::vector<DoctorCheck>& checks);

// kExitOk; kExitNoOutput: something is at fault; kExitIncomplete: with --strict, a warning.
int doctor_exit_code(const std::vector<DoctorCheck>& checks, bool strict);

}  // namespace nvab
