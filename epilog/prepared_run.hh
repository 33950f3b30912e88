// SPDX-License-Identifier: Apache-2.0
// A run with all its parts opened: what run.hh runs once, and run_queue.hh for one job after the
// other.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/settings.hh"
#include "common/engine/ruleset.hh"
#include "epilog/attributor_http.hh"
#include "epilog/pipeline.hh"
#include "epilog/progress.hh"
#include "epilog/run_options.hh"

namespace nvab {

// Both stay where they are: their parts refer to each other.
struct PreparedLane {
  std::unique_ptr<Ruleset> rules;
  Host host;
  Pipeline pipeline;
};

struct PreparedRun {
  explicit PreparedRun(Settings all) : settings(std::move(all)) {}
  Settings settings;
  std::unique_ptr<Ruleset> rules;
  std::unique_ptr<ProgressMeter> progress;
  Host host;
  Pipeline pipeline;
  // Beside the above, one for each further job that is worked on at the same time.
  std::vector<std::unique_ptr<PreparedLane>> more;

  std::vector<Lane> lanes();
};

// Those of one file (empty: none), the environment and the options.
Result<Settings> load_run_settings(const std::string& config, const RunOptions& options);

// Those that `[run]` names, with the site's own packs.
Result<std::unique_ptr<Ruleset>> load_run_rules(const ComponentSettings& run);

// How [run] says to talk to a service; its URL must be set. Errors: malformed, or those of files.
Result<ServiceOptions> service_options(const ComponentSettings& run);

// `exit_code` is set where it fails: kExitUsage or kExitConfiguration.
Result<std::unique_ptr<PreparedRun>> prepare_run(const std::string& config,
                                                 const RunOptions& options, int* exit_code);

}  // namespace nvab
