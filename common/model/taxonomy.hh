// SPDX-License-Identifier: Apache-2.0
// The closed lists of words in a verdict and the one table that ties them together: outcome ->
// sub-domain -> domain and the advice that follows. Rules name outcomes; everything downstream
// branches on sub_domain and terminal_state. A test walks each enum.
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace nvab {

enum class TerminalState {
  completed,
  failed,
  timeout,
  cancelled,
  preempted,
  node_failure,
  out_of_memory,
  unknown
};

enum class SubDomain {
  user_code,
  user_config,
  user_data,
  framework,
  gpu_oom,
  host_memory,
  gpu_hardware,
  gpu_memory,
  gpu_driver,
  nvlink,
  network_fabric,
  storage,
  host_os,
  host_hardware,
  scheduler,
  external_service,
  user_cancel,
  time_limit,
  none,
  unknown
};

enum class Domain {
  workload,
  infrastructure,
  scheduler,
  external,
  user,
  time_limit,
  none,
  unknown
};

enum class Action {
  investigate,
  none_needed,
  requeue,
  requeue_exclude_nodes,
  fix_before_retry,
  resubmit_with_more_time,
  resubmit_with_more_memory
};

enum class EvidenceStatus { complete, partial, insufficient };

// What a symptom says about how the job ended, finer than the sub-domain: the word a rule names.
struct OutcomeRow {
  std::string_view outcome;  // "gpu_lost"
  SubDomain sub_domain;
  Action action;  // unless the rule says another
  // Whether a culprit of this kind is the node itself (its hardware, OS, link or local service);
  // false for the user's faults, memory limits of the job and central services.
  bool blames_node;
  std::string_view meaning;  // half a sentence for people
};
std::span<const OutcomeRow> outcomes();
const OutcomeRow* find_outcome(std::string_view outcome);

Domain domain_of(SubDomain sub_domain);

// How a job ended, from the scheduler's word and what the evidence says: the scheduler's word,
// except that a job whose root cause is the OOM kill of its own process is out_of_memory although
// it says FAILED, and work that was complete is completed. `outcome` may be empty (none found).
TerminalState terminal_state(std::string_view scheduler_state, std::string_view outcome);

std::string_view to_string(TerminalState value);
std::string_view to_string(SubDomain value);
std::string_view to_string(Domain value);
std::string_view to_string(Action value);
std::string_view to_string(EvidenceStatus value);
std::optional<TerminalState> terminal_state_from(std::string_view word);
std::optional<SubDomain> sub_domain_from(std::string_view word);
std::optional<Action> action_from(std::string_view word);
std::optional<EvidenceStatus> evidence_status_from(std::string_view word);

}  // namespace nvab
