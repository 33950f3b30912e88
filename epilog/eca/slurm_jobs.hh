// SPDX-License-Identifier: Apache-2.0
// From rows of accounting to execution contexts: one for each run of a job, het components as one,
// runs of a job told from other jobs that had the same id. Pure.
#pragma once

#include <string>
#include <vector>

#include "epilog/eca/sacct_rows.hh"

namespace nvab {

// One run of one job.
struct SlurmRun {
  ExecutionContext context;
  SlurmJobId id;  // array task or het job, never a step
  // Empty: accounting has said all that it will say. Else what is still to come, half a sentence;
  // the context has what is known already.
  std::string waits_for;
  // Accounting does not know owner and name yet (the first 5 s after a short job); the context then
  // has none.
  bool lacks_identity = false;
  // Job ids are used again: 0 for the newest job of this id, 1 for the one before, ...
  int older = 0;
  // Of a het job, when each component is told apart by its raw id; else one.
  std::vector<std::uint32_t> raw_ids;

  bool is_pending() const { return context.base_state() == "PENDING"; }
  bool is_settled() const { return waits_for.empty() && !lacks_identity; }
};

// All runs in the rows, by cluster, raw id and submit time. Rows that were asked for twice count
// once; steps belong to the job before them, as sacct prints them. `now` tells how fresh a row is.
std::vector<SlurmRun> runs_from_rows(const std::vector<SacctRow>& rows, Time now);

// The names by which people may ask for this run: "1234_7", the array's or het job's "1234", raw
// ids.
std::vector<std::string> names_of(const SlurmRun& run);
// The one of those names that `asked` is; components of a het job and steps come with their job.
std::string asked_name(const SlurmJobId& asked);

// The context of one step of the run alone; nothing where it has no such step.
std::optional<ExecutionContext> context_of_step(const SlurmRun& run, const std::string& step);

}  // namespace nvab
