// SPDX-License-Identifier: Apache-2.0
// See slurm.hh: calls of sacct and sacctmgr, and what their answers mean for a question.
#include <fmt/core.h>
#include <sys/random.h>

#include <algorithm>
#include <map>
#include <thread>

#include "common/base/log.hh"
#include "common/base/subprocess.hh"
#include "common/base/text.hh"
#include "epilog/eca/slurm.hh"

namespace nvab {
namespace {

// Accounting is 0.02 to 0.25 s behind a job's end, seldom more: look soon, then ever less often.
constexpr Duration kFirstPause = std::chrono::milliseconds(200);
constexpr Duration kLongestPause = std::chrono::seconds(2);
// Clocks of nodes and controller differ a little, and Slurm's times have whole seconds.
constexpr Duration kClockSlack = std::chrono::seconds(1);

Time now() { return std::chrono::floor<Duration>(std::chrono::system_clock::now()); }

// raw id -> runs, in the order of submit times
using RunsById = std::map<std::uint32_t, std::vector<std::size_t>>;

RunsById index_runs(const std::vector<SlurmRun>& runs) {
  RunsById by_id;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    for (const std::uint32_t raw : runs[i].raw_ids) by_id[raw].push_back(i);
  }
  return by_id;
}

// The run that was there when the hook ran: the last one that had started.
std::optional<std::size_t> run_of_hint(const JobHint& hint, const std::vector<SlurmRun>& runs,
                                       const RunsById& by_id) {
  const auto found = by_id.find(hint.job_id);
  if (found == by_id.end()) return std::nullopt;
  std::optional<std::size_t> best, first;
  for (const std::size_t i : found->second) {
    const ExecutionContext& c = runs[i].context;
    if (!hint.cluster.empty() && !c.cluster.empty() && hint.cluster != c.cluster) continue;
    if (hint.submit_time && c.submit_time == hint.submit_time) return i;
    const std::optional<Time> since = c.start_time ? c.start_time : c.submit_time;
    if (!since || !hint.time || *since <= *hint.time + kClockSlack) {
      best = i;
    } else if (!first) {
      first = i;
    }
  }
  return best ? best : first;
}

// A hook only runs when the job is over.
void apply_to_run(const JobHint& hint, SlurmRun* run) {
  if (run->context.is_running() && run->waits_for.empty()) run->waits_for = "the end of the job";
  apply_hint(hint, run->is_settled(), &run->context);
  if (run->context.uid) run->lacks_identity = false;
}

// The runs that the question's ids or keys are about.
std::vector<bool> wanted_of(const SlurmQuestion& question, const std::vector<SlurmRun>& runs) {
  std::set<std::string> asked;
  for (const SlurmJobId& id : question.ids) asked.insert(asked_name(id));
  std::vector<bool> wanted;
  for (const SlurmRun& run : runs) {
    const auto is_asked = [&](const std::string& name) { return asked.count(name) > 0; };
    const std::vector<std::string> names = names_of(run);
    wanted.push_back(question.keys.empty()
                         ? run.older == 0 && std::any_of(names.begin(), names.end(), is_asked)
                         : question.keys.count(run.context.key()) > 0);
  }
  return wanted;
}

// A run that only waits says nothing beside one that ran.
void drop_pending(const std::vector<SlurmRun>& runs, std::vector<bool>* keep) {
  const auto id_of = [](const SlurmRun& run) {
    return std::make_pair(run.context.cluster, run.raw_ids.front());
  };
  std::set<std::pair<std::string, std::uint32_t>> started;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if ((*keep)[i] && !runs[i].is_pending()) started.insert(id_of(runs[i]));
  }
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (runs[i].is_pending() && started.count(id_of(runs[i])) > 0) (*keep)[i] = false;
  }
}

std::vector<SlurmJobId> unknown_of(const SlurmQuestion& question,
                                   const std::vector<SlurmRun>& runs) {
  std::set<std::string> known;
  for (const SlurmRun& run : runs) {
    for (std::string& name : names_of(run)) known.insert(std::move(name));
  }
  std::vector<SlurmJobId> unknown;
  for (const SlurmJobId& id : question.ids) {
    if (known.count(asked_name(id)) == 0) unknown.push_back(id);
  }
  return unknown;
}

