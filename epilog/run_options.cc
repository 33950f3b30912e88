// SPDX-License-Identifier: Apache-2.0
// See run_options.hh; nvab-run(1) has the same options, which a test compares.
#include "epilog/run_options.hh"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <map>
#include <tuple>
#include <utility>

#include "common/base/build_info.hh"
#include "common/base/text.hh"
#include "epilog/summary.hh"

namespace nvab {
namespace {

using ConnectorTuple = std::tuple<std::string, std::string, std::string, std::string>;

struct Raw {
  RunOptions options;
  std::vector<ConnectorTuple> connectors;
  std::map<std::string, std::vector<std::string>> slurm;  // by parameter
  bool failed = false;
  bool work = false, watch = false, sweep = false, status = false;
  std::string lines = "selected";
  std::string log_level = "warning", log_format = "text";
};

// -j 1234 and the like are short for --connector eca slurm ids 1234.
struct SlurmOption {
  const char *flags, *param, *type, *help;
};
constexpr SlurmOption kSlurmOptions[] = {
    {"-j,--job", "ids", "ID,...", "Slurm jobs: 1234 1234_7 1234_[1-9] 1234+1 1234.0; may repeat"},
    {"--since", "since", "TIME", "Slurm jobs that ended after this: 2026-03-01T10:00:00Z, or 2h"},
    {"--until", "until", "TIME", "And before this"},
    {"--user", "user", "NAME,...", "And of these users"},
    {"--account", "account", "NAME,...", "And of these accounts"},
    {"--partition", "partition", "NAME,...", "And in these partitions"},
    {"--state", "state", "STATE,...", "And with these states"},
};

void add_slurm(CLI::App& app, Raw& raw) {
  const char* const group = "Which jobs";
  for (const SlurmOption& option : kSlurmOptions) {
    app.add_option(option.flags, raw.slurm[option.param], option.help)
        ->type_name(option.type)
        ->allow_extra_args(false)
        ->group(group);
  }
  app.add_flag("--failed", raw.failed, "And that neither completed nor were cancelled")
      ->group(group);
}

void take_slurm(Raw& raw) {
  for (const SlurmOption& option : kSlurmOptions) {
    const std::vector<std::string>& values = raw.slurm[option.param];
    if (values.empty()) continue;
    const std::string flags = option.flags;
    raw.options.slurm.push_back(
        {option.param, join(values, ","), flags.substr(0, flags.find(','))});
  }
  if (raw.failed) raw.options.slurm.push_back({"failed", "true", "--failed"});
}

void add_what(CLI::App& app, Raw& raw) {
  app.add_option("--replay", raw.options.replay, "Judge the evidence bundle in this folder")
      ->type_name("DIR")
      ->group("What to judge");
  app.add_option("--config", raw.options.configs,
                 "Settings, TOML or INI (.conf, .ini); several files are several runs")
      ->type_name("FILE")
      ->group("What to judge");
  app.add_option("--connector", raw.connectors,
                 "One setting of one component, e.g. eca static job_id 1234; may repeat")
      ->type_name("FRAMEWORK COMPONENT PARAM VALUE")
      ->group("What to judge");
}

void add_queue(CLI::App& app, Raw& raw) {
  const char* const group = "The queue";
  app.add_flag("--work", raw.work, "Attribute the jobs that Slurm's hooks handed over, then end")
      ->group(group);
  app.add_flag("--watch", raw.watch, "The same, and go on with what comes")->group(group);
  app.add_flag("--sweep", raw.sweep,
               "Look in accounting for jobs that no hook handed over, then as --work")
      ->group(group);
  app.add_flag("--node", raw.options.node,
               "With --work or --watch: only hand on what this node knows of the jobs")
      ->group(group);
  app.add_flag("--queue-status", raw.status, "Show what is in the queue")->group(group);
  app.add_option("--requeue", raw.options.requeue,
                 "Put back what is dead or done: a job, the id of an entry, or all that is dead")
      ->type_name("ID|all")
      ->group(group);
}

// The one mode; an error where there are several.
std::string take_queue(Raw& raw) {
  const std::pair<bool, QueueMode> modes[] = {{raw.work, QueueMode::work},
                                              {raw.watch, QueueMode::watch},
                                              {raw.sweep, QueueMode::sweep},
                                              {raw.status, QueueMode::status},
                                              {!raw.options.requeue.empty(), QueueMode::requeue}};
  int count = 0;
  for (const auto& [is_on, mode] : modes) {
    if (!is_on) continue;
    raw.options.queue = mode;
    ++count;
  }
  if (count > 1) return "--work, --watch, --sweep, --queue-status and --requeue exclude each other";
  const QueueMode mode = raw.options.queue;
  if (raw.options.node && mode != QueueMode::work && mode != QueueMode::watch) {
    return "--node goes with --work or --watch";
  }
  if (count > 0 && (!raw.options.replay.empty() || !raw.options.save_bundle.empty())) {
    return "--replay and --save-bundle do not go with the queue";
  }
  return {};
}

void add_how(CLI::App& app, Raw& raw) {
  RunOptions& options = raw.options;
  const char* const group = "What to write";
  app.add_option("--format", options.format,
                 "auto (text on a terminal, else JSON), text, or json: one object a line")
      ->check(CLI::IsMember({"auto", "text", "json"}))
      ->type_name("FORMAT")
      ->group(group);
  app.add_flag("--explain", options.explain,
               "Text also shows what explains what, what was dropped and why, and alternatives")
      ->group(group);
  app.add_option("--save-bundle", options.save_bundle,
                 "Write the evidence to this new folder, for --replay")
      ->type_name("DIR")
      ->group(group);
  app.add_option("--lines", raw.lines, "Of logs, save the lines that rules select, or all")
      ->check(CLI::IsMember({"selected", "all"}))
      ->type_name("WHICH")
      ->group(group);
  app.add_flag("--redact", options.redact,
               "In the saved bundle, replace users, hosts and paths by others, consistently")
      ->group(group);
  app.add_option("--summary-json", options.summary_json,
                 "Write what the runs did to this file, as JSON")
      ->type_name("FILE")
      ->group(group);
  app.add_option("--jobs", options.jobs, "Work on so many jobs at the same time")
      ->check(CLI::Range(1, 256))
      ->type_name("N")
      ->group(group);
  app.add_flag("--join", options.join,
               "With a service: post into the session that another client has opened")
      ->group(group);
  app.add_flag("--strict", options.strict, "Exit 4 when the evidence about a job was not complete")
      ->group(group);
  app.add_flag("--exit-code-by-action", options.exit_code_by_action,
               "Exit 10 to 16 by what the advice is")
      ->group(group);
}

void add_about(CLI::App& app, Raw& raw) {
  RunOptions& options = raw.options;
  const char* const group = "About settings";
  app.add_flag("--list-connectors", options.list_connectors,
               "Show all components and their parameters")
      ->group(group);
  app.add_flag("--check-config", options.check_config, "Check settings and open every component")
      ->group(group);
  app.add_flag("--doctor", options.doctor,
               "Try all that a run needs, and say what to do about each fault")
      ->group(group);
  app.add_flag("--show-config", options.show_config,
               "Show the settings in effect and where each comes from")
      ->group(group);
  const char* const logging = "Messages";
  app.add_option("--log-level", raw.log_level, "debug, info, warning, error or off")
      ->check(CLI::IsMember({"debug", "info", "warning", "error", "off"}))
      ->type_name("LEVEL")
      ->group(logging);
  app.add_option("--log-format", raw.log_format, "Of messages on stderr: text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->type_name("FORMAT")
      ->group(logging);
  app.add_flag("--quiet", options.quiet, "No summary of the run on stderr")->group(logging);
}

// What one option's check cannot see.
std::string check_together(const Raw& raw) {
  const RunOptions& options = raw.options;
  const bool asks_slurm =
      raw.failed || std::any_of(raw.slurm.begin(), raw.slurm.end(),
                                [](const auto& values) { return !values.second.empty(); });
  if (asks_slurm && options.queue != QueueMode::none) {
    return "the queue says which jobs: options that choose jobs do not go with it";
  }
  if (asks_slurm && !options.replay.empty()) {
    return "--replay judges a bundle as it was: options that choose jobs do not go with it";
  }
  if (options.save_bundle.empty() && options.redact) {
    return "--redact is about a bundle that is saved: give --save-bundle DIR too";
  }
  if (options.save_bundle.empty() && raw.lines == "all") {
    return "--lines is about a bundle that is saved: give --save-bundle DIR too";
  }
  return {};
}

int usage_error(const std::string& sentence) {
  std::fprintf(stderr, "nvab-run: %s\nTry 'nvab-run --help', or see nvab-run(1).\n",
               sentence.c_str());
  return kExitUsage;
}

}  // namespace

ParsedOptions parse_run_options(int argc, const char* const* argv) {
  CLI::App app("Says why a job ended, who or what is to blame, on what evidence, and what to do.",
               "nvab-run");
  Raw raw;
  app.set_help_flag();  // added last: groups are shown in the order of their options
  add_slurm(app, raw);
  add_what(app, raw);
  add_queue(app, raw);
  add_how(app, raw);
  add_about(app, raw);
  app.set_help_flag("-h,--help", "Show this help")->group("Messages");
  app.set_version_flag("--version", "nvab-run " + std::string(build_info().version),
                       "Show the version")
      ->group("Messages");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return {std::nullopt, app.exit(error)};
    return {std::nullopt, usage_error(error.what())};
  }
  if (const std::string trouble = take_queue(raw); !trouble.empty()) {
    return {std::nullopt, usage_error(trouble)};
  }
  if (const std::string trouble = check_together(raw); !trouble.empty()) {
    return {std::nullopt, usage_error(trouble)};
  }
  for (auto& [framework, component, param, value] : raw.connectors) {
    raw.options.connectors.push_back(
        {std::move(framework), std::move(component), std::move(param), std::move(value)});
  }
  take_slurm(raw);
  raw.options.all_lines = raw.lines == "all";
  raw.options.log_level = *log_level_from(raw.log_level);
  raw.options.log_format = *log_format_from(raw.log_format);
  return {std::move(raw.options), 0};
}

}  // namespace nvab
