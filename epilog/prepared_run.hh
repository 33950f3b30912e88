// SPDX-License-Identifier: Apache-2.0
// A run with all its parts opened: what run.hh runs once, and run_queue.hh for one job after the
// other.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "common/base/settings.hh"
#include "common/engine/ruleset.hh"
#include "epilog/pipeline.hh"
#include "epilog/progress.hh"
#include "epilog/run_options.hh"

namespace nvab {

// Stays where it is: the parts refer to each other.
struct PreparedRun {
  explicit PreparedRun(Settings all) : settings(std::move(all)) {}
  Settings settings;
  std::unique_ptr<Ruleset> rules;
  std::unique_ptr<ProgressMeter> progress;
  Host host;
  Pipeline pipeline;
};

// Those of one file (empty: none), the environment and the options.
Result<Settings> load_run_settings(const std::string& config, const RunOptions& options);

// Those that `[run]` names, with the site's own packs.
Result<std::unique_ptr<Ruleset>> load_run_rules(const ComponentSettings& run);

// `exit_code` is set where it fails: kExitUsage or kExitConfiguration.
Result<std::unique_ptr<PreparedRun>> prepare_run(const std::string& config,
                                                 const RunOptions& options, int* exit_code);

}  // namespace nvab
