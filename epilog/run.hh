// SPDX-License-Identifier: Apache-2.0
// nvab-run from options to summaries: settings, components, pipeline; one run a settings file.
#pragma once

#include <string>
#include <vector>

#include "epilog/run_options.hh"
#include "epilog/summary.hh"

namespace nvab {

// The settings files of the call: those given, else the site's own where it exists, else "" (no
// file): one run each. A replay does not read the site's file: its outputs are not for replays.
std::vector<std::string> config_files(const RunOptions& options);

// Runs with the settings of one file (empty: none). Results go to stdout, trouble into the summary.
RunSummary run_with(const std::string& config, const RunOptions& options);

// --check-config and --show-config for one file: a report on stdout, problems on stderr; the exit
// code.
int check_config(const std::string& config, const RunOptions& options);
int show_config(const std::string& config, const RunOptions& options);

// --list-connectors, as text.
std::string list_connectors();

}  // namespace nvab
