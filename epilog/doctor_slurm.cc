// SPDX-License-Identifier: Apache-2.0
// See doctor_slurm.hh. Runs sacct once, and scontrol once.
#include "epilog/doctor_slurm.hh"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/base/file.hh"
#include "common/base/subprocess.hh"
#include "common/base/text.hh"
#include "epilog/eca/slurm.hh"

namespace nvab {
namespace {

// Signed requests between Slurm's hosts are valid for 5 minutes; verdicts order lines by seconds.
constexpr Duration kMaxSkew = std::chrono::seconds(5);
// The plugin carries its C++ runtime, which has some MB.
constexpr std::size_t kMaxPluginBytes = 256 * 1024 * 1024;

using Config = std::map<std::string, std::string, std::less<>>;

std::string value_of(const Config& config, std::string_view key) {
  const auto found = config.find(key);
  return found == config.end() || found->second == "(null)" ? "" : found->second;
}

Result<std::string> run_slurm(std::vector<std::string> argv, const SlurmAccess& access,
                              Deadline deadline) {
  Command command;
  command.argv = std::move(argv);
  command.keep = {"SLURM_CONF", "HOME"};
  if (!access.conf.empty()) command.environment = {"SLURM_CONF=" + access.conf};
  command.deadline = deadline;
  auto end = run_command(command);
  if (!end) return tl::unexpected(std::move(end.error()));
  if (!end->succeeded()) return tl::unexpected(command_failure(command, *end));
  return std::move(end->output);
}

ProbeFinding check_sacct(const SlurmAccess& access, Deadline deadline) {
  const std::string what = "ask accounting for the last hour";
  std::vector<std::string> argv = {access.sacct, "-a",    "-X", "-n",        "-P",
                                   "-o",         "JobID", "-S", "now-1hours"};
  if (!access.cluster.empty()) argv.push_back("--clusters=" + access.cluster);
  const auto output = run_slurm(std::move(argv), access, deadline);
  if (output) {
    const auto jobs = std::count(output->begin(), output->end(), '\n');
    return probe_ok(what, fmt::format("{} jobs", jobs));
  }
  const bool is_missing = output.error().code == Error::Code::not_found;
  return probe_fault(what, output.error().message,
                     is_missing ? "install Slurm's client programs, or set sacct in [eca.slurm]"
                                : "see that slurmdbd runs, and that slurm.conf is found (conf in "
                                  "[eca.slurm], or SLURM_CONF)");
}

// Of "slurm(64030)".
std::optional<long long> uid_of(std::string_view user) {
  const std::size_t open = user.find('(');
  if (open == std::string_view::npos) return std::nullopt;
  return parse_int(user.substr(open + 1, user.find(')') - open - 1));
}

ProbeFindings check_accounting(const Config& config) {
  if (value_of(config, "accountingstoragetype") == "accounting_storage/none") {
    return {probe_fault("accounting", "Slurm keeps none",
                        "set AccountingStorageType=accounting_storage/slurmdbd in slurm.conf")};
  }
  const bool may_see = ::geteuid() == 0 ||
                       uid_of(value_of(config, "slurmuser")) == static_cast<long long>(::geteuid());
  if (lower(value_of(config, "privatedata")).find("jobs") == std::string::npos || may_see) {
    return {probe_ok("jobs of other users", "accounting shows them to us")};
  }
  return {probe_warning("jobs of other users", "PrivateData=jobs hides them from this user",
                        "run nvab-run as root or SlurmUser, or make its user an operator: sacctmgr "
                        "modify user NAME set adminlevel=operator")};
}

ProbeFinding check_clock(Time theirs, Time before, Time after) {
  // Printed in whole seconds.
  const Duration ahead = theirs - after, behind = before - theirs - std::chrono::seconds(1);
  const Duration skew = std::max({ahead, behind, Duration{0}});
  const std::string found = fmt::format("{} from ours", format_duration(skew));
  if (skew <= kMaxSkew) return probe_ok("clock of the controller", found);
  return probe_warning("clock of the controller", found,
                       "let both hosts follow the same NTP servers");
}

// Which of our hooks slurm.conf names.
ProbeFinding check_hooks(const Config& config) {
  std::string found;
  for (const char* key : {"epilog", "epilogslurmctld", "jobcomploc"}) {
    for (const auto& [name, value] : config) {
      const bool is_key = name == key || name.starts_with(std::string(key) + "[");
      if (is_key && value.find("nvab") != std::string::npos)
        found += (found.empty() ? "" : ", ") + value;
    }
  }
  if (!found.empty()) return probe_ok("hooks that hand jobs over", found);
  return probe_warning("hooks that hand jobs over", "slurm.conf names none of ours",
                       "set EpilogSlurmctld to nvab-epilogctld, see nvab-run(1); or ask for jobs "
                       "with -j or --sweep");
}

std::string version_text(std::uint32_t version) {
  return fmt::format("{}.{:02}.{}", version >> 16, version >> 8 & 0xff, version & 0xff);
}

ProbeFinding check_plugin(const Config& config) {
  const std::string what = "plugin attribution.so";
  const std::string plugstack = value_of(config, "plugstackconfig");
  const std::string path = find_plugin(plugstack, value_of(config, "plugindir"));
  if (path.empty()) {
    return probe_warning(what, "there is no line for it in " + plugstack,
                         "add \"optional attribution.so\" there: it notes how each task ends");
  }
  const auto bytes = read_file(path, kMaxPluginBytes);
  if (!bytes) {
    return probe_fault(what, bytes.error().message, "install it there, or correct " + plugstack);
  }
  const auto built = plugin_version(*bytes);
  const auto runs = slurm_version(value_of(config, "slurm_version"));
  if (!built) return probe_fault(what, path + " is no Slurm plugin", "install it again");
  if (!runs || *built >> 8 == *runs >> 8) {
    return probe_ok(what, fmt::format("{}, built for Slurm {}", path, version_text(*built)));
  }
  return probe_fault(what,
                     fmt::format("{} was built for Slurm {}, and this is {}", path,
                                 version_text(*built), version_text(*runs)),
                     "build it against this Slurm's headers: ./configure --with-slurm=DIR");
}

}  // namespace

Config parse_slurm_config(std::string_view text) {
  Config config;
  for (const std::string_view line : split(text, '\n')) {
    const std::size_t equal = line.find('=');
    if (equal == std::string_view::npos) continue;
    config.emplace(lower(trim(line.substr(0, equal))), trim(line.substr(equal + 1)));
  }
  return config;
}

std::optional<Time> controller_clock(std::string_view text) {
  constexpr std::string_view kHead = "Configuration data as of ";
  const std::size_t at = text.find(kHead);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view rest = text.substr(at + kHead.size());
  return parse_rfc3339(trim(rest.substr(0, rest.find('\n'))));
}

std::optional<std::uint32_t> slurm_version(std::string_view text) {
  std::uint32_t version = 0;
  const auto fields = split(trim(text).substr(0, trim(text).find('-')), '.');
  if (fields.size() != 3) return std::nullopt;
  for (const std::string_view field : fields) {
    const auto number = parse_int(field);
    if (!number || *number < 0 || *number > 255) return std::nullopt;
    version = version << 8 | static_cast<std::uint32_t>(*number);
  }
  return version;
}

ProbeFindings probe_slurm(const ComponentSettings& slurm, Host& host) {
  const auto access = slurm_access(slurm);
  if (!access) {
    return {probe_fault("its settings", access.error().message, "see [eca.slurm] in nvab.conf(5)")};
  }
  ProbeFindings findings = {check_sacct(*access, host.deadline)};
  const auto now = [] { return std::chrono::floor<Duration>(std::chrono::system_clock::now()); };
  const Time before = now();
  const auto text = run_slurm({"scontrol", "show", "config"}, *access, host.deadline);
  const Time after = now();
  if (!text) {
    findings.push_back(probe_warning("ask the controller for its settings", text.error().message,
                                     "see that slurmctld runs; accounting alone will do for -j"));
    return findings;
  }
  const Config config = parse_slurm_config(*text);
  for (ProbeFinding& finding : check_accounting(config)) findings.push_back(std::move(finding));
  if (const auto clock = controller_clock(*text)) {
    findings.push_back(check_clock(*clock, before, after));
  }
  findings.push_back(check_hooks(config));
  findings.push_back(check_plugin(config));
  return findings;
}

}  // namespace nvab
