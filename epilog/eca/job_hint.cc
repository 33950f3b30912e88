// SPDX-License-Identifier: Apache-2.0
// See job_hint.hh.
#include "epilog/eca/job_hint.hh"

#include "common/base/hostlist.hh"
#include "common/base/text.hh"

namespace nvab {
namespace {

std::string text_of(const Json& job, std::string_view key) {
  return job.get(key).as_string().value_or(std::string());
}

std::optional<long long> count_of(const Json& job, std::string_view key) {
  const auto value = job.get(key).as_int();
  if (!value || *value < 0 || *value >= 0xfffffffe) return std::nullopt;
  return value;
}

std::optional<std::uint32_t> id_of(const Json& job, std::string_view key) {
  const auto value = count_of(job, key);
  if (!value || *value >= kMaxSlurmJobId) return std::nullopt;
  return static_cast<std::uint32_t>(*value);
}

std::optional<ExitCode> exit_of(const Json& job, std::string_view key) {
  const std::string text = text_of(job, key);
  return text.empty() ? std::nullopt : parse_exit_code(text);
}

void read_identity(const Json& job, JobHint* hint) {
  hint->array_job_id = id_of(job, "array_job_id");
  hint->array_task_id = id_of(job, "array_task_id");
  hint->het_job_id = id_of(job, "het_job_id");
  hint->het_offset = id_of(job, "het_offset");
  hint->cluster = sanitize(text_of(job, "cluster"));
  hint->node = sanitize(text_of(job, "node"));
  hint->name = sanitize(text_of(job, "name"));
  hint->user = sanitize(text_of(job, "user"));
  hint->account = sanitize(text_of(job, "account"));
  hint->partition = sanitize(text_of(job, "partition"));
  hint->uid = count_of(job, "uid");
  hint->gid = count_of(job, "gid");
}

void read_end(const Json& job, JobHint* hint) {
  hint->state = sanitize(text_of(job, "state"));
  hint->exit_code = exit_of(job, "exit_code");
  hint->derived_exit_code = exit_of(job, "derived_exit_code");
  hint->submit_time = parse_rfc3339(text_of(job, "submit_time"));
  hint->start_time = parse_rfc3339(text_of(job, "start_time"));
  hint->end_time = parse_rfc3339(text_of(job, "end_time"));
}

void read_place(const Json& job, JobHint* hint) {
  if (auto nodes = expand_hostlist(text_of(job, "node_list"))) {
    hint->nodes = std::move(*nodes);
    sort_hosts(hint->nodes);
  }
  if (const auto tasks = count_of(job, "task_count"); tasks && *tasks < 1'000'000'000) {
    hint->task_count = static_cast<int>(*tasks);
  }
  hint->work_dir = text_of(job, "work_dir");
  hint->stdout_pattern = text_of(job, "stdout");
  hint->stderr_pattern = text_of(job, "stderr");
  hint->submit_comment = sanitize(text_of(job, "comment"));
  // Only a job with a script has an input of its own.
  hint->is_batch = job.has("stdin");
  const std::string attribution = text_of(job, "attribution");
  const bool is_known = attribution == "on" || attribution == "auto" || attribution == "off";
  if (is_known) hint->attribution = attribution;
}

void prefer(const std::string& known, std::string* field) {
  if (!known.empty()) *field = known;
}

template <typename T>
void prefer(const std::optional<T>& known, std::optional<T>* field) {
  if (known) *field = known;
}

template <typename T>
void fill(const T& known, T* field) {
  if (*field == T()) *field = known;
}

// Whether sacct, which takes 128 off, would print `raw` as `shown`.
bool is_same_exit(ExitCode raw, ExitCode shown) {
  if (raw == shown) return true;
  return raw.code >= 128 && shown == ExitCode{raw.code - 128, raw.signal};
}

// The raw code wins over its cut form. One that says success where accounting knows of a failure,
// or the other way round, was asked too early or is of another run.
void prefer_exit(const std::optional<ExitCode>& raw, bool is_settled,
                 std::optional<ExitCode>* field) {
  if (!raw) return;
  if (!*field || is_same_exit(*raw, **field)) {
    *field = raw;
  } else if (!is_settled && *raw != ExitCode{}) {
    *field = raw;
  }
}

void apply_files(const JobHint& hint, JobFiles* files) {
  prefer(hint.gid, &files->gid);
  prefer(hint.work_dir, &files->work_dir);
  prefer(hint.stdout_pattern, &files->stdout_pattern);
  prefer(hint.stderr_pattern, &files->stderr_pattern);
  if (hint.array_job_id && hint.array_task_id) {
    files->array_job_id = hint.array_job_id;
    files->array_task_id = hint.array_task_id;
  }
  files->is_batch = files->is_batch || hint.is_batch;
}

}  // namespace

SlurmJobId JobHint::id() const {
  if (het_job_id) return {*het_job_id, {}, het_offset, {}};
  if (array_job_id && array_task_id) return {*array_job_id, array_task_id, {}, {}};
  return {job_id, {}, {}, {}};
}

Result<JobHint> job_hint_from(const Json& entry) {
  if (!entry.is_object()) return fail(Error::Code::malformed, "a queue entry is a JSON object");
  if (entry.get("v").as_int() != 1) {
    return fail(Error::Code::malformed, "the queue entry has another version than 1");
  }
  const Json job = entry.get("job");
  JobHint hint;
  const auto id = id_of(job, "job_id");
  if (!id || *id == 0) return fail(Error::Code::malformed, "the queue entry names no job");
  hint.job_id = *id;
  hint.trigger_id = sanitize(text_of(entry, "trigger_id"));
  hint.hook = sanitize(text_of(entry, "hook"));
  hint.host = sanitize(text_of(entry, "host"));
  hint.time = parse_rfc3339(text_of(entry, "time"));
  read_identity(job, &hint);
  read_end(job, &hint);
  read_place(job, &hint);
  return hint;
}

void apply_hint(const JobHint& hint, bool is_settled, ExecutionContext* context) {
  prefer(hint.uid, &context->uid);
  prefer(hint.user, &context->user);
  // Components of a het job each have a partition; names and accounts are the job's.
  prefer(hint.name, &context->name);
  fill(hint.account, &context->account);
  fill(hint.partition, &context->partition);
  fill(hint.cluster, &context->cluster);
  if (context->nodes.empty()) context->nodes = hint.nodes;
  if (!context->ntasks) context->ntasks = hint.task_count;
  prefer_exit(hint.exit_code, is_settled, &context->exit_code);
  prefer_exit(hint.derived_exit_code, is_settled, &context->derived_exit_code);
  apply_files(hint, &context->files);
}

}  // namespace nvab
