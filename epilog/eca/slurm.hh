// SPDX-License-Identifier: Apache-2.0
// Slurm's accounting: which contexts a list of job ids, a time range or hand-overs stand for. By
// `sacct` and `sacctmgr` as child processes with deadlines; libslurm, which ends the process when
// it finds no configuration, is not used.
#pragma once

#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "common/base/deadline.hh"
#include "epilog/collector.hh"
#include "epilog/eca/job_hint.hh"
#include "epilog/eca/node_events.hh"
#include "epilog/eca/slurm_jobs.hh"

namespace nvab {

struct ComponentSpec;
class ComponentSettings;

// Jobs that one call of sacct is asked for.
inline constexpr std::size_t kMaxJobsPerCall = 500;

// How to reach accounting.
struct SlurmAccess {
  std::string sacct = "sacct", sacctmgr = "sacctmgr";
  std::string conf;                                  // SLURM_CONF; empty: as we were given it
  std::string cluster;                               // --clusters; empty: the local one
  Duration call_timeout = std::chrono::seconds(30);  // of each call
  bool node_events = true;                           // ask sacctmgr which nodes failed
};

// What sacct is to print between fields. A name that holds the usual '|', a line end or anything
// else that its owner could think of does not hold this.
std::string secret_delimiter();

// Of the settings of [eca.slurm]. Errors: malformed.
Result<SlurmAccess> slurm_access(const ComponentSettings& settings);

// Jobs by what they are, not by their ids.
struct SlurmSelection {
  std::optional<Time> since, until;  // when they ended
  std::vector<std::string> users, accounts, partitions;
  std::set<std::string> states;  // Slurm's words; empty: every final state
};

struct SlurmQuestion {
  std::vector<SlurmJobId> ids;
  std::vector<JobHint> hints;
  // Not empty: only runs with these context keys count, of whatever job with the id.
  std::set<std::string> keys = {};
};

struct SlurmAnswer {
  // In the order of job ids, each run once, hints applied. Of ids without a hint: all runs of the
  // newest job with that id that have started.
  std::vector<SlurmRun> runs;
  // For each hint the run that it is about, as an index; nothing where accounting has none yet.
  std::vector<std::optional<std::size_t>> of_hint;
  // Ids of the question that accounting does not know at all.
  std::vector<SlurmJobId> unknown;

  // A run that is not settled, or a hint of a job's end that accounting has not heard of.
  bool is_settled() const;
};

// One look at accounting after another; for one thread. Costs a sacct call (0.1 s) for every
// kMaxJobsPerCall jobs, and one of sacctmgr (0.2 s) where a node may have failed.
class SlurmAccounting {
 public:
  explicit SlurmAccounting(SlurmAccess access) : access_(std::move(access)) {}

  // One look, no waiting. A run that a hint says is over and accounting says runs is not settled.
  // Errors: not_found (no sacct here), timeout, unavailable (slurmdbd does not answer), malformed
  // (what sacct printed). Trouble with sacctmgr is a warning in the log and costs node events only.
  Result<SlurmAnswer> look(const SlurmQuestion& question, Deadline deadline);
  // Looks again, with growing pauses, until the answer is settled or `wait` is over; then as it is.
  Result<SlurmAnswer> wait_for(const SlurmQuestion& question, Duration wait, Deadline deadline);
  // The jobs that ended in a time range; then look() tells the rest of them.
  Result<SlurmQuestion> select(const SlurmSelection& selection, Deadline deadline);

  int calls() const { return calls_; }  // of sacct so far

 private:
  Result<std::string> run(std::vector<std::string> argv, Deadline deadline);
  Result<std::vector<SacctRow>> fetch(const std::vector<std::string>& options, Deadline deadline);
  Result<std::vector<SacctRow>> fetch_jobs(const std::set<std::string>& ids, Deadline deadline);
  Result<std::vector<SacctRow>> fetch_all(const SlurmQuestion& question, Deadline deadline);
  std::vector<std::string> base_options() const;
  Result<void> learn_fields(Deadline deadline);
  void fetch_node_events(SlurmAnswer* answer, Deadline deadline);

  SlurmAccess access_;
  std::vector<std::string> fields_;
  int calls_ = 0;
};

}  // namespace nvab
