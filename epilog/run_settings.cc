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
    {.name = "spool",
     .type = ParamType::path,
     .fallback = "/var/spool/nvab/tasks",
     .help = "Folder where the SPANK plugin writes task records"},
    {.name = "timeout_seconds",
     .type = ParamType::duration,
     .fallback = "300",
     .help = "Time that each collector has for one job; 0 for none"},
    {.name = "deadline_seconds",
     .type = ParamType::duration,
     .fallback = "0",
     .help = "Time that the whole run has; 0 for none"},
    {.name = "jobs",
     .type = ParamType::integer,
     .fallback = "1",
     .help = "Jobs that are worked on at the same time",
     .low = 1,
     .high = 256},
    {.name = "service_url",
     .help = "Judge by this service instead of here: http://HOST:PORT, https://, unix:PATH"},
    {.name = "service_timeout",
     .type = ParamType::duration,
     .fallback = "60s",
     .help = "Time that one request to the service may take"},
    {.name = "service_token_file",
     .type = ParamType::path,
     .help = "File with the bearer token that the service wants"},
    {.name = "service_ca",
     .type = ParamType::path,
     .help = "PEM file of the authorities of the service's certificate (default: the system's)"},
    {.name = "service_certificate",
     .type = ParamType::path,
     .help = "PEM file of our certificate, for a service that asks for one"},
    {.name = "service_key", .type = ParamType::path, .help = "PEM file of its key"},
    {.name = "join",
     .type = ParamType::boolean,
     .fallback = "false",
     .help = "Post into the session of another client instead of leaving the job to it"},
    {.name = "node_wait_seconds",
     .type = ParamType::duration,
     .fallback = "0",
     .help = "With a service, how long to wait for what the job's nodes send by --node"},
    {.name = "strict",
     .type = ParamType::boolean,
     .fallback = "false",
     .help = "Exit 4 when the evidence about a job was not complete"},
};

}  // namespace

constinit const ComponentSpec run_spec = {
    .framework = "run", .name = "", .help = "The run as a whole", .params = kParams};

}  // namespace nvab
