// SPDX-License-Identifier: Apache-2.0
// See slurm_jobs.hh.
#include "epilog/eca/slurm_jobs.hh"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "common/base/hostlist.hh"
#include "common/base/text.hh"

namespace nvab {
namespace {

// slurmctld sends user and name of a job that was shorter than its cycle of 5 s after its end.
constexpr Duration kIdentityLag = std::chrono::seconds(30);
// Steps of a job that was killed are closed up to 4 s after it (KillWait), with 0:0 before that.
constexpr Duration kStepLag = std::chrono::seconds(5);
// A step that is still open after this will stay so: its node is gone.
constexpr Duration kOpenStepLag = std::chrono::seconds(60);
// A run that has ended is requeued at once, or by hand while slurmctld remembers it (MinJobAge).
constexpr Duration kRequeueLag = std::chrono::hours(24);

// A job's row with its steps' rows.
struct Attempt {
  SacctRow job;
  std::vector<SacctRow> steps;
  int number = 0;
  int older = 0;
  std::optional<Time> next_run;  // when the next run of the same job began
};

bool is_over(std::string_view state) {
  ExecutionContext context;
  context.state = state;
  return !context.is_running();
}

// ---- rows to attempts ---------------------------------------------------------------------------

// Folds the rows of a job that lost a node and went on (RESIZING) into one run.
void fold_resized(std::vector<Attempt>* attempts) {
  std::vector<Attempt> folded;
  for (Attempt& next : *attempts) {
    if (folded.empty() || folded.back().job.base_state() != "RESIZING") {
      folded.push_back(std::move(next));
      continue;
    }
    Attempt before = std::move(folded.back());
    next.job.submit = before.job.submit;
    next.job.start = before.job.start;
    next.job.nodes.insert(next.job.nodes.end(), before.job.nodes.begin(), before.job.nodes.end());
    sort_hosts(next.job.nodes);
    next.steps.insert(next.steps.begin(), before.steps.begin(), before.steps.end());
    folded.back() = std::move(next);
  }
  *attempts = std::move(folded);
}

// Owner and name of a fresh row, before slurmctld has sent them.
bool is_anonymous(const SacctRow& job) {
  return job.uid.value_or(0) == 0 && job.name == "allocation";
}

// Whether `next` is a further run of the same job, not another job under a used id.
bool is_requeue(const SacctRow& before, const SacctRow& next) {
  const std::optional<Time> end = before.end ? before.end : before.start;
  if (end && next.submit && *next.submit - *end > kRequeueLag) return false;
  if (is_anonymous(before) || is_anonymous(next)) return true;
  return before.uid == next.uid && before.name == next.name;
}

// Numbers the runs of one raw id, oldest first.
void number_attempts(std::vector<Attempt>* attempts) {
  int older = 0;
  for (std::size_t i = attempts->size(); i-- > 0;) {
    const bool is_last = i + 1 == attempts->size();
    const bool is_put_back = !is_last && is_requeue((*attempts)[i].job, (*attempts)[i + 1].job);
    if (!is_last && !is_put_back) ++older;
    (*attempts)[i].older = older;
    if (is_put_back) (*attempts)[i].next_run = (*attempts)[i + 1].job.start;
  }
  for (std::size_t i = 0; i < attempts->size(); ++i) {
    Attempt& attempt = (*attempts)[i];
    const bool goes_on = i > 0 && (*attempts)[i - 1].older == attempt.older;
    attempt.number = goes_on ? (*attempts)[i - 1].number + 1 : 0;
    if (attempt.job.restarts) attempt.number = *attempt.job.restarts;
  }
}

// By cluster and raw id, each list by submit time.
using AttemptsById = std::map<std::pair<std::string, std::uint32_t>, std::vector<Attempt>>;

AttemptsById attempts_from_rows(const std::vector<SacctRow>& rows) {
  AttemptsById by_id;
  for (const SacctRow& row : rows) {
    std::vector<Attempt>& attempts = by_id[{row.cluster, row.raw_id}];
    if (!row.is_step()) {
      attempts.push_back({row, {}, 0, 0, {}});
    } else if (!attempts.empty()) {
      attempts.back().steps.push_back(row);
    }
  }
  for (auto& [id, attempts] : by_id) {
    const auto earlier = [](const Attempt& a, const Attempt& b) {
      return a.job.submit < b.job.submit;
    };
    std::stable_sort(attempts.begin(), attempts.end(), earlier);
    // Of a row that was fetched twice, the later one knows more.
    std::vector<Attempt> once;
    for (Attempt& attempt : attempts) {
      if (!once.empty() && once.back().job.submit == attempt.job.submit) once.pop_back();
      once.push_back(std::move(attempt));
    }
    fold_resized(&once);
    number_attempts(&once);
    attempts = std::move(once);
  }
  return by_id;
}

// ---- what is still to come ----------------------------------------------------------------------

bool has_no_identity(const SacctRow& job, Time now) {
  const bool is_fresh = !job.end || now - *job.end < kIdentityLag;
  return is_fresh && is_anonymous(job);
}

bool is_step_open(const SacctRow& step, const SacctRow& job, Time now) {
  if (job.end && now - *job.end > kOpenStepLag) return false;
  return !step.end || !is_over(step.state);
}

// A step of a job that was ended has its job's state and 0:0 until its own end is known.
bool is_step_copied(const SacctRow& step, const SacctRow& job, Time now) {
  if (job.base_state() == "COMPLETED" || job.base_state() == "FAILED") return false;
  if (!job.end || now - *job.end > kStepLag) return false;
  return step.base_state() != "COMPLETED" && step.exit_code == ExitCode{};
}

std::string still_to_come(const Attempt& attempt, Time now) {
  const SacctRow& job = attempt.job;
  if (!is_over(job.state)) return {};
  for (const SacctRow& step : attempt.steps) {
    if (is_step_open(step, job, now) || is_step_copied(step, job, now)) {
      return fmt::format("the end of step {}", to_string(step.id));
    }
  }
  return {};
}

// ---- attempts to contexts
// -------------------------------------------------------------------------

Step step_of(const SacctRow& row) {
  Step step;
  step.id = to_string(row.id);
  step.name = row.name;
  step.state = row.state;
  step.exit_code = row.exit_code;
  step.derived_exit_code = row.derived_exit_code;
  step.start = row.start;
  step.end = row.end;
  step.nodes = row.nodes;
  return step;
}

// "CANCELLED by 1000" -> "1000".
std::string canceller(std::string_view state) {
  constexpr std::string_view kBy = "CANCELLED by ";
  return state.starts_with(kBy) ? std::string(state.substr(kBy.size())) : std::string();
}

// The tasks of its largest step; how many the script itself starts is not known.
std::optional<int> most_tasks(const std::vector<SacctRow>& steps) {
  std::optional<int> most;
  for (const SacctRow& step : steps) {
    if (!parse_int(step.id.step) || !step.ntasks) continue;
    most = std::max(most.value_or(0), *step.ntasks);
  }
  return most;
}

std::string first_node_of(const std::vector<SacctRow>& steps, std::string_view name) {
  for (const SacctRow& step : steps) {
    if (step.id.step == name && !step.nodes.empty()) return step.nodes.front();
  }
  return {};
}

void put_files(const Attempt& attempt, JobFiles* files) {
  const SacctRow& job = attempt.job;
  files->raw_ids = {job.raw_id};
  files->gid = job.gid;
  files->work_dir = job.work_dir;
  files->stdout_pattern = job.stdout_pattern;
  files->stderr_pattern = job.stderr_pattern;
  files->submit_line = job.submit_line;
  if (job.id.array_task) {
    files->array_job_id = job.id.job;
    files->array_task_id = *job.id.array_task;
  }
  for (const SacctRow& step : attempt.steps) {
    if (step.submit_line.empty()) continue;
    files->steps.push_back({step.id.step, step.submit_line, step.ntasks.value_or(1), step.nodes});
  }
  files->batch_node = first_node_of(attempt.steps, "batch");
  files->is_batch = !files->batch_node.empty();
  // A script that could not be started has no step; whoever used sbatch had a script.
  const std::string_view line = trim(job.submit_line);
  const std::string_view program = line.substr(0, line.find(' '));
  files->is_batch = files->is_batch || program == "sbatch" || program.ends_with("/sbatch");
  if (files->batch_node.empty() && !job.nodes.empty()) files->batch_node = job.nodes.front();
}

void put_identity(const SacctRow& job, bool is_known, ExecutionContext* c) {
  c->partition = job.partition;
  c->account = job.account;
  // root's files are read for root's jobs alone: who it is not yet known to be is nobody.
  if (!is_known) return;
  c->name = job.name;
  c->user = job.user;
  c->uid = job.uid;
}

void put_end(const SacctRow& job, ExecutionContext* c) {
  c->state = std::string(job.base_state());
  c->cancelled_by = canceller(job.state);
  c->exit_code = job.exit_code;
  c->derived_exit_code = job.derived_exit_code;
  // Accounting keeps why the job waited; for one that never started that is the answer.
  if (!job.start && job.reason != "None") c->reason = job.reason;
  c->submit_time = job.submit;
  c->start_time = job.start;
  c->end_time = job.end;
  c->time_limit_s = job.time_limit_s;
}

ExecutionContext context_of(const Attempt& attempt, Time now) {
  const SacctRow& job = attempt.job;
  ExecutionContext c;
  c.scheduler = "slurm";
  c.cluster = job.cluster;
  c.job_id = to_string(job.id);
  c.attempt = attempt.number;
  put_identity(job, !has_no_identity(job, now), &c);
  put_end(job, &c);
  c.nodes = job.nodes;
  c.ntasks = most_tasks(attempt.steps);
  const int nodes = static_cast<int>(std::max<std::size_t>(1, job.nodes.size()));
  if (job.gpus && *job.gpus % nodes == 0) c.gpus_per_node = *job.gpus / nodes;
  c.req_mem = job.req_mem;
  for (const SacctRow& step : attempt.steps) c.steps.push_back(step_of(step));
  if (!job.failed_node.empty()) {
    c.node_events.push_back({job.failed_node, job.end, {}, "DOWN", "Slurm says that it failed"});
  }
  if (std::to_string(job.raw_id) != c.job_id) c.other_ids.push_back(std::to_string(job.raw_id));
  put_files(attempt, &c.files);
  c.files.next_run = attempt.next_run;
  return c;
}

SlurmRun run_of(const Attempt& attempt, Time now) {
  SlurmRun run;
  run.context = context_of(attempt, now);
  run.id = attempt.job.id;
  run.waits_for = still_to_come(attempt, now);
  run.lacks_identity = has_no_identity(attempt.job, now);
  run.older = attempt.older;
  run.raw_ids = {attempt.job.raw_id};
  return run;
}

// ---- het jobs -----------------------------------------------------------------------------------

// The lower, the more it says about why the whole ended: a component that only ended because
// another did is cancelled or has that one's exit code.
int weight_of(std::string_view state) {
  constexpr std::string_view kOrder[] = {"NODE_FAIL", "BOOT_FAIL", "OUT_OF_MEMORY",
                                         "TIMEOUT",   "DEADLINE",  "PREEMPTED",
                                         "FAILED",    "CANCELLED", "COMPLETED"};
  const auto* found = std::find(std::begin(kOrder), std::end(kOrder), state);
  return static_cast<int>(found - std::begin(kOrder));
}

// The component whose end is the job's: one that still runs, else the one that says most; of
// several, the first.
const SlurmRun& leading(const std::vector<SlurmRun>& components) {
  const auto rank = [](const SlurmRun& run) {
    const bool is_open = run.context.is_running();
    return is_open ? -1 : weight_of(run.context.base_state());
  };
  return *std::min_element(components.begin(), components.end(),
                           [&](const SlurmRun& a, const SlurmRun& b) { return rank(a) < rank(b); });
}

// A component as a line among the steps.
Step component_step(const SlurmRun& run, const SlurmRun& leader) {
  const ExecutionContext& c = run.context;
  Step step;
  step.id = to_string(run.id);
  step.name = c.name;
  step.state = c.state;
  step.exit_code = c.exit_code;
  step.derived_exit_code = c.derived_exit_code;
  step.start = c.start_time;
  step.end = c.end_time;
  step.nodes = c.nodes;
  if (&run != &leader && !c.is_running()) step.reason = "ended with " + to_string(leader.id);
  return step;
}

void add_component(const SlurmRun& run, SlurmRun* whole) {
  ExecutionContext& c = whole->context;
  const ExecutionContext& part = run.context;
  c.nodes.insert(c.nodes.end(), part.nodes.begin(), part.nodes.end());
  c.steps.insert(c.steps.end(), part.steps.begin(), part.steps.end());
  c.node_events.insert(c.node_events.end(), part.node_events.begin(), part.node_events.end());
  if (part.ntasks) c.ntasks = c.ntasks.value_or(0) + *part.ntasks;
  if (part.end_time && (!c.end_time || *c.end_time < *part.end_time)) c.end_time = part.end_time;
  if (part.start_time && (!c.start_time || *part.start_time < *c.start_time)) {
    c.start_time = part.start_time;
  }
  c.files.steps.insert(c.files.steps.end(), part.files.steps.begin(), part.files.steps.end());
  if (whole->waits_for.empty()) whole->waits_for = run.waits_for;
  whole->lacks_identity = whole->lacks_identity || run.lacks_identity;
  whole->raw_ids.push_back(run.raw_ids.front());
  c.other_ids.push_back(std::to_string(run.raw_ids.front()));
}

// `components` are the runs of one attempt, by offset.
SlurmRun join_components(const std::vector<SlurmRun>& components) {
  const SlurmRun& leader = leading(components);
  SlurmRun whole = components.front();  // the script is its
  ExecutionContext& c = whole.context;
  whole.id = {whole.id.job, {}, {}, {}};
  c.job_id = to_string(whole.id);
  c.state = leader.context.state;
  c.reason = leader.context.reason;
  c.exit_code = leader.context.exit_code;
  c.derived_exit_code = leader.context.derived_exit_code;
  c.cancelled_by = leader.context.cancelled_by;
  c.nodes.clear();
  c.steps.clear();
  c.node_events.clear();
  c.other_ids.clear();
  c.ntasks.reset();
  c.gpus_per_node.reset();
  c.files.steps.clear();
  whole.raw_ids.clear();
  for (const SlurmRun& run : components) c.steps.push_back(component_step(run, leader));
  for (const SlurmRun& run : components) add_component(run, &whole);
  sort_hosts(c.nodes);
  c.files.raw_ids.assign(whole.raw_ids.begin(), whole.raw_ids.end());
  return whole;
}

}  // namespace

std::vector<SlurmRun> runs_from_rows(const std::vector<SacctRow>& rows, Time now) {
  std::vector<SlurmRun> runs;
  // cluster, het job, how old, attempt
  std::map<std::tuple<std::string, std::uint32_t, int, int>, std::vector<SlurmRun>> het;
  for (const auto& [id, attempts] : attempts_from_rows(rows)) {
    for (const Attempt& attempt : attempts) {
      SlurmRun run = run_of(attempt, now);
      if (run.id.het_offset) {
        het[{id.first, run.id.job, attempt.older, attempt.number}].push_back(std::move(run));
      } else {
        runs.push_back(std::move(run));
      }
    }
  }
  for (auto& [key, components] : het) {
    std::sort(components.begin(), components.end(), [](const SlurmRun& a, const SlurmRun& b) {
      return a.id.het_offset < b.id.het_offset;
    });
    runs.push_back(join_components(components));
  }
  return runs;
}

std::vector<std::string> names_of(const SlurmRun& run) {
  std::vector<std::string> names = {to_string(run.id)};
  // The last task of an array has the array's id as its own: who asks for that means the array.
  if (run.id.array_task) names.push_back(std::to_string(run.id.job));
  for (const std::uint32_t raw : run.raw_ids) names.push_back(std::to_string(raw));
  return names;
}

std::string asked_name(const SlurmJobId& asked) {
  return to_string(SlurmJobId{asked.job, asked.array_task, {}, {}});
}

namespace {

// Slurm calls a step that a signal ended CANCELLED, whoever sent it. Where nobody did, it failed,
// or went down with its job.
std::string state_of_step(const Step& step, const ExecutionContext& job) {
  const std::string state = step.state.substr(0, step.state.find(' '));
  if (state != "CANCELLED" || step.state != state) return state;
  const std::string_view whole = job.base_state();
  return whole == "COMPLETED" || job.is_running() ? "FAILED" : std::string(whole);
}

}  // namespace

std::optional<ExecutionContext> context_of_step(const SlurmRun& run, const std::string& step) {
  // A step over several components of a het job has a row in each: the one that says most counts.
  const Step* leader = nullptr;
  ExecutionContext c = run.context;
  c.nodes.clear();
  c.steps.clear();
  for (const Step& candidate : run.context.steps) {
    const auto id = parse_job_id(candidate.id);
    if (!id || id->step != step) continue;
    c.steps.push_back(candidate);
    c.nodes.insert(c.nodes.end(), candidate.nodes.begin(), candidate.nodes.end());
    const auto weight = [](const Step& s) {
      return weight_of(s.state.substr(0, s.state.find(' ')));
    };
    if (leader == nullptr || weight(candidate) < weight(*leader)) leader = &candidate;
  }
  if (leader == nullptr) return std::nullopt;
  sort_hosts(c.nodes);
  c.job_id += '.' + step;
  if (!leader->name.empty()) c.name = leader->name;
  c.cancelled_by = canceller(leader->state);
  c.state = state_of_step(*leader, run.context);
  c.exit_code = leader->exit_code;
  c.derived_exit_code.reset();
  c.start_time = leader->start;
  c.end_time = leader->end;
  return c;
}

}  // namespace nvab
