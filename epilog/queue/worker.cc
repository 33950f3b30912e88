// SPDX-License-Identifier: Apache-2.0
// See worker.hh.
#include "epilog/queue/worker.hh"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "common/base/log.hh"
#include "common/base/text.hh"
#include "epilog/parallel.hh"

namespace nvab {
namespace {

// Somebody else is judging the context, or accounting is about to know more; looking again costs
// one call.
constexpr Duration kMomentPause = std::chrono::milliseconds(700);
// slurmctld tells accounting what a short job is called, and how it was submitted, within 5 s.
constexpr Duration kFullRowAfter = std::chrono::seconds(8);
// Accounting has the submit line, which tells of a wish that jobcomp/script does not hear of.
bool says_off(const std::string& submit_line) {
  constexpr std::string_view kOption = "--attribution";
  std::string_view before;
  for (const std::string_view word : split(submit_line, ' ')) {
    if (word == "--attribution=off" || (before == kOption && word == "off")) return true;
    before = word;
  }
  return false;
}

// Accounting has it later, and from then on in the same words.
void name_array_task(const JobHint& hint, ExecutionContext* context) {
  if (!hint.array_job_id || !hint.array_task_id) return;
  const std::string raw = std::to_string(hint.job_id);
  if (context->job_id != raw) return;
  context->job_id = to_string(hint.id());
  context->other_ids.push_back(raw);
}

Json short_verdict(const ContextSummary& summary) {
  Json json = Json::object();
  json.set("terminal_state", Json::of(to_string(summary.terminal_state)));
  json.set("sub_domain", Json::of(to_string(summary.sub_domain)));
  json.set("cause", Json::of(summary.cause));
  json.set("action", Json::of(to_string(summary.action)));
  return json;
}

}  // namespace

std::string queue_key(const SlurmRun& run) {
  const auto first = std::min_element(run.raw_ids.begin(), run.raw_ids.end());
  const ExecutionContext& context = run.context;
  const auto time = context.submit_time ? context.submit_time : context.start_time;
  return fmt::format("{}/{}/{}", context.cluster, first == run.raw_ids.end() ? run.id.job : *first,
                     time ? format_rfc3339(*time) : "");
}

Duration back_off(Duration first, Duration longest, int tries) {
  Duration pause = first;
  for (int i = 1; i < tries && pause < longest; ++i) pause *= 2;
  return std::min(pause, longest);
}

void QueueWorker::put_off(Claimed& claimed, const std::string& reason, Try kind) {
  EntryHistory& history = claimed.entry.history;
  history.reason = reason;
  ++history.tries;
  if (kind != Try::counted) history.tries = std::min(history.tries, settings_.retries - 1);
  if (history.tries >= settings_.retries) {
    ++stats_.failed;
    return store_.bury(claimed.entry,
                       fmt::format("given up after {} tries: {}", history.tries, reason));
  }
  history.not_before =
      world_.now() + back_off(settings_.retry_first, settings_.retry_longest, history.tries);
  ++round_.put_off;
  store_.put_off(claimed.entry, kind == Try::conflicted);
}

void QueueWorker::put_off(const Group& group, const std::string& reason, Try kind) {
  for (Claimed* claimed : group) put_off(*claimed, reason, kind);
}

std::vector<QueueWorker::Claimed> QueueWorker::parse(std::vector<QueueEntry> entries) {
  std::vector<Claimed> all;
  for (QueueEntry& entry : entries) {
    auto hint = job_hint_from(entry.json);
    if (!hint) {
      store_.bury(entry, hint.error().message);
      continue;
    }
    all.push_back({std::move(entry), std::move(*hint)});
  }
  return all;
}

Result<RoundResult> QueueWorker::round() {
  round_ = {};
  store_.recover();
  auto entries = store_.claim(kMaxJobsPerCall, world_.now());
  if (!entries) return tl::unexpected(std::move(entries.error()));
  round_.claimed = entries->size();
  std::vector<Claimed> all = parse(std::move(*entries));
  if (all.empty()) return round_;

  SlurmQuestion question;
  for (const Claimed& claimed : all) question.hints.push_back(claimed.hint);
  const auto answer = world_.look(question);
  if (!answer) {
    for (const Claimed& claimed : all) store_.give_back(claimed.entry);
    return tl::unexpected(answer.error());
  }
  std::map<std::size_t, Group> groups;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::optional<std::size_t> run = answer->of_hint[i];
    if (run) {
      groups[*run].push_back(&all[i]);
    } else {
      put_off(all[i], "accounting does not know the job yet");
    }
  }
  const std::vector<std::pair<std::size_t, Group>> work(groups.begin(), groups.end());
  in_parallel(work.size(), world_.jobs, [&](std::size_t item, std::size_t) {
    const std::lock_guard lock(mutex_);
    const auto& [run, group] = work[item];
    if (world_.must_stop()) {
      for (const Claimed* claimed : group) store_.give_back(claimed->entry);
    } else {
      work_group(answer->runs[run], group);
    }
  });
  return round_;
}