// Keeps the runs that the question is about, with the hints put into them.
SlurmAnswer answer_from(const SlurmQuestion& question, std::vector<SlurmRun> runs) {
  SlurmAnswer answer;
  answer.unknown = unknown_of(question, runs);
  std::vector<bool> keep = wanted_of(question, runs);
  drop_pending(runs, &keep);
  std::vector<std::optional<std::size_t>> of_hint;
  const RunsById by_id = index_runs(runs);
  for (const JobHint& hint : question.hints) {
    of_hint.push_back(run_of_hint(hint, runs, by_id));
    if (!of_hint.back()) continue;
    apply_to_run(hint, &runs[*of_hint.back()]);
    keep[*of_hint.back()] = true;
  }
  std::vector<std::size_t> place(runs.size());
  for (std::size_t i = 0; i < runs.size(); ++i) {
    place[i] = answer.runs.size();
    if (keep[i]) answer.runs.push_back(std::move(runs[i]));
  }
  for (const auto& index : of_hint) {
    answer.of_hint.push_back(index ? std::optional(place[*index]) : std::nullopt);
  }
  return answer;
}

Error explain(Error error, const std::string& program) {
  if (error.code == Error::Code::not_found) {
    error.message =
        program +
        " is not installed here: run this where Slurm's commands are, or set [eca.slurm] " +
        (program.ends_with("sacctmgr") ? "sacctmgr" : "sacct");
  } else if (error.code == Error::Code::timeout) {
    error.message += ": slurmdbd may hang; see [eca.slurm] call_timeout_seconds";
  }
  return error;
}

std::string slurm_time(Time time) {
  return format_rfc3339(std::chrono::floor<std::chrono::seconds>(time)).substr(0, 19);
}

bool ended_in(const SlurmSelection& selection, const SlurmRun& run) {
  const ExecutionContext& c = run.context;
  const std::string state(c.base_state());
  if (!selection.states.empty() && selection.states.count(state) == 0) return false;
  if (c.is_running()) return selection.states.count(state) > 0;
  if (!c.end_time) return false;
  return (!selection.since || *c.end_time >= *selection.since) &&
         (!selection.until || *c.end_time <= *selection.until);
}

}  // namespace

std::string secret_delimiter() {
  std::uint64_t number = 0;
  if (::getrandom(&number, sizeof number, 0) != static_cast<ssize_t>(sizeof number)) {
    number = static_cast<std::uint64_t>(now().time_since_epoch().count());
  }
  return fmt::format("\x1f{:016x}\x1f", number);
}

bool SlurmAnswer::is_settled() const {
  const bool all =
      std::all_of(of_hint.begin(), of_hint.end(), [](const auto& i) { return i.has_value(); });
  return all && std::all_of(runs.begin(), runs.end(),
                            [](const SlurmRun& run) { return run.is_settled(); });
}

Result<std::string> SlurmAccounting::run(std::vector<std::string> argv, Deadline deadline) {
  Command command;
  command.argv = std::move(argv);
  command.keep = {"SLURM_CONF"};
  if (!access_.conf.empty()) command.environment = {"SLURM_CONF=" + access_.conf};
  command.deadline = Deadline::after(access_.call_timeout).earlier(deadline);
  auto end = run_command(command);
  if (!end) return tl::unexpected(explain(std::move(end.error()), command.argv[0]));
  if (!end->succeeded()) return tl::unexpected(command_failure(command, *end));
  return std::move(end->output);
}

Result<void> SlurmAccounting::learn_fields(Deadline deadline) {
  if (!fields_.empty()) return {};
  auto list = run({access_.sacct, "--helpformat"}, deadline);
  if (!list) return tl::unexpected(std::move(list.error()));
  fields_ = sacct_fields(parse_field_list(*list));
  return {};
}

std::vector<std::string> SlurmAccounting::base_options() const {
  std::vector<std::string> options = {"--noheader", "--parsable2", "--allusers", "--duplicates"};
  if (!access_.cluster.empty()) options.push_back("--clusters=" + access_.cluster);
  return options;
}

Result<std::vector<SacctRow>> SlurmAccounting::fetch(const std::vector<std::string>& options,
                                                     Deadline deadline) {
  if (auto learned = learn_fields(deadline); !learned) return tl::unexpected(learned.error());
  const std::string delimiter = secret_delimiter();
  std::vector<std::string> argv = {access_.sacct};
  for (std::string& option : base_options()) argv.push_back(std::move(option));
  argv.push_back("--delimiter=" + delimiter);
  argv.push_back("--format=" + join(fields_, ","));
  argv.insert(argv.end(), options.begin(), options.end());
  ++calls_;
  const auto output = run(std::move(argv), deadline);
  if (!output) return tl::unexpected(output.error());
  return parse_sacct(*output, fields_, delimiter);
}

