// SPDX-License-Identifier: Apache-2.0
// The tables behind taxonomy.hh. Who may be blamed for what follows nvab-result(5), "Labels".
#include "common/model/taxonomy.hh"

#include <array>
#include <utility>

namespace nvab {
namespace {

using S = SubDomain;
using A = Action;

constexpr OutcomeRow kOutcomes[] = {
    // The user's program, settings and data.
    {"user_exception", S::user_code, A::fix_before_retry, false, "the program raised an error"},
    {"user_crash", S::user_code, A::fix_before_retry, false, "the program crashed in its own code"},
    {"user_gpu_fault", S::user_code, A::fix_before_retry, false,
     "the program's GPU code did an illegal access"},
    {"collective_desync", S::user_code, A::fix_before_retry, false,
     "ranks did not take part in the same collectives"},
    {"bad_config", S::user_config, A::fix_before_retry, false, "a setting or argument is wrong"},
    {"missing_file", S::user_config, A::fix_before_retry, false, "a file or path does not exist"},
    {"missing_software", S::user_config, A::fix_before_retry, false,
     "a module, command or image does not exist"},
    {"software_mismatch", S::user_config, A::fix_before_retry, false,
     "versions in the environment do not fit together"},
    {"access_denied", S::user_config, A::fix_before_retry, false, "access was denied"},
    {"divergence", S::user_config, A::fix_before_retry, false, "the computation diverged"},
    {"pod_limit", S::user_config, A::fix_before_retry, false,
     "the Pod used more than it asked for"},
    {"bad_data", S::user_data, A::fix_before_retry, false, "an input is damaged or malformed"},
    {"framework_error", S::framework, A::requeue, false, "a framework failed by itself"},
    {"teardown_failure", S::framework, A::none_needed, false,
     "the work was complete and only the exit failed"},
    {"gpu_out_of_memory", S::gpu_oom, A::fix_before_retry, false, "device memory was exhausted"},
    {"job_out_of_memory", S::host_memory, A::resubmit_with_more_memory, false,
     "the job used more host memory than it was given"},
    {"host_out_of_memory", S::host_memory, A::resubmit_with_more_memory, false,
     "the node ran out of memory"},
    {"host_allocation_failed", S::host_memory, A::resubmit_with_more_memory, false,
     "the program could not get the host memory it asked for"},
    {"shm_full", S::host_memory, A::fix_before_retry, false, "/dev/shm was full"},
    // The machine.
    {"gpu_lost", S::gpu_hardware, A::requeue_exclude_nodes, true, "a GPU was lost"},
    {"gpu_fault", S::gpu_hardware, A::requeue_exclude_nodes, true, "a GPU is faulty"},
    {"gpu_corruption", S::gpu_hardware, A::requeue_exclude_nodes, true,
     "a GPU computed wrong results"},
    {"gpu_ecc", S::gpu_memory, A::requeue_exclude_nodes, true,
     "GPU memory had an uncorrectable error"},
    {"gpu_row_remap", S::gpu_memory, A::requeue_exclude_nodes, true,
     "GPU memory cannot be repaired any more"},
    {"gpu_driver_fault", S::gpu_driver, A::requeue_exclude_nodes, true,
     "the GPU driver or firmware failed"},
    {"gpu_driver_mismatch", S::gpu_driver, A::requeue_exclude_nodes, true,
     "driver parts of different versions are loaded"},
    {"nvlink_fault", S::nvlink, A::requeue_exclude_nodes, true, "an NVLink or NVSwitch failed"},
    {"link_down", S::network_fabric, A::requeue_exclude_nodes, true, "a network link went down"},
    {"fabric_error", S::network_fabric, A::requeue_exclude_nodes, true,
     "the network fabric failed at this node"},
    {"switch_down", S::network_fabric, A::requeue_exclude_nodes, true,
     "a switch took its nodes off the fabric"},
    {"network_outage", S::network_fabric, A::requeue, false,
     "the network failed where no choice of nodes helps"},
    {"filesystem_down", S::storage, A::requeue, false, "a file server did not answer"},
    {"filesystem_client", S::storage, A::requeue_exclude_nodes, true,
     "a node lost its file system"},
    {"filesystem_full", S::storage, A::fix_before_retry, false, "a file system or quota was full"},
    {"local_disk_full", S::storage, A::requeue_exclude_nodes, true,
     "a node's scratch disk was full"},
    {"local_disk_fault", S::storage, A::requeue_exclude_nodes, true, "a node's disk failed"},
    {"node_disk_full", S::host_os, A::requeue_exclude_nodes, true, "a node's system disk was full"},
    {"node_os_fault", S::host_os, A::requeue_exclude_nodes, true,
     "a node's operating system failed"},
    {"node_misconfigured", S::host_os, A::requeue_exclude_nodes, true,
     "a node is not set up like the others"},
    {"node_hardware", S::host_hardware, A::requeue_exclude_nodes, true, "a node's hardware failed"},
    {"node_power", S::host_hardware, A::requeue_exclude_nodes, true, "a node lost power"},
    // Neither.
    {"preempted", S::scheduler, A::requeue, false, "the scheduler gave the nodes to another job"},
    {"admin_cancel", S::scheduler, A::requeue, false, "an administrator ended it"},
    {"requeued", S::scheduler, A::none_needed, false, "it was put back into the queue"},
    {"launch_failure", S::scheduler, A::requeue, false, "the scheduler could not start it"},
    {"node_lost", S::host_os, A::requeue_exclude_nodes, true,
     "a node stopped answering and nothing says why"},
    {"external_service", S::external_service, A::requeue, false,
     "a service outside the cluster failed"},
    {"user_cancel", S::user_cancel, A::none_needed, false, "its owner cancelled it"},
    {"time_limit", S::time_limit, A::resubmit_with_more_time, false,
     "it needed more time than it asked for"},
    {"success", S::none, A::none_needed, false, "it completed"},
    {"unknown", S::unknown, A::investigate, false, "the evidence does not say"},
};

constexpr std::string_view kTerminalStates[] = {"completed",     "failed",    "timeout",
                                                "cancelled",     "preempted", "node_failure",
                                                "out_of_memory", "unknown"};
constexpr std::string_view kSubDomains[] = {
    "user_code",        "user_config",  "user_data",  "framework",     "gpu_oom",
    "host_memory",      "gpu_hardware", "gpu_memory", "gpu_driver",    "nvlink",
    "network_fabric",   "storage",      "host_os",    "host_hardware", "scheduler",
    "external_service", "user_cancel",  "time_limit", "none",          "unknown"};
constexpr std::string_view kDomains[] = {"workload", "infrastructure", "scheduler", "external",
                                         "user",     "time_limit",     "none",      "unknown"};
constexpr std::string_view kActions[] = {"investigate",
                                         "none_needed",
                                         "requeue",
                                         "requeue_exclude_nodes",
                                         "fix_before_retry",
                                         "resubmit_with_more_time",
                                         "resubmit_with_more_memory"};
constexpr std::string_view kEvidenceStatuses[] = {"complete", "partial", "insufficient"};

template <typename Enum>
std::optional<Enum> enum_from(std::span<const std::string_view> words, std::string_view word) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == word) return static_cast<Enum>(i);
  }
  return std::nullopt;
}

