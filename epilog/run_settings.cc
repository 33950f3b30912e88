// SPDX-License-Identifier: Apache-2.0
// See run_settings.hh and nvab.conf(5).
#include "epilog/run_settings.hh"

namespace nvab {
namespace {

constexpr ParamSpec kParams[] = {
    {.name = "ruleset", .fallback = "default", .help = "Name of the ruleset, part of session ids"},
    {.name = "rules_dir",
     .type = ParamType::path,
     .help = "Folder of the site's own rule packs (default: rules.d beside the configuration)"},
    {.name = "timeout_seconds",
     .type = ParamType::duration,
     .fallback = "300",
     .help = "Time that each collector has for one job; 0 for none"},
    {.name = "deadline_seconds",
     .type = ParamType::duration,
     .fallback = "0",
     .help = "Time that the whole run has; 0 for none"},
    {.name = "strict",
     .type = ParamType::boolean,
     .fallback = "false",
     .help = "Exit 4 when the evidence about a job was not complete"},
};

}  // namespace

constinit const ComponentSpec run_spec = {
    .framework = "run", .name = "", .help = "The run as a whole", .params = kParams};

}  // namespace nvab
