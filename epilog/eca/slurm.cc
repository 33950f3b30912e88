// SPDX-License-Identifier: Apache-2.0
// The component eca.slurm: jobs by id or by time, through accounting (slurm.hh).
#include "epilog/eca/slurm.hh"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "common/base/log.hh"
#include "common/base/text.hh"
#include "epilog/connector.hh"

namespace nvab {
namespace {

// A selection that says no time is about today.
constexpr Duration kDefaultSince = std::chrono::hours(24);

constexpr ParamSpec kParams[] = {
    {.name = "ids",
     .type = ParamType::list,
     .help = "Jobs: 1234, 1234_7, 1234_[1-9], 1234+1, 1234.0"},
    {.name = "since",
     .help = "Instead of ids: jobs that ended after this (RFC 3339, or 2h for two hours ago)"},
    {.name = "until", .help = "And before this"},
    {.name = "user", .type = ParamType::list, .help = "And of these users"},
    {.name = "account", .type = ParamType::list, .help = "And of these accounts"},
    {.name = "partition", .type = ParamType::list, .help = "And in these partitions"},
    {.name = "state",
     .type = ParamType::list,
     .help = "And with these states",
     .choices = "COMPLETED|FAILED|TIMEOUT|CANCELLED|NODE_FAIL|OUT_OF_MEMORY|PREEMPTED|BOOT_FAIL|"
                "DEADLINE|REQUEUED|RUNNING"},
    {.name = "failed",
     .type = ParamType::boolean,
     .fallback = "false",
     .help = "And with a state other than COMPLETED, CANCELLED and REQUEUED"},
    {.name = "wait_seconds",
     .type = ParamType::duration,
     .fallback = "10",
     .help = "How long to wait for accounting to learn how a job ended"},
    {.name = "call_timeout_seconds",
     .type = ParamType::duration,
     .fallback = "30",
     .help = "Time that one sacct has"},
    {.name = "sacct", .type = ParamType::path, .fallback = "sacct", .help = "The sacct to run"},
    {.name = "sacctmgr",
     .type = ParamType::path,
     .fallback = "sacctmgr",
     .help = "The sacctmgr to run"},
    {.name = "conf",
     .type = ParamType::path,
     .help = "slurm.conf, where SLURM_CONF does not say it"},
    {.name = "cluster", .help = "Cluster of the jobs, where it is not the local one"},
    {.name = "node_events",
     .type = ParamType::boolean,
     .fallback = "true",
     .help = "Ask sacctmgr which nodes failed"},
};

constexpr std::string_view kFailedStates[] = {
    "FAILED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED", "BOOT_FAIL", "DEADLINE"};

// "2026-03-01T10:00:00Z", "2026-03-01", or how long ago.
Result<std::optional<Time>> time_of(const ComponentSettings& settings, std::string_view param) {
  const std::string& text = settings.text(param);
  if (text.empty()) return std::nullopt;
  if (const auto ago = parse_duration(text)) {
    return std::chrono::floor<Duration>(std::chrono::system_clock::now()) - *ago;
  }
  auto time = parse_rfc3339(text);
  if (!time) time = parse_rfc3339(text + "T00:00:00Z");
  if (!time) {
    return fail(Error::Code::malformed,
                fmt::format("{} is '{}', which is no time: write 2026-03-01T10:00:00Z, 2026-03-01, "
                            "or 2h for two hours ago",
                            param, text));
  }
  return time;
}

Result<SlurmSelection> selection_of(const ComponentSettings& settings) {
  SlurmSelection selection;
  auto since = time_of(settings, "since");
  auto until = time_of(settings, "until");
  if (!since) return tl::unexpected(since.error());
  if (!until) return tl::unexpected(until.error());
  selection.since = *since;
  selection.until = *until;
  if (!selection.since) {
    const Time end = selection.until
                         ? *selection.until
                         : std::chrono::floor<Duration>(std::chrono::system_clock::now());
    selection.since = end - kDefaultSince;
  }
  selection.users = settings.list("user");
  selection.accounts = settings.list("account");
  selection.partitions = settings.list("partition");
  selection.states.insert(settings.list("state").begin(), settings.list("state").end());
  if (settings.flag("failed")) {
    selection.states.insert(std::begin(kFailedStates), std::end(kFailedStates));
  }
  return selection;
}

bool is_selecting(const ComponentSettings& settings) {
  constexpr std::string_view kSelectors[] = {"since",   "until",     "user",
                                             "account", "partition", "state"};
  const auto is_set = [&](std::string_view param) { return settings.is_set(param); };
  return settings.flag("failed") ||
         std::any_of(std::begin(kSelectors), std::end(kSelectors), is_set);
}

class SlurmContexts final : public ContextSource {
 public:
  SlurmContexts(SlurmAccess access, Duration wait) : accounting_(std::move(access)), wait_(wait) {}
  void ask(std::vector<SlurmJobId> ids) { ids_ = std::move(ids); }
  void ask(SlurmSelection selection) { selection_ = std::move(selection); }
  Result<std::vector<ExecutionContext>> discover() override;

