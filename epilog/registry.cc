// SPDX-License-Identifier: Apache-2.0
// The only place that knows all components: one line each.
#include <vector>

#include "epilog/connector.hh"
#include "epilog/queue/policy.hh"
#include "epilog/queue/queue_settings.hh"
#include "epilog/run_settings.hh"

namespace nvab {

extern const EcaComponent eca_slurm;
extern const EcaComponent eca_static;
extern const CollectorComponent log_file;
extern const CollectorComponent log_job;
extern const CollectorComponent log_journald;
extern const CollectorComponent log_kernel;
extern const CollectorComponent log_loki;
extern const CollectorComponent log_kmsg;
extern const CollectorComponent log_task_exits;
extern const CollectorComponent log_flight_recorder;
extern const CollectorComponent metric_file;
extern const CollectorComponent metric_promql;
extern const OutputComponent output_card;
extern const OutputComponent output_http;
extern const OutputComponent output_mail;
extern const OutputComponent output_slurm;
extern const OutputComponent output_sqlite;
extern const OutputComponent output_stdout;
extern const AuthComponent auth_basic;
extern const AuthComponent auth_mtls;
extern const AuthComponent auth_token;

namespace {

constexpr const EcaComponent* kEca[] = {&eca_slurm, &eca_static};
constexpr const CollectorComponent* kCollectors[] = {
    &log_file, &log_job,        &log_journald,        &log_kmsg,    &log_kernel,
    &log_loki, &log_task_exits, &log_flight_recorder, &metric_file, &metric_promql};
constexpr const OutputComponent* kOutputs[] = {&output_stdout, &output_sqlite, &output_card,
                                               &output_slurm,  &output_mail,   &output_http};
constexpr const AuthComponent* kAuth[] = {&auth_token, &auth_basic, &auth_mtls};

std::vector<ComponentSpec> gather_specs() {
  std::vector<ComponentSpec> specs = {run_spec, queue_spec, policy_spec};
  for (const auto* component : kEca) specs.push_back(component->spec);
  for (const auto* component : kCollectors) specs.push_back(component->spec);
  for (const auto* component : kOutputs) specs.push_back(component->spec);
  for (const auto* component : kAuth) specs.push_back(component->spec);
  return specs;
}

}  // namespace

std::span<const EcaComponent* const> eca_components() { return kEca; }
std::span<const CollectorComponent* const> collector_components() { return kCollectors; }
std::span<const OutputComponent* const> output_components() { return kOutputs; }
std::span<const AuthComponent* const> auth_components() { return kAuth; }

std::span<const ComponentSpec> all_specs() {
  static const std::vector<ComponentSpec> specs = gather_specs();
  return specs;
}

}  // namespace nvab
