// SPDX-License-Identifier: Apache-2.0
// The command line of nvab-run as a struct.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/base/log.hh"

namespace nvab {

// One --connector FRAMEWORK COMPONENT PARAM VALUE.
struct ConnectorSetting {
  std::string framework, component, param, value;
};

// What about the queue; none: an ordinary run.
enum class QueueMode { none, work, watch, sweep, status, requeue };

struct RunOptions {
  std::vector<std::string> configs;
  std::vector<ConnectorSetting> connectors;
  std::string replay;  // folder of a bundle; empty: none
  // Settings of eca.slurm that have options of their own (-j, --since, ...), with what was typed.
  struct SlurmSetting {
    std::string param, value, option;
  };
  std::vector<SlurmSetting> slurm;
  QueueMode queue = QueueMode::none;
  bool node = false;    // --watch --node
  std::string requeue;  // what to put back
  std::string format;   // "", "auto", "text", "json"
  int jobs = 0;         // --jobs; 0: as the settings say
  bool explain = false;
  bool strict = false;
  bool join = false;
  std::string save_bundle;  // folder; empty: none
  bool redact = false;
  bool all_lines = false;  // --lines all
  std::string summary_json;
  bool exit_code_by_action = false;
  bool list_connectors = false, check_config = false, show_config = false, doctor = false;
  bool quiet = false;
  LogLevel log_level = LogLevel::warning;
  LogFormat log_format = LogFormat::text;
};

// The options, or the exit code of a command line that was answered at once: --help and --version
// (0, on stdout) or a usage error (kExitUsage, a sentence on stderr).
struct ParsedOptions {
  std::optional<RunOptions> options;
  int exit_code = 0;
};
ParsedOptions parse_run_options(int argc, const char* const* argv);

}  // namespace nvab