// Slurm's words (and Kueue's, mapped onto them by its adapter) -> how it ended.
constexpr std::pair<std::string_view, TerminalState> kSchedulerStates[] = {
    {"COMPLETED", TerminalState::completed},    {"FAILED", TerminalState::failed},
    {"TIMEOUT", TerminalState::timeout},        {"DEADLINE", TerminalState::timeout},
    {"CANCELLED", TerminalState::cancelled},    {"REVOKED", TerminalState::cancelled},
    {"PREEMPTED", TerminalState::preempted},    {"NODE_FAIL", TerminalState::node_failure},
    {"BOOT_FAIL", TerminalState::node_failure}, {"OUT_OF_MEMORY", TerminalState::out_of_memory},
    {"REQUEUED", TerminalState::cancelled},
};

}  // namespace

std::span<const OutcomeRow> outcomes() { return kOutcomes; }

const OutcomeRow* find_outcome(std::string_view outcome) {
  for (const OutcomeRow& row : kOutcomes) {
    if (row.outcome == outcome) return &row;
  }
  return nullptr;
}

Domain domain_of(SubDomain sub_domain) {
  switch (sub_domain) {
    case S::user_code:
    case S::user_config:
    case S::user_data:
    case S::framework:
    case S::gpu_oom:
    case S::host_memory:
      return Domain::workload;
    case S::gpu_hardware:
    case S::gpu_memory:
    case S::gpu_driver:
    case S::nvlink:
    case S::network_fabric:
    case S::storage:
    case S::host_os:
    case S::host_hardware:
      return Domain::infrastructure;
    case S::scheduler:
      return Domain::scheduler;
    case S::external_service:
      return Domain::external;
    case S::user_cancel:
      return Domain::user;
    case S::time_limit:
      return Domain::time_limit;
    case S::none:
      return Domain::none;
    case S::unknown:
      return Domain::unknown;
  }
  return Domain::unknown;
}

TerminalState terminal_state(std::string_view scheduler_state, std::string_view outcome) {
  const std::string_view word = scheduler_state.substr(0, scheduler_state.find(' '));
  TerminalState state = TerminalState::unknown;
  for (const auto& [name, value] : kSchedulerStates) {
    if (name == word) state = value;
  }
  if (outcome == "success" || outcome == "teardown_failure") return TerminalState::completed;
  const bool job_killed_for_memory =
      outcome == "job_out_of_memory" || outcome == "host_out_of_memory";
  if (job_killed_for_memory && state != TerminalState::completed) {
    return TerminalState::out_of_memory;
  }
  if (outcome == "preempted" && state != TerminalState::completed) return TerminalState::preempted;
  return state;
}

std::string_view to_string(TerminalState v) { return kTerminalStates[static_cast<int>(v)]; }
std::string_view to_string(SubDomain v) { return kSubDomains[static_cast<int>(v)]; }
std::string_view to_string(Domain v) { return kDomains[static_cast<int>(v)]; }
std::string_view to_string(Action v) { return kActions[static_cast<int>(v)]; }
std::string_view to_string(EvidenceStatus v) { return kEvidenceStatuses[static_cast<int>(v)]; }

std::optional<TerminalState> terminal_state_from(std::string_view word) {
  return enum_from<TerminalState>(kTerminalStates, word);
}
std::optional<SubDomain> sub_domain_from(std::string_view word) {
  return enum_from<SubDomain>(kSubDomains, word);
}
std::optional<Action> action_from(std::string_view word) {
  return enum_from<Action>(kActions, word);
}
std::optional<EvidenceStatus> evidence_status_from(std::string_view word) {
  return enum_from<EvidenceStatus>(kEvidenceStatuses, word);
}

}  // namespace nvab
