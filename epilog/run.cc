// SPDX-License-Identifier: Apache-2.0
// See run.hh. Problems of settings end a run before it begins, with kExitConfiguration.
#include "epilog/run.hh"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <utility>

#include "common/base/build_info.hh"
#include "common/base/file.hh"
#include "common/base/text.hh"
#include "common/engine/ruleset.hh"
#include "epilog/attributor_http.hh"
#include "epilog/connector.hh"
#include "epilog/interrupt.hh"
#include "epilog/output/bundle.hh"
#include "epilog/parallel.hh"
#include "epilog/pipeline.hh"
#include "epilog/prepared_run.hh"
#include "epilog/replay.hh"

extern char** environ;

namespace nvab {
namespace {

std::string site_config() { return std::string(build_info().sysconf_dir) + "/nvab-run.toml"; }

// Slurm jobs without a word about where evidence is: what any host has is taken.
bool wants_plain_host(const Settings& settings, const RunOptions& options) {
  const auto sources = settings.active("eca");
  const bool is_slurm = options.queue != QueueMode::none ||
                        std::any_of(sources.begin(), sources.end(), [](const auto* source) {
                          return source->spec().name == "slurm";
                        });
  return is_slurm && settings.active("log").empty() && settings.active("metric").empty();
}

// What takes part although nobody configured it.
struct Implied {
  std::span<const char* const> logs;  // components of the framework log, unless they are disabled
  bool database = false;  // results of the queue that nothing takes go into the usual database
};

Result<Settings> read_settings(const std::string& config, const RunOptions& options,
                               const Implied& implied) {
  SettingsLoader loader(all_specs());
  if (!config.empty()) loader.read_file(config);
  loader.read_environment(environ);
  for (const ConnectorSetting& c : options.connectors) {
    loader.set(c.framework, c.component, c.param, c.value, "--connector");
  }
  for (const RunOptions::SlurmSetting& setting : options.slurm) {
    loader.set("eca", "slurm", setting.param, setting.value, setting.option);
  }
  // Whoever asked for a verdict at submission gets it, whatever else takes results.
  loader.imply("output", options.queue == QueueMode::none ? "stdout" : "card");
  for (const char* component : implied.logs) loader.imply("log", component);
  if (implied.database) {
    loader.imply("output", "sqlite", "path", std::string(build_info().state_dir) + "/results.db");
  }
  if (!options.format.empty()) loader.set("output", "stdout", "format", options.format, "--format");
  if (options.explain) loader.set("output", "stdout", "explain", "true", "--explain");
  if (options.strict) loader.set("run", "", "strict", "true", "--strict");
  if (options.jobs > 0) {
    loader.set("run", "", "jobs", std::to_string(options.jobs), "--jobs");
  }
  if (options.join) loader.set("run", "", "join", "true", "--join");
  return loader.finish();
}

// The card goes to the job's owner: results have to be kept somewhere, too.
bool keeps_results(const Settings& settings) {
  const auto outputs = settings.active("output");
  return std::any_of(outputs.begin(), outputs.end(),
                     [](const ComponentSettings* output) { return output->spec().name != "card"; });
}

Result<Settings> load_settings(const std::string& config, const RunOptions& options) {
  constexpr const char* kPlainHost[] = {"job", "task_exits", "kernel"};
  // The job's own files are for the runner: each node would read the same ones.
  constexpr const char* kPlainNode[] = {"task_exits", "kernel"};
  auto settings = read_settings(config, options, {});
  if (!settings) return settings;
  Implied implied;
  if (options.replay.empty() && wants_plain_host(*settings, options)) {
    implied.logs = kPlainHost;
    if (options.node) implied.logs = kPlainNode;
  }
  implied.database = options.queue != QueueMode::none && !keeps_results(*settings);
  if (!implied.logs.empty() || implied.database) {
    settings = read_settings(config, options, implied);
    if (!settings) return settings;
  }
  for (const std::string& warning : settings->warnings()) log_warning(warning);
  return settings;
}

Result<std::unique_ptr<Ruleset>> load_rules(const ComponentSettings& run) {
  const std::string site = run.is_set("rules_dir")
                               ? run.text("rules_dir")
                               : std::string(build_info().sysconf_dir) + "/rules.d";
  return Ruleset::load(run.text("ruleset"), site);
}

// Several context sources as one.
class AllContexts final : public ContextSource {
 public:
  void add(std::unique_ptr<ContextSource> source) { sources_.push_back(std::move(source)); }
  bool empty() const { return sources_.empty(); }
  Result<std::vector<ExecutionContext>> discover() override {
    std::vector<ExecutionContext> all;
    for (const auto& source : sources_) {
      auto found = source->discover();
      if (!found) return found;
      all.insert(all.end(), std::make_move_iterator(found->begin()),
                 std::make_move_iterator(found->end()));
    }
    return all;
  }

