// SPDX-License-Identifier: Apache-2.0
// One run of one workload: what the scheduler knows. The "workload" of the HTTP API, `job.json` of
// a bundle and the database row are this, in one schema (nvab-result(5)).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/json.hh"
#include "common/base/result.hh"
#include "common/base/time.hh"

namespace nvab {

// "code:signal" as sacct prints it. sacct takes 128 off codes over 128 (137 shows as 9:0),
// Kubernetes and the epilog do not: both are kept as given.
struct ExitCode {
  int code = 0;
  int signal = 0;
  bool operator==(const ExitCode&) const = default;
};
std::optional<ExitCode> parse_exit_code(std::string_view text);  // "1:0", also a bare "1"
std::string to_string(ExitCode exit);

// A step, or for Kueue a Pod.
struct Step {
  std::string id;
  std::string name;
  std::string state;
  std::optional<ExitCode> exit_code;
  std::optional<ExitCode> derived_exit_code;
  std::optional<Time> start, end;
  std::vector<std::string> nodes;
  std::string reason;
};

// What the scheduler recorded about a node in or near the job's window (sacctmgr show event, a
// Kubernetes node condition).
struct NodeEvent {
  std::string node;
  std::optional<Time> start, end;
  std::string state;   // "DOWN*", "DRAIN", "NotReady"
  std::string reason;  // "Not responding", "Epilog error"
};

// Where the job's own files are, as far as the scheduler tells: for collectors on this machine. No
// part of the workload schema.
struct JobFiles {
  std::vector<long long> raw_ids;  // Slurm's own numbers of the job; several for a het job
  std::optional<long long> array_job_id, array_task_id;
  std::optional<long long> gid;
  std::string work_dir;
  // As submitted, with %j and the like; empty where not given or not known.
  std::string stdout_pattern, stderr_pattern;
  std::string submit_line;  // "sbatch -o x.out job.sh", quoting lost
  struct Step {
    std::string id, submit_line;  // "0", "srun -o %t.out prog"
    int ntasks = 0;
    std::vector<std::string> nodes;
  };
  std::vector<Step> steps;  // those that srun started
  std::string batch_node;   // where the script ran
  bool is_batch = false;    // it has a script, and so files of its own
  // When a later run of the job began: it writes to the same files, from their start on.
  std::optional<Time> next_run;
  // Its owner asked for a verdict (--attribution=on): a wish, and untrusted.
  bool is_requested = false;
};

// Every field may be missing; missing is never zero.
struct ExecutionContext {
  std::string scheduler;  // "slurm", "kueue" or "static"
  std::string cluster;
  std::string job_id;  // "1234", "1234_7", "ns/name"
  int attempt = 0;
  std::string name, user, account, partition;
  std::string state;  // the scheduler's word: "FAILED", "CANCELLED", "NODE_FAIL", …
  std::optional<ExitCode> exit_code, derived_exit_code;
  std::string reason;
  std::optional<Time> submit_time, start_time, end_time;
  std::optional<long long> time_limit_s;
  std::vector<std::string> nodes;  // as the scheduler spells them, expanded, by sort_hosts()
  std::optional<int> ntasks, gpus_per_node;
  std::map<std::string, std::vector<int>> gpus;  // node -> indices the job was given
  std::optional<long long> uid;
  std::string req_mem;
  std::string cancelled_by;  // "ada (uid 1000)", "0"
  std::vector<Step> steps;
  std::vector<NodeEvent> node_events;
  // Further ids under which logs name the job: raw ids of array tasks and het components.
  std::vector<std::string> other_ids;
  JobFiles files;
  Json extra;  // members of other versions: kept and written back

  // "cluster/job_id/submit_time" (start time where no submit time is known): what makes one context
  // of one attempt of one job. Job ids are reused, restart counts lie (slurm-facts 4).
  std::string key() const;
  // Whether a log that names this job id ("1234", "1234_7", "1234.0") means the job.
  bool is_called(std::string_view id) const;
  // One of `nodes`, which must be sorted by sort_hosts().
  bool has_node(std::string_view node) const;
  // Still running, as far as the scheduler says: verdicts on it are provisional.
  bool is_running() const;
  // The state without Slurm's decorations: "CANCELLED by 1000" -> "CANCELLED".
  std::string_view base_state() const;
};

// More than the largest machines have; a longer list is refused as malformed.
inline constexpr std::size_t kMaxContextBytes = 16 * 1024 * 1024;

// Reads the workload schema; bundles may say start/end for start_time/end_time, nodes may be
// hostlist expressions, job_id may be a number. Wrong types of known members are errors that name
// the member; unknown members are kept in `extra`.
Result<ExecutionContext> context_from_json(const Json& workload);
Json to_json(const ExecutionContext& context);

}  // namespace nvab
