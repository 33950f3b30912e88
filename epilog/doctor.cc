// SPDX-License-Identifier: Apache-2.0
// See doctor.hh.
#include "epilog/doctor.hh"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "common/base/json.hh"
#include "common/base/text.hh"
#include "epilog/connector.hh"
#include "epilog/doctor_host.hh"
#include "epilog/doctor_slurm.hh"
#include "epilog/prepared_run.hh"
#include "epilog/run.hh"

namespace nvab {
namespace {

// What answers at all does so in a moment.
constexpr Duration kTimeForOne = std::chrono::seconds(10);

class Examination {
 public:
  Examination(const std::string& config, const RunOptions& options)
      : config_(config), options_(options) {
    // The format is that of the report, and configures no output.
    options_.format.clear();
  }
  std::vector<DoctorCheck> run();

 private:
  void add(const std::string& part, ProbeFindings findings) {
    for (ProbeFinding& finding : findings) checks_.push_back({part, std::move(finding)});
  }
  bool load();
  void try_slurm();
  template <typename Interface>
  void try_framework(std::string_view framework,
                     std::span<const Component<Interface>* const> components);
  template <typename Interface>
  ProbeFindings try_component(const Component<Interface>& component,
                              const ComponentSettings& settings);

  const std::string& config_;
  RunOptions options_;
  std::optional<Settings> settings_;
  std::unique_ptr<Ruleset> rules_;
  Host host_;
  std::vector<DoctorCheck> checks_;
};

// False: nothing else can be tried.
bool Examination::load() {
  const std::string name = config_.empty() ? "settings" : config_;
  auto settings = load_run_settings(config_, options_);
  // Without a word about jobs: those of the queue, with what any host has.
  if (settings && settings->active("eca").empty()) {
    RunOptions of_queue = options_;
    of_queue.queue = QueueMode::work;
    settings = load_run_settings(config_, of_queue);
  }
  if (!settings) {
    add(name,
        {probe_fault("read them", settings.error().message, "correct them, see nvab.conf(5)")});
    return false;
  }
  settings_.emplace(std::move(*settings));
  add(name, {probe_ok("read them", "they are good")});
  auto rules = load_run_rules(settings_->section("run"));
  if (!rules) {
    add("rules", {probe_fault("load them", rules.error().message,
                              "correct the site's packs: nvab-rules lint says what is wrong")});
    return false;
  }
  rules_ = std::move(*rules);
  add("rules", {probe_ok("load them", fmt::format("{} rules", rules_->rules().size()))});
  host_.rules = rules_.get();
  host_.settings = &*settings_;
  host_.spool = settings_->section("run").text("spool");
  return true;
}

template <typename Interface>
ProbeFindings Examination::try_component(const Component<Interface>& component,
                                         const ComponentSettings& settings) {
  host_.deadline = Deadline::after(kTimeForOne);
  if (component.query != nullptr) {
    const Availability usable = component.query(host_);
    if (!usable.usable) return {probe_fault("use it here", usable.reason, "disable it here")};
  }
  auto opened = component.open(settings, host_);
  if (!opened) {
    return {
        probe_fault("open it", opened.error().message, "correct its settings, see nvab.conf(5)")};
  }
  if (component.probe != nullptr) return component.probe(settings, host_);
  return {probe_ok("open it", "it works")};
}

template <typename Interface>
void Examination::try_framework(std::string_view framework,
                                std::span<const Component<Interface>* const> components) {
  for (const ComponentSettings* settings : settings_->active(framework)) {
    const Component<Interface>* component = find_component(components, settings->spec());
    add(settings->full_name(), try_component(*component, *settings));
  }
}

// Its own part of settings only says which jobs, which nobody asks for here.
void Examination::try_slurm() {
  const auto sources = settings_->active("eca");
  const auto is_other = [](const ComponentSettings* one) { return one->spec().name != "slurm"; };
  if (!sources.empty() && std::all_of(sources.begin(), sources.end(), is_other)) return;
  host_.deadline = Deadline::after(kTimeForOne);
  add("eca.slurm", probe_slurm(settings_->component("eca", "slurm"), host_));
  add("queue", probe_queue(settings_->section("queue").text("path")));
  add("spool", probe_spool(host_.spool));
}

std::vector<DoctorCheck> Examination::run() {
  if (!load()) return std::move(checks_);
  try_slurm();
  try_framework<Collector>("log", collector_components());
  try_framework<Collector>("metric", collector_components());
  try_framework<Output>("output", output_components());
  host_.deadline = Deadline::after(kTimeForOne);
  add("service", probe_service(settings_->section("run"), host_.deadline));
  return std::move(checks_);
}

std::string_view to_string(ProbeStatus status) {
  switch (status) {
    case ProbeStatus::ok:
      return "ok";
    case ProbeStatus::warning:
      return "warning";
    case ProbeStatus::fault:
      return "fault";
  }
  return "fault";
}

std::size_t count_of(const std::vector<DoctorCheck>& checks, ProbeStatus status) {
  return static_cast<std::size_t>(
      std::count_if(checks.begin(), checks.end(),
                    [&](const DoctorCheck& check) { return check.finding.status == status; }));
}

std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

}  // namespace

std::vector<DoctorCheck> examine(const std::string& config, const RunOptions& options) {
  return Examination(config, options).run();
}

std::string doctor_text(const std::vector<DoctorCheck>& checks) {
  std::size_t width = 0;
  for (const DoctorCheck& check : checks) width = std::max(width, check.part.size());
  std::string text;
  for (const auto& [part, finding] : checks) {
    fmt::format_to(std::back_inserter(text), "{:<8} {:<{}}  {}: {}\n", to_string(finding.status),
                   part, width, one_line(sanitize(finding.what)),
                   one_line(sanitize(finding.found)));
    if (!finding.fix.empty()) {
      fmt::format_to(std::back_inserter(text), "{:<8} {:<{}}  -> {}\n", "", "", width,
                     one_line(sanitize(finding.fix)));
    }
  }
  const std::size_t faults = count_of(checks, ProbeStatus::fault),
                    warnings = count_of(checks, ProbeStatus::warning);
  fmt::format_to(std::back_inserter(text), "{} checked, {} at fault, {} to look at\n",
                 checks.size(), faults, warnings);
  return text;
}

std::string doctor_json(const std::string& config, const std::vector<DoctorCheck>& checks) {
  Json list = Json::array();
  for (const auto& [part, finding] : checks) {
    Json check = Json::object();
    check.set("part", Json::of(part));
    check.set("status", Json::of(to_string(finding.status)));
    check.set("what", Json::of(sanitize(finding.what)));
    check.set("found", Json::of(sanitize(finding.found)));
    if (!finding.fix.empty()) check.set("fix", Json::of(sanitize(finding.fix)));
    list.push(std::move(check));
  }
  Json all = Json::object();
  all.set("schema", Json::of("nvab.doctor/1"));
  all.set("config", Json::of(config));
  all.set("faults", Json::of(static_cast<std::int64_t>(count_of(checks, ProbeStatus::fault))));
  all.set("warnings", Json::of(static_cast<std::int64_t>(count_of(checks, ProbeStatus::warning))));
  all.set("checks", std::move(list));
  return all.dump() + "\n";
}

int doctor_exit_code(const std::vector<DoctorCheck>& checks, bool strict) {
  if (count_of(checks, ProbeStatus::fault) > 0) return kExitNoOutput;
  return strict && count_of(checks, ProbeStatus::warning) > 0 ? kExitIncomplete : kExitOk;
}

}  // namespace nvab