 private:
  std::vector<ExecutionContext> contexts_of(const SlurmAnswer& answer) const;

  SlurmAccounting accounting_;
  Duration wait_;
  std::vector<SlurmJobId> ids_;
  std::optional<SlurmSelection> selection_;
};

// Of each job that was asked for, the steps; an empty one stands for the whole job.
std::map<std::string, std::set<std::string>> asked_steps(const std::vector<SlurmJobId>& ids) {
  std::map<std::string, std::set<std::string>> steps;
  for (const SlurmJobId& id : ids) steps[asked_name(id)].insert(id.step);
  return steps;
}

// The runs, and the single steps that were asked for, each once.
std::vector<ExecutionContext> SlurmContexts::contexts_of(const SlurmAnswer& answer) const {
  const auto asked = asked_steps(ids_);
  std::vector<ExecutionContext> contexts;
  for (const SlurmRun& run : answer.runs) {
    std::set<std::string> steps;
    if (ids_.empty()) steps.insert("");
    for (const std::string& name : names_of(run)) {
      const auto found = asked.find(name);
      if (found != asked.end()) steps.insert(found->second.begin(), found->second.end());
    }
    for (const std::string& step : steps) {
      auto context = step.empty() ? std::optional(run.context) : context_of_step(run, step);
      if (context) contexts.push_back(std::move(*context));
    }
    if (!run.is_settled()) {
      const std::string what = run.lacks_identity ? "its owner and name" : run.waits_for;
      log_warning(fmt::format("job {}: accounting does not know {} yet", run.context.job_id, what));
    }
  }
  return contexts;
}

Result<std::vector<ExecutionContext>> SlurmContexts::discover() {
  SlurmQuestion question;
  question.ids = ids_;
  if (selection_) {
    auto selected = accounting_.select(*selection_, {});
    if (!selected) return tl::unexpected(selected.error());
    question = std::move(*selected);
    if (question.ids.empty()) return std::vector<ExecutionContext>{};
  }
  const auto answer = accounting_.wait_for(question, wait_, {});
  if (!answer) return tl::unexpected(answer.error());
  std::vector<ExecutionContext> contexts = contexts_of(*answer);
  for (const SlurmJobId& id : answer->unknown) {
    log_warning(fmt::format("accounting knows no job {}", to_string(id)));
  }
  if (contexts.empty() && !ids_.empty()) {
    return fail(Error::Code::not_found,
                fmt::format("accounting knows no job {}{}{}", to_string(ids_.front()),
                            ids_.size() > 1 ? fmt::format(" (and {} more)", ids_.size() - 1) : "",
                            ids_.front().step.empty() ? "" : " with that step"));
  }
  return contexts;
}

Result<std::unique_ptr<ContextSource>> open_slurm(const ComponentSettings& settings, Host&) {
  auto access = slurm_access(settings);
  if (!access) return tl::unexpected(access.error());
  auto contexts =
      std::make_unique<SlurmContexts>(std::move(*access), settings.duration("wait_seconds"));
  auto ids = parse_job_ids(join(settings.list("ids"), ","));
  if (!ids) return tl::unexpected(ids.error());
  if (is_selecting(settings)) {
    if (!ids->empty()) {
      return fail(Error::Code::malformed,
                  "jobs are asked for by id or by time, user and state, not by both");
    }
    auto selection = selection_of(settings);
    if (!selection) return tl::unexpected(selection.error());
    contexts->ask(std::move(*selection));
  } else if (ids->empty()) {
    return fail(Error::Code::malformed, "it has no jobs; give -j 1234, or --since 2h");
  } else {
    contexts->ask(std::move(*ids));
  }
  return contexts;
}

}  // namespace

Result<SlurmAccess> slurm_access(const ComponentSettings& settings) {
  SlurmAccess access;
  access.sacct = settings.text("sacct");
  access.sacctmgr = settings.text("sacctmgr");
  access.conf = settings.text("conf");
  access.cluster = settings.text("cluster");
  access.call_timeout = settings.duration("call_timeout_seconds");
  access.node_events = settings.flag("node_events");
  if (access.call_timeout <= Duration{0}) {
    return fail(Error::Code::malformed, "call_timeout_seconds is 0: sacct needs some time");
  }
  return access;
}

extern const EcaComponent eca_slurm;
constinit const EcaComponent eca_slurm = {
    .spec = {.framework = "eca",
             .name = "slurm",
             .help = "Slurm jobs, by sacct",
             .params = kParams},
    .query = nullptr,
    .open = open_slurm,
};

}  // namespace nvab
