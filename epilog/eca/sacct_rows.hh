// SPDX-License-Identifier: Apache-2.0
// What `sacct -P` prints, as rows. Pure; every byte of it may have been chosen by a user.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.hh"
#include "common/model/context.hh"
#include "epilog/eca/job_ids.hh"

namespace nvab {

// A job (id.step is empty) or one of its steps.
struct SacctRow {
  SlurmJobId id;             // JobID
  std::uint32_t raw_id = 0;  // JobIDRaw without the step
  std::string cluster;
  std::string state;  // "FAILED", "CANCELLED by 1000"
  // sacct 22.05 takes 128 off codes of 128 and more: 9:0 may be exit 9 or exit 137.
  std::optional<ExitCode> exit_code, derived_exit_code;
  std::optional<Time> submit, start, end;
  std::optional<long long> time_limit_s;
  std::vector<std::string> nodes;  // by sort_hosts()
  std::optional<int> ntasks, gpus, restarts;
  std::optional<long long> uid, gid;
  std::string user, account, partition, req_mem;
  std::string reason;  // why it waited, not why it ended
  std::string name, work_dir, submit_line;
  std::string failed_node, stdout_pattern, stderr_pattern;  // newer Slurm only

  // The state without "by 1000".
  std::string_view base_state() const;
  bool is_step() const { return !id.step.empty(); }
};

// The fields to ask for, of those that this sacct has (`sacct -e`; names in any case).
std::vector<std::string> sacct_fields(const std::set<std::string>& available);

// The names that `sacct -e` prints, in lower case.
std::set<std::string> parse_field_list(std::string_view output);

// `fields` as sacct_fields gave them, `delimiter` as sacct was told: one that no user can know, so
// that a job's name cannot pretend to be other fields or rows. Rows of array tasks that still wait
// ("1234_[5-9]") are left out. Errors: malformed.
Result<std::vector<SacctRow>> parse_sacct(std::string_view output,
                                          const std::vector<std::string>& fields,
                                          std::string_view delimiter);

// "2026-03-01T10:00:00" (sacct runs with TZ=UTC); nothing for "Unknown" and "None".
std::optional<Time> parse_slurm_time(std::string_view text);

}  // namespace nvab
