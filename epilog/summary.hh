// SPDX-License-Identifier: Apache-2.0
// What a run did: counts, one line a context, and the exit code that follows.
#pragma once

#include <string>
#include <vector>

#include "common/base/json.hh"
#include "common/model/result.hh"

namespace nvab {

// Exit codes of nvab-run, documented in nvab-run(1).
inline constexpr int kExitOk = 0;
inline constexpr int kExitNoOutput = 1;       // contexts were attempted and no output succeeded
inline constexpr int kExitUsage = 2;          // the command line
inline constexpr int kExitConfiguration = 3;  // a configuration file or setting
inline constexpr int kExitIncomplete = 4;     // --strict: some evidence was not complete

struct RunStats {
  int discovered = 0, attempted = 0, attributed = 0, conflicted = 0, failed = 0, succeeded = 0;
  RunStats& operator+=(const RunStats& other);
};

enum class ContextStatus { attributed, conflicted, failed };
std::string_view to_string(ContextStatus status);

// What became of a result at one output.
struct DeliverySummary {
  std::string output;  // "output.mail"
  std::string error;   // a sentence; empty: it has it
};

struct ContextSummary {
  std::string context;  // its key
  std::string job;
  int attempt = 0;
  ContextStatus status = ContextStatus::failed;
  std::string attributor_id;  // of a conflict: the one that exists
  std::string reason;         // why it failed, or which outputs did
  bool is_outage = false;     // it failed because the service was away: not for what it is
  // Of an attributed context.
  TerminalState terminal_state = TerminalState::unknown;
  SubDomain sub_domain = SubDomain::unknown;
  Action action = Action::investigate;
  std::string cause;
  double confidence = 0;
  EvidenceStatus evidence_status = EvidenceStatus::insufficient;
  std::vector<std::string> culprit_nodes;
  bool provisional = false;
  std::vector<DeliverySummary> outputs;  // of those that wanted it
  // Of outputs that failed: that trying again may help.
  bool may_pass = true;
};

struct RunSummary {
  std::string name;   // the configuration file, or what was asked for
  std::string error;  // why the run did not start; then there are no contexts
  int exit_code = kExitOk;
  RunStats stats;
  std::vector<ContextSummary> contexts;
};

ContextSummary summarize(const AttributionResult& result);

// `last_run_stats` and `last_run_summaries` of each run, and the totals.
Json summaries_to_json(const std::vector<RunSummary>& runs);
// The same for people, on stderr: one line a context that is worth one, one line a run.
std::string summaries_to_text(const std::vector<RunSummary>& runs);

// The exit code of one run by the policy of nvab-run(1).
int exit_code_of(const RunSummary& run, bool strict);
// Of all runs: the first that is not 0, or 0.
int exit_code_of(const std::vector<RunSummary>& runs);

// --exit-code-by-action: 10 none_needed, 11 requeue, 12 requeue_exclude_nodes,
// 13 resubmit_with_more_time, 14 resubmit_with_more_memory, 15 fix_before_retry, 16 investigate.
// Of several contexts the highest: the more a person has to do, the higher.
int exit_code_of(Action action);
int exit_code_by_action(const std::vector<RunSummary>& runs);

}  // namespace nvab