void QueueWorker::work_group(const SlurmRun& run, const Group& group) {
  if (!run.is_settled()) {
    return put_off(group, fmt::format("accounting does not know {} yet",
                                      run.waits_for.empty() ? "owner and name" : run.waits_for));
  }
  if (is_early(run, group)) return wait_a_moment(group);
  const auto lock = ContextLock::take(store_.folder(), queue_key(run));
  if (!lock) return put_off(group, lock.error().message);
  *lock ? work_locked(run, group) : wait_a_moment(group);
}

// A node's Epilog does not know arrays, jobcomp/script does not know what the owner asked for.
bool QueueWorker::is_early(const SlurmRun& run, const Group& group) const {
  if (!run.context.files.submit_line.empty() || !run.context.end_time) return false;
  if (world_.now() - *run.context.end_time > kFullRowAfter) return false;
  return std::none_of(group.begin(), group.end(),
                      [](const Claimed* claimed) { return claimed->hint.hook == "epilogctld"; });
}

// What the owner asked for: any hook that heard "on", and after that "off", counts. Untrusted, and
// only ever one of three words.
std::string_view QueueWorker::wish_of(const SlurmRun& run, const Group& group) {
  const auto has_heard = [&](std::string_view wish) {
    return std::any_of(group.begin(), group.end(),
                       [&](const Claimed* claimed) { return claimed->hint.attribution == wish; });
  };
  if (has_heard("on")) return "on";
  return has_heard("off") || says_off(run.context.files.submit_line) ? "off" : "auto";
}

void QueueWorker::wait_a_moment(const Group& group) {
  for (Claimed* claimed : group) {
    claimed->entry.history.not_before = world_.now() + kMomentPause;
    ++round_.put_off;
    store_.put_off(claimed->entry, false);
  }
}

// Whether what the marker says is all that these entries ask for.
bool QueueWorker::is_done(const std::optional<ContextMarker>& marker, const Group& group,
                          std::string_view wish) const {
  if (!marker) return false;
  for (const Claimed* claimed : group) {
    const auto& requeued = claimed->entry.history.requeued;
    if (requeued && marker->time < *requeued) return false;
  }
  // Of a job that was judged, or left alone, before it was known that its owner had asked.
  return wish != "on" || (marker->is_attributed && marker->requested);
}

void QueueWorker::work_locked(const SlurmRun& run, const Group& group) {
  const std::string_view wish = wish_of(run, group);
  const std::string key = queue_key(run);
  const auto marker = read_marker(marker_path(store_.folder(), key));
  if (is_done(marker, group, wish)) {
    for (const Claimed* claimed : group) store_.finish(claimed->entry);
    return;
  }
  QueueTask task;
  task.context = run.context;
  task.context.files.is_requested = wish == "on";
  for (const Claimed* claimed : group) name_array_task(claimed->hint, &task.context);
  task.trigger_id = key;
  std::optional<Time> requeued;
  for (const Claimed* claimed : group) {
    requeued = std::max(requeued, claimed->entry.history.requeued);
    const auto& had = claimed->entry.history.delivered;
    task.delivered.insert(task.delivered.end(), had.begin(), had.end());
  }
  if (requeued) {
    task.trigger_id += " again " + format_rfc3339(*requeued);
  } else if (marker) {
    task.delivered.insert(task.delivered.end(), marker->delivered.begin(), marker->delivered.end());
  }
  const std::string against = requeued ? std::string() : policy_.reason_against(run.context, wish);
  if (against.empty()) return judge(run, group, std::move(task), wish == "on");
  log_debug(fmt::format("job {} is not attributed: {}", run.context.job_id, against));
  ContextMarker done;
  done.context = key;
  done.job = task.context.job_id;
  done.time = world_.now();
  done.reason = against;
  mark_done(group, done);
}

ContextSummary QueueWorker::judge_unlocked(QueueTask* task) {
  mutex_.unlock();
  ContextSummary summary = world_.judge(task);
  mutex_.lock();
  return summary;
}

void QueueWorker::judge(const SlurmRun& run, const Group& group, QueueTask task, bool requested) {
  ++stats_.discovered;
  ++stats_.attempted;
  ContextSummary summary = judge_unlocked(&task);
  summaries_.push_back(summary);
  if (summary.status == ContextStatus::conflicted) {
    ++stats_.conflicted;
    return put_off(group, "another client holds session " + summary.attributor_id, Try::conflicted);
  }
  for (Claimed* claimed : group) claimed->entry.history.delivered = task.delivered;
  const bool has_failed = summary.status == ContextStatus::failed || !summary.reason.empty();
  if (has_failed && summary.may_pass) {
    return put_off(group, summary.reason, summary.is_outage ? Try::waiting : Try::counted);
  }
  ++stats_.attributed;
  ++stats_.succeeded;
  ContextMarker done;
  done.context = queue_key(run);
  done.job = task.context.job_id;
  done.time = world_.now();
  done.is_attributed = true;
  done.requested = requested;
  done.delivered = std::move(task.delivered);
  done.reason = summary.reason;
  done.verdict = short_verdict(summary);
  mark_done(group, done);
}

// The marker first: a runner that dies between leaves entries that find their context done.
void QueueWorker::mark_done(const Group& group, const ContextMarker& marker) {
  if (const auto written = write_marker(store_.folder(), marker); !written) {
    return put_off(group, "marking it as done: " + written.error().message);
  }
  for (const Claimed* claimed : group) store_.finish(claimed->entry);
}

}  // namespace nvab
