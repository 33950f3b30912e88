// SPDX-License-Identifier: Apache-2.0
// See policy.hh.
#include "epilog/queue/policy.hh"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>

#include "common/base/digest.hh"
#include "common/base/text.hh"

namespace nvab {
namespace {

constexpr ParamSpec kParams[] = {
    {.name = "auto",
     .fallback = "failures",
     .help = "Jobs whose owners said nothing: all, those that did not simply succeed, or none",
     .choices = "all|failures|none"},
    {.name = "partitions",
     .type = ParamType::list,
     .help = "Of those, only in these partitions (with * and ?)"},
    {.name = "accounts",
     .type = ParamType::list,
     .help = "And only of these accounts (with * and ?)"},
    {.name = "min_nodes",
     .type = ParamType::integer,
     .fallback = "0",
     .help = "And on so many nodes"},
    {.name = "min_gpus",
     .type = ParamType::integer,
     .fallback = "0",
     .help = "And with so many GPUs"},
    {.name = "min_seconds",
     .type = ParamType::duration,
     .fallback = "0",
     .help = "And that ran so long"},
    {.name = "sample_percent",
     .type = ParamType::integer,
     .fallback = "100",
     .help = "And of what is left so many percent",
     .low = 0,
     .high = 100},
};

bool is_listed(const std::vector<std::string>& globs, const std::string& name) {
  if (globs.empty()) return true;
  return std::any_of(globs.begin(), globs.end(),
                     [&](const std::string& glob) { return glob_match(glob, name); });
}

// 0 to 99, the same for each run of the same context.
long sample_of(const ExecutionContext& context) {
  return std::strtol(sha256_hex("sample " + context.key()).substr(0, 7).c_str(), nullptr, 16) % 100;
}

}  // namespace

constinit const ComponentSpec policy_spec = {
    .framework = "policy",
    .name = "",
    .help = "Which jobs of the queue are attributed; those with --attribution=on always are",
    .params = kParams};

Policy Policy::from(const ComponentSettings& settings) {
  Policy policy;
  const std::string& automatic = settings.text("auto");
  policy.automatic = automatic == "all"    ? Auto::all
                     : automatic == "none" ? Auto::none
                                           : Auto::failures;
  policy.partitions = settings.list("partitions");
  policy.accounts = settings.list("accounts");
  policy.min_nodes = settings.integer("min_nodes");
  policy.min_gpus = settings.integer("min_gpus");
  policy.min_run = settings.duration("min_seconds");
  policy.sample_percent = static_cast<int>(settings.integer("sample_percent"));
  return policy;
}

bool is_failure(const ExecutionContext& context) {
  if (context.base_state() != "COMPLETED") return true;
  const auto is_bad = [](const std::optional<ExitCode>& exit) {
    return exit && *exit != ExitCode{};
  };
  return is_bad(context.exit_code) || is_bad(context.derived_exit_code) ||
         std::any_of(context.steps.begin(), context.steps.end(),
                     [&](const Step& step) { return is_bad(step.exit_code); });
}

std::string Policy::reason_against(const ExecutionContext& context, std::string_view wish) const {
  if (wish == "on") return {};
  if (wish == "off") return "its owner said --attribution=off";
  if (automatic == Auto::none) return "[policy] auto is none";
  if (automatic == Auto::failures && !is_failure(context)) return "it succeeded";
  if (!is_listed(partitions, context.partition)) {
    return fmt::format("[policy] partitions leaves out {}", sanitize(context.partition));
  }
  if (!is_listed(accounts, context.account)) {
    return fmt::format("[policy] accounts leaves out '{}'", sanitize(context.account));
  }
  const auto nodes = static_cast<long long>(context.nodes.size());
  if (nodes < min_nodes)
    return fmt::format("it had {} nodes, fewer than [policy] min_nodes", nodes);
  const long long gpus = nodes * context.gpus_per_node.value_or(0);
  if (gpus < min_gpus) return fmt::format("it had {} GPUs, fewer than [policy] min_gpus", gpus);
  if (min_run > Duration{0} && (!context.start_time || !context.end_time ||
                                *context.end_time - *context.start_time < min_run)) {
    return "it ran shorter than [policy] min_seconds";
  }
  if (sample_of(context) >= sample_percent) return "[policy] sample_percent left it out";
  return {};
}

}  // namespace nvab
