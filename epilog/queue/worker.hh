// SPDX-License-Identifier: Apache-2.0
// From queue entries to attributed contexts, one round after the other: claim what is due, ask
// accounting once for all of it, and bring each entry to its end.
#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "common/base/result.hh"
#include "epilog/eca/slurm.hh"
#include "epilog/queue/contexts.hh"
#include "epilog/queue/policy.hh"
#include "epilog/queue/queue_settings.hh"
#include "epilog/queue/store.hh"
#include "epilog/summary.hh"

namespace nvab {

// A context to be judged.
struct QueueTask {
  ExecutionContext context;
  std::string trigger_id;  // the same for all hand-overs of this context
  std::vector<std::string>
      delivered;  // outputs that have the result already; those taken now added
};

// The outside of a worker; tests have their own.
struct QueueWorld {
  std::function<Result<SlurmAnswer>(const SlurmQuestion&)> look;
  // Judges and delivers; called from as many threads as there are jobs. A summary with a status of
  // attributed and a reason: some output failed.
  std::function<ContextSummary(QueueTask*)> judge;
  std::function<Time()> now;
  std::function<bool()> must_stop;  // between contexts: the runner is asked to end
  std::size_t jobs = 1;             // contexts that are judged at the same time
};

struct RoundResult {
  std::size_t claimed = 0;
  std::size_t put_off = 0;  // of those, back in the queue
};

// For one thread, which judges in further ones.
class QueueWorker {
 public:
  QueueWorker(QueueStore& store, QueueSettings settings, Policy policy, QueueWorld world)
      : store_(store),
        settings_(std::move(settings)),
        policy_(std::move(policy)),
        world_(std::move(world)) {}

  // One round of at most kMaxJobsPerCall entries. Errors: accounting or the queue's disk is away;
  // all entries are back in the queue then, as they were.
  Result<RoundResult> round();

  const RunStats& stats() const { return stats_; }
  // What happened to contexts since the last call, for summaries.
  std::vector<ContextSummary> take_summaries() { return std::move(summaries_); }

 private:
  struct Claimed {
    QueueEntry entry;
    JobHint hint;
  };
  using Group = std::vector<Claimed*>;
  // For this run accounting does not know yet what these hooks do not tell.
  bool is_early(const SlurmRun& run, const Group& group) const;
  static std::string_view wish_of(const SlurmRun& run, const Group& group);
  // Back into the queue for a moment; no try, since nothing has gone wrong.
  void wait_a_moment(const Group& group);
  std::vector<Claimed> parse(std::vector<QueueEntry> entries);
  void work_group(const SlurmRun& run, const Group& group);
  void work_locked(const SlurmRun& run, const Group& group);
  bool is_done(const std::optional<ContextMarker>& marker, const Group& group,
               std::string_view wish) const;
  ContextSummary judge_unlocked(QueueTask* task);
  void judge(const SlurmRun& run, const Group& group, QueueTask task, bool requested);
  void mark_done(const Group& group, const ContextMarker& marker);
  // counted: given up after so many tries. waiting: for others, for as long as it takes.
  // conflicted: likewise, and shown as such.
  enum class Try { counted, waiting, conflicted };
  void put_off(Claimed& claimed, const std::string& reason, Try kind = Try::counted);
  void put_off(const Group& group, const std::string& reason, Try kind = Try::counted);

  QueueStore& store_;
  QueueSettings settings_;
  Policy policy_;
  QueueWorld world_;
  std::mutex mutex_;  // held by whoever works on a context, but not while it is judged
  RunStats stats_;
  std::vector<ContextSummary> summaries_;
  RoundResult round_;
};

// What makes a run one context for the queue: cluster, raw job id, submit time. Not the context's
// own key: for its first seconds accounting does not know a task of an array as one.
std::string queue_key(const SlurmRun& run);

// How long to wait after the given number of tries: doubling, bounded. Pure.
Duration back_off(Duration first, Duration longest, int tries);

}  // namespace nvab