Result<std::vector<SacctRow>> SlurmAccounting::fetch_jobs(const std::set<std::string>& ids,
                                                          Deadline deadline) {
  std::vector<SacctRow> rows;
  auto next = ids.begin();
  while (next != ids.end()) {
    std::vector<std::string> some;
    for (; next != ids.end() && some.size() < kMaxJobsPerCall; ++next) some.push_back(*next);
    auto more = fetch({"--jobs=" + join(some, ",")}, deadline);
    if (!more) return more;
    rows.insert(rows.end(), std::make_move_iterator(more->begin()),
                std::make_move_iterator(more->end()));
  }
  return rows;
}

// Of a component's own id, sacct shows that component only: the others are asked for afterwards.
Result<std::vector<SacctRow>> SlurmAccounting::fetch_all(const SlurmQuestion& question,
                                                         Deadline deadline) {
  std::set<std::string> ids;
  for (const SlurmJobId& id : question.ids) ids.insert(asked_name(id));
  for (const JobHint& hint : question.hints) ids.insert(asked_name(hint.id()));
  auto rows = fetch_jobs(ids, deadline);
  if (!rows) return rows;
  std::set<std::string> whole;
  for (const SacctRow& row : *rows) {
    const std::string name = std::to_string(row.id.job);
    if (row.id.het_offset && ids.count(name) == 0) whole.insert(name);
  }
  auto more = fetch_jobs(whole, deadline);
  if (!more) return more;
  rows->insert(rows->end(), std::make_move_iterator(more->begin()),
               std::make_move_iterator(more->end()));
  return rows;
}

void SlurmAccounting::fetch_node_events(SlurmAnswer* answer, Deadline deadline) {
  std::vector<const ExecutionContext*> contexts;
  for (const SlurmRun& run : answer->runs) {
    if (wants_node_events(run.context)) contexts.push_back(&run.context);
  }
  if (contexts.empty() || !access_.node_events) return;
  std::vector<std::string> argv = {access_.sacctmgr, "-n", "-P", "show", "event"};
  if (!access_.cluster.empty()) argv.push_back("clusters=" + access_.cluster);
  for (std::string& option : node_event_options(contexts)) argv.push_back(std::move(option));
  const auto output = run(std::move(argv), deadline);
  if (!output) return log_warning("asking which nodes failed: " + output.error().message);
  const auto events = parse_node_events(*output);
  for (SlurmRun& run : answer->runs) {
    if (wants_node_events(run.context)) add_node_events(events, &run.context);
  }
}

Result<SlurmAnswer> SlurmAccounting::look(const SlurmQuestion& question, Deadline deadline) {
  const auto rows = fetch_all(question, deadline);
  if (!rows) return fail("asking accounting", rows.error());
  SlurmAnswer answer = answer_from(question, runs_from_rows(*rows, now()));
  fetch_node_events(&answer, deadline);
  return answer;
}

Result<SlurmAnswer> SlurmAccounting::wait_for(const SlurmQuestion& question, Duration wait,
                                              Deadline deadline) {
  const Deadline patience = Deadline::after(wait).earlier(deadline);
  Duration pause = kFirstPause;
  for (;;) {
    auto answer = look(question, deadline);
    if (!answer || answer->is_settled() || patience.passed()) return answer;
    std::this_thread::sleep_for(std::min(pause, patience.left()));
    pause = std::min(pause * 2, kLongestPause);
  }
}

Result<SlurmQuestion> SlurmAccounting::select(const SlurmSelection& selection, Deadline deadline) {
  std::vector<std::string> options = {"--allocations"};
  const auto add = [&](const char* option, const std::vector<std::string>& values) {
    if (!values.empty()) options.push_back(option + join(values, ","));
  };
  if (selection.since) options.push_back("--starttime=" + slurm_time(*selection.since));
  if (selection.until) {
    options.push_back("--endtime=" + slurm_time(*selection.until + std::chrono::seconds(1)));
  }
  add("--user=", selection.users);
  add("--accounts=", selection.accounts);
  add("--partition=", selection.partitions);
  const auto rows = fetch(options, deadline);
  if (!rows) return fail("listing jobs", rows.error());
  SlurmQuestion question;
  std::set<std::string> seen;
  for (const SlurmRun& run : runs_from_rows(*rows, now())) {
    if (!ended_in(selection, run)) continue;
    question.keys.insert(run.context.key());
    if (seen.insert(to_string(run.id)).second) question.ids.push_back(run.id);
  }
  if (question.ids.size() > kMaxAskedJobs) {
    return fail(Error::Code::unavailable,
                fmt::format("{} jobs ended in that time, more than are judged in one call ({}); "
                            "narrow it by time, user or state",
                            question.ids.size(), kMaxAskedJobs));
  }
  return question;
}

}  // namespace nvab
