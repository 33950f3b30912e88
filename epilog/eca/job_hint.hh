// SPDX-License-Identifier: Apache-2.0
// What a hook of Slurm told about the end of a job: the member `job` of a queue entry
// (epilog/handoff/entry.h). A hint and no proof, but it knows some things that accounting does not.
#pragma once

#include <optional>
#include <string>

#include "common/base/json.hh"
#include "common/model/context.hh"
#include "epilog/eca/job_ids.hh"

namespace nvab {

struct JobHint {
  std::string trigger_id, hook, host;
  std::optional<Time> time;  // when the hook ran: just after the end
  std::uint32_t job_id = 0;  // raw
  std::optional<std::uint32_t> array_job_id, array_task_id, het_job_id, het_offset;
  std::string cluster, node;
  std::string name, user, account, partition, state;
  std::optional<long long> uid, gid;
  std::vector<std::string> nodes;  // by sort_hosts()
  std::optional<int> task_count;
  // Raw: codes of 128 and more are there. 0:0 for a time limit, a cancel, a lost node.
  std::optional<ExitCode> exit_code, derived_exit_code;
  std::optional<Time> submit_time, start_time, end_time;
  std::string work_dir, stdout_pattern, stderr_pattern, submit_comment;
  bool is_batch = false;
  std::string attribution;  // "on", "auto", "off" or empty

  // As accounting calls the job: array and het ids where the hook knew them.
  SlurmJobId id() const;
};

// Reads an entry. Members of a wrong type are as if absent: an entry with a job id is never lost.
// Errors: malformed (no object, another version, no job id).
Result<JobHint> job_hint_from(const Json& entry);

// Puts what the hint knows better into the context: identity (accounting is wrong about it for the
// first seconds), raw exit codes, files. `is_settled`: accounting had its final say, so that a hint
// which contradicts it is about another run.
void apply_hint(const JobHint& hint, bool is_settled, ExecutionContext* context);

}  // namespace nvab