 private:
  std::vector<std::unique_ptr<ContextSource>> sources_;
};

// Opens what settings and options ask for.
class Assembly {
 public:
  // `needs_contexts`: without any source of them there is nothing to run.
  Assembly(const Settings& settings, const RunOptions& options, Host& host, bool needs_contexts)
      : settings_(settings), options_(options), host_(host), needs_contexts_(needs_contexts) {}
  Result<void> fill(Pipeline* pipeline);
  // The parts that each lane has of its own: all but contexts and outputs.
  Result<void> fill_lane(Pipeline* pipeline);

 private:
  Result<void> open_replayed(Pipeline* pipeline);
  Result<void> open_contexts(Pipeline* pipeline);
  Result<void> open_collectors(std::string_view framework, Pipeline* pipeline);
  Result<void> open_outputs(Pipeline* pipeline);

  const Settings& settings_;
  const RunOptions& options_;
  Host& host_;
  bool needs_contexts_;
};

template <typename Interface>
Result<std::unique_ptr<Interface>> open_component(
    std::span<const Component<Interface>* const> components, const ComponentSettings& settings,
    Host& host) {
  const Component<Interface>* component = find_component(components, settings.spec());
  auto opened = component->open(settings, host);
  if (!opened) return fail(settings.full_name(), opened.error());
  return opened;
}

Result<void> Assembly::open_replayed(Pipeline* pipeline) {
  auto replay = open_replay(options_.replay, host_);
  if (!replay) return tl::unexpected<Error>(replay.error());
  pipeline->contexts = std::move(replay->contexts);
  pipeline->collectors = std::move(replay->collectors);
  pipeline->no_drain = std::move(replay->no_drain);
  return {};
}

Result<void> Assembly::open_contexts(Pipeline* pipeline) {
  auto all = std::make_unique<AllContexts>();
  for (const ComponentSettings* settings : settings_.active("eca")) {
    auto opened = open_component(eca_components(), *settings, host_);
    if (!opened) return tl::unexpected<Error>(opened.error());
    all->add(std::move(*opened));
  }
  if (all->empty() && needs_contexts_) {
    return fail(Error::Code::not_found,
                "there is nothing to judge; give -j JOB or --replay DIR, or configure an eca, for "
                "example --connector eca static file job.json");
  }
  pipeline->contexts = std::move(all);
  return {};
}

// A component that cannot work on this machine, or cannot be opened, is a report in every result:
// the verdict names what it was blind to. Settings that are wrong end the run.
Result<void> Assembly::open_collectors(std::string_view framework, Pipeline* pipeline) {
  for (const ComponentSettings* settings : settings_.active(framework)) {
    const CollectorComponent* component = find_component(collector_components(), settings->spec());
    NamedCollector named;
    named.name = settings->full_name();
    const Availability usable =
        component->query != nullptr ? component->query(host_) : Availability{};
    if (!usable.usable) {
      named.unavailable = usable.reason;
    } else {
      auto opened = component->open(*settings, host_);
      if (!opened && opened.error().code == Error::Code::malformed) {
        return fail(named.name, opened.error());
      }
      if (opened) {
        named.collector = std::move(*opened);
      } else {
        named.unavailable = opened.error().message;
      }
    }
    pipeline->collectors.push_back(std::move(named));
  }
  return {};
}

Result<void> Assembly::open_outputs(Pipeline* pipeline) {
  for (const ComponentSettings* settings : settings_.active("output")) {
    auto opened = open_component(output_components(), *settings, host_);
    if (!opened) return tl::unexpected<Error>(opened.error());
    pipeline->outputs.push_back({settings->full_name(), std::move(*opened)});
  }
  return {};
}

Result<void> Assembly::fill(Pipeline* pipeline) {
  Result<void> done;
  const bool is_replay = !options_.replay.empty();
  if (!is_replay && options_.queue == QueueMode::none) done = open_contexts(pipeline);
  if (done) done = fill_lane(pipeline);
  if (done) done = open_outputs(pipeline);
  return done;
}

Result<void> Assembly::fill_lane(Pipeline* pipeline) {
  Result<void> done;
  if (!options_.replay.empty()) {
    done = open_replayed(pipeline);
  } else {
    done = open_collectors("log", pipeline);
    if (done) done = open_collectors("metric", pipeline);
  }
  if (!done) return done;
  const ComponentSettings& run = settings_.section("run");
  pipeline->collector_timeout = run.duration("timeout_seconds");
  if (const Duration whole = run.duration("deadline_seconds"); whole > Duration{0}) {
    pipeline->deadline = Deadline::after(whole);
  }
  pipeline->strict = run.flag("strict");
  if (!run.text("service_url").empty()) pipeline->node_wait = run.duration("node_wait_seconds");
  return {};
}

// Who judges: the service that the settings name, else the engine here.
Result<std::unique_ptr<Attributor>> open_attributor(const ComponentSettings& run,
                                                    const Ruleset& rules) {
  if (run.text("service_url").empty()) return make_embedded_attributor(rules);
  auto options = service_options(run);
  if (!options) return tl::unexpected(options.error());
  return make_http_attributor(std::move(*options), rules.name().digest);
}

// A lane of its own: nothing but settings is common to two of them.
Result<void> prepare_lane(PreparedRun& run, const RunOptions& options) {
  auto lane = std::make_unique<PreparedLane>();
  lane->rules = run.rules->clone();
  lane->host = run.host;
  lane->host.rules = lane->rules.get();
  lane->pipeline.name = run.pipeline.name;
  auto attributor = open_attributor(run.settings.section("run"), *lane->rules);
  if (!attributor) return tl::unexpected<Error>(attributor.error());
  lane->pipeline.attributor = std::move(*attributor);
  auto done = Assembly(run.settings, options, lane->host, false).fill_lane(&lane->pipeline);
  if (done) run.more.push_back(std::move(lane));
  return done;
}

Result<void> prepare_more_lanes(PreparedRun& run, const RunOptions& options) {
  const auto jobs = static_cast<std::size_t>(run.settings.section("run").integer("jobs"));
  while (run.more.size() + 1 < jobs) {
    if (auto done = prepare_lane(run, options); !done) return done;
  }
  if (run.more.empty()) return {};
  auto outputs = share_outputs(std::move(run.pipeline.outputs), jobs);
  const auto lanes = run.lanes();
  for (std::size_t i = 0; i < lanes.size(); ++i) lanes[i].pipeline->outputs = std::move(outputs[i]);
  return {};
}

RunSummary failed_run(std::string name, int exit_code, const Error& error) {
  RunSummary summary;
  summary.name = std::move(name);
  summary.exit_code = exit_code;
  summary.error = error.message;
  return summary;
}

std::string run_name(const std::string& config, const RunOptions& options) {
  if (!config.empty()) return config;
  return options.replay.empty() ? "run" : options.replay;
}

}  // namespace

Result<ServiceOptions> service_options(const ComponentSettings& run) {
  ServiceOptions options;
  options.url = run.text("service_url");
  options.ruleset = run.text("ruleset");
  options.join = run.flag("join");
  options.http.timeout = run.duration("service_timeout");
  options.http.ca_file = run.text("service_ca");
  options.http.client_certificate = run.text("service_certificate");
  options.http.client_key = run.text("service_key");
  if (const std::string& path = run.text("service_token_file"); !path.empty()) {
    constexpr std::size_t kMaxToken = 16 * 1024;
    const auto token = read_file(path, kMaxToken);
    if (!token) return fail("run.service_token_file", token.error());
    options.token = trim(*token);
    if (options.token.find_first_of("\r\n") != std::string::npos) {
      return fail(Error::Code::malformed, "run.service_token_file: wants one line");
    }
  }
  return normalized(std::move(options));
}

std::vector<Lane> PreparedRun::lanes() {
  std::vector<Lane> all = {{&pipeline, &host}};
  for (const auto& lane : more) all.push_back({&lane->pipeline, &lane->host});
  return all;
}

std::vector<std::string> config_files(const RunOptions& options) {
  if (!options.configs.empty()) return options.configs;
  if (options.replay.empty() && exists(site_config())) return {site_config()};
  return {""};
}

Result<Settings> load_run_settings(const std::string& config, const RunOptions& options) {
  return load_settings(config, options);
}

Result<std::unique_ptr<Ruleset>> load_run_rules(const ComponentSettings& run) {
  return load_rules(run);
}

Result<std::unique_ptr<PreparedRun>> prepare_run(const std::string& config,
                                                 const RunOptions& options, int* exit_code) {
  *exit_code = kExitConfiguration;
  auto settings = load_settings(config, options);
  if (!settings) return tl::unexpected<Error>(settings.error());
  auto rules = load_rules(settings->section("run"));
  if (!rules) return tl::unexpected<Error>(rules.error());
  auto run = std::make_unique<PreparedRun>(std::move(*settings));
  run->rules = std::move(*rules);
  run->progress = make_terminal_progress();
  run->host.rules = run->rules.get();
  run->host.settings = &run->settings;
  run->host.progress = run->progress.get();
  run->host.all_lines = options.all_lines;
  run->host.spool = run->settings.section("run").text("spool");
  run->pipeline.name = run_name(config, options);
  // Sessions elsewhere are ended also when we are told to go.
  if (!run->settings.section("run").text("service_url").empty()) catch_interrupts();
  auto attributor = open_attributor(run->settings.section("run"), *run->rules);
  if (!attributor) return tl::unexpected<Error>(attributor.error());
  run->pipeline.attributor = std::move(*attributor);
  const bool needs_contexts = options.queue == QueueMode::none;
  auto done = Assembly(run->settings, options, run->host, needs_contexts).fill(&run->pipeline);
  if (!done) {
    const bool is_usage = config.empty() && done.error().code != Error::Code::malformed;
    if (is_usage) *exit_code = kExitUsage;
    return tl::unexpected<Error>(done.error());
  }
  if (auto more = prepare_more_lanes(*run, options); !more) {
    return tl::unexpected<Error>(more.error());
  }
  if (!options.save_bundle.empty()) {
    for (const Lane& lane : run->lanes()) {
      lane.pipeline->keeper =
          make_bundle({options.save_bundle, options.redact, options.all_lines}, *lane.host);
    }
  }
  return run;
}

RunSummary run_with(const std::string& config, const RunOptions& options) {
  int exit_code = kExitOk;
  auto run = prepare_run(config, options, &exit_code);
  if (!run) return failed_run(run_name(config, options), exit_code, run.error());
  return run_pipeline((*run)->lanes());
}

int check_config(const std::string& config, const RunOptions& options) {
  const std::string name = config.empty() ? "settings" : config;
  const auto complain = [&](const Error& error) {
    std::fprintf(stderr, "%s: %s\n", name.c_str(), error.message.c_str());
    return kExitConfiguration;
  };
  auto settings = load_settings(config, options);
  if (!settings) return complain(settings.error());
  auto rules = load_rules(settings->section("run"));
  if (!rules) return complain(rules.error());
  Host host;
  host.rules = rules->get();
  host.settings = &*settings;
  Pipeline pipeline;
  auto done = Assembly(*settings, options, host, false).fill(&pipeline);
  if (!done) return complain(done.error());
  int code = kExitOk;
  for (const NamedCollector& collector : pipeline.collectors) {
    if (collector.collector) continue;
    code = complain(Error{Error::Code::unavailable, collector.name + ": " + collector.unavailable});
  }
  if (code == kExitOk) std::printf("%s: ok\n", name.c_str());
  return code;
}

int show_config(const std::string& config, const RunOptions& options) {
  auto settings = load_settings(config, options);
  if (!settings) {
    std::fprintf(stderr, "%s\n", settings.error().message.c_str());
    return kExitConfiguration;
  }
  std::fputs(settings->show().c_str(), stdout);
  return kExitOk;
}

std::string list_connectors() {
  std::string text;
  for (const ComponentSpec& spec : all_specs()) {
    const std::string name = spec.name.empty() ? std::string(spec.framework)
                                               : fmt::format("{}.{}", spec.framework, spec.name);
    text += fmt::format("[{}]  {}\n", name, spec.help);
    for (const ParamSpec& param : spec.params) text += "    " + describe(param) + "\n";
  }
  return text;
}

}  // namespace nvab
