// SPDX-License-Identifier: Apache-2.0
// See run_queue.hh.
#include "epilog/run_queue.hh"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <mutex>

#include "common/base/log.hh"
#include "epilog/eca/slurm.hh"
#include "epilog/interrupt.hh"
#include "epilog/prepared_run.hh"
#include "epilog/queue/node.hh"
#include "epilog/queue/node_sender.hh"
#include "epilog/queue/status.hh"
#include "epilog/queue/sweep.hh"
#include "epilog/queue/watch.hh"
#include "epilog/queue/worker.hh"

namespace nvab {
namespace {

// While accounting or the disk is away: the first pause of --watch, and the longest.
constexpr Duration kOutagePause = std::chrono::seconds(1);
constexpr Duration kLongestOutagePause = std::chrono::minutes(1);
// How often --watch removes what is old.
constexpr Duration kTidyEvery = std::chrono::hours(1);

Time now() { return std::chrono::floor<Duration>(std::chrono::system_clock::now()); }

// Task records are called JOB.STEP....ndjson; whatever else lies in the spool is not ours.
bool is_task_record(std::string_view name) { return name.ends_with(".ndjson"); }

// Asked by --watch's own handlers, or by those that end sessions of a service.
bool must_stop() { return QueueWatch::must_stop() || interrupted_by() != 0; }

class QueueRun {
 public:
  QueueRun(PreparedRun& run, SlurmAccess access, const RunOptions& options)
      : run_(run),
        options_(options),
        settings_(QueueSettings::from(run.settings.section("queue"))),
        accounting_(std::move(access)),
        patience_(run.settings.component("eca", "slurm").duration("wait_seconds")),
        free_(run.lanes()) {}
  RunSummary run();

 private:
  Result<void> start();
  Result<void> start_node();
  Result<RoundResult> round();
  Result<void> work();
  Result<void> watch();
  Result<void> sweep_now();
  Duration idle_pause() const;
  void tidy();
  void report();
  ContextSummary judge(QueueTask* task);
  Lane take_lane();
  void give_lane(const Lane& lane);

  PreparedRun& run_;
  const RunOptions& options_;
  QueueSettings settings_;
  SlurmAccounting accounting_;
  Duration patience_;
  std::unique_ptr<QueueStore> store_;
  std::optional<QueueWorker> worker_;
  std::optional<NodeSender> sender_;
  std::optional<NodeWorker> node_;
  std::optional<Time> tidied_, swept_;
  std::mutex free_mutex_;
  std::vector<Lane> free_;  // as many as there are threads that judge
  RunSummary summary_;
};

Lane QueueRun::take_lane() {
  const std::lock_guard lock(free_mutex_);
  const Lane lane = free_.back();
  free_.pop_back();
  return lane;
}

void QueueRun::give_lane(const Lane& lane) {
  const std::lock_guard lock(free_mutex_);
  free_.push_back(lane);
}

// Called from as many threads as there are lanes.
ContextSummary QueueRun::judge(QueueTask* task) {
  const Lane lane = take_lane();
  RunStats stats;
  stats.discovered = 1;
  // The run has no end here: each job has the time that a run of its own would have.
  const Duration whole = run_.settings.section("run").duration("deadline_seconds");
  if (whole > Duration{0}) lane.pipeline->deadline = Deadline::after(whole);
  Delivery delivery{task->trigger_id, std::move(task->delivered)};
  ContextSummary summary =
      run_context(*lane.pipeline, *lane.host, task->context, &stats, &delivery);
  give_lane(lane);
  task->delivered = std::move(delivery.delivered);
  return summary;
}

Result<void> QueueRun::start() {
  auto store = QueueStore::open(settings_.path);
  if (!store) return tl::unexpected(std::move(store.error()));
  store_ = std::move(*store);
  if (options_.node) return start_node();
  for (const Lane& lane : free_) lane.pipeline->must_stop = must_stop;
  worker_.emplace(
      *store_, settings_, Policy::from(run_.settings.section("policy")),
      QueueWorld{.look = [this](const SlurmQuestion& q) { return accounting_.look(q, {}); },
                 .judge = [this](QueueTask* task) { return judge(task); },
                 .now = now,
                 .must_stop = must_stop,
                 .jobs = free_.size()});
  return {};
}

Result<void> QueueRun::start_node() {
  SendEvidence send;
  if (!run_.settings.section("run").text("service_url").empty()) {
    auto options = service_options(run_.settings.section("run"));
    if (!options) return tl::unexpected(std::move(options.error()));
    sender_.emplace(std::move(*options), run_.pipeline, run_.host);
    send = [this](const JobHint& hint) { return sender_->send(hint); };
  }
  node_.emplace(*store_, settings_,
                NodeEvidence{run_.settings.section("run").text("spool"), settings_.node_share,
                             run_.host.root + "/dev/kmsg"},
                std::move(send));
  return node_->check();
}

void QueueRun::report() {
  if (!worker_) return;
  for (ContextSummary& context : worker_->take_summaries()) {
    const std::string end = context.status == ContextStatus::attributed
                                ? fmt::format("{} / {}", to_string(context.terminal_state),
                                              to_string(context.sub_domain))
                                : context.reason;
    log_info(fmt::format("job {}: {}, {}", context.job, to_string(context.status), end));
    // What --watch does in a year does not fit into a summary.
    if (options_.queue == QueueMode::work) summary_.contexts.push_back(std::move(context));
  }
}

Result<RoundResult> QueueRun::round() {
  auto done = node_ ? node_->round(now()) : worker_->round();
  report();
  return done;
}

// Until nothing is left that is due soon: entries wait a moment for accounting.
Result<void> QueueRun::work() {
  const Deadline patience = Deadline::after(patience_);
  while (!must_stop()) {
    auto done = round();
    if (!done) return tl::unexpected(std::move(done.error()));
    if (done->claimed > done->put_off) continue;
    const auto due = store_->next_due(now());
    if (!due) {
      if (done->claimed == 0) return {};
      continue;
    }
    const Duration pause = std::max(Duration{0}, *due - now());
    if (pause > patience.left()) return {};
    ::usleep(static_cast<useconds_t>(std::min<long long>(pause.count() + 1000, 900'000)));
  }
  return {};
}

void QueueRun::tidy() {
  if (tidied_ && now() - *tidied_ < kTidyEvery) return;
  tidied_ = now();
  const Time ever = Time::min();
  const Time keep = settings_.keep > Duration{0} ? now() - settings_.keep : ever;
  const Time keep_spool = settings_.keep_spool > Duration{0} ? now() - settings_.keep_spool : ever;
  int count = tidy_queue(settings_.path, now(), keep);
  count += prune_folder(run_.settings.section("run").text("spool"), keep_spool, is_task_record);
  if (count > 0) log_info(fmt::format("{} old files were removed", count));
}

Result<void> QueueRun::sweep_now() {
  swept_ = now();
  const SweepWorld world = {
      .select = [this](const SlurmSelection& s) { return accounting_.select(s, {}); },
      .look = [this](const SlurmQuestion& q) { return accounting_.look(q, {}); },
      .now = now()};
  auto found = sweep(settings_.path, settings_.sweep_back, world);
  if (!found) return tl::unexpected(std::move(found.error()));
  log_info(fmt::format("the sweep found {} jobs that nobody had handed over", *found));
  return {};
}

Duration QueueRun::idle_pause() const {
  Duration pause = settings_.poll;
  if (const auto due = store_->next_due(now())) pause = std::min(pause, *due - now());
  return std::max(pause, Duration{0});
}

Result<void> QueueRun::watch() {
  auto watch = QueueWatch::start(settings_.path);
  if (!watch) return tl::unexpected(std::move(watch.error()));
  Duration outage{0};
  while (!must_stop()) {
    tidy();
    const bool is_sweep_due = worker_ && settings_.sweep_every > Duration{0} &&
                              (!swept_ || now() - *swept_ >= settings_.sweep_every);
    if (is_sweep_due) {
      if (auto swept = sweep_now(); !swept) log_error(swept.error().message);
    }
    auto done = round();
    if (!done) {
      // The same outage is told once.
      outage == Duration{0} ? log_error(done.error().message) : log_debug(done.error().message);
      outage = std::clamp(outage * 2, kOutagePause, kLongestOutagePause);
      watch->wait(Duration{0});
      const Deadline over = Deadline::after(outage);
      while (!over.passed() && !must_stop()) watch->wait(over.left());
      continue;
    }
    outage = Duration{0};
    if (done->claimed > done->put_off) continue;
    if (watch->wait(idle_pause())) {
      // What the other hooks say of the job comes within this time, and costs one call with it.
      const Deadline gathered = Deadline::after(settings_.gather);
      while (!gathered.passed() && !must_stop()) watch->wait(gathered.left());
    }
  }
  return {};
}

RunSummary QueueRun::run() {
  summary_.name = run_.pipeline.name;
  Result<void> done = start();
  if (done) {
    switch (options_.queue) {
      case QueueMode::watch:
        done = watch();
        break;
      case QueueMode::sweep:
        done = sweep_now();
        if (done) done = work();
        break;
      default:
        done = work();
        tidy();
        break;
    }
  }
  if (worker_) summary_.stats = worker_->stats();
  if (!done) {
    summary_.error = done.error().message;
    summary_.exit_code = kExitNoOutput;
  }
  if (done) summary_.exit_code = exit_code_of(summary_, run_.pipeline.strict);
  return summary_;
}

}  // namespace

RunSummary run_queue(const std::string& config, const RunOptions& options) {
  RunSummary failed;
  failed.name = config.empty() ? "queue" : config;
  auto run = prepare_run(config, options, &failed.exit_code);
  if (!run) {
    failed.error = run.error().message;
    return failed;
  }
  auto access = slurm_access((*run)->settings.component("eca", "slurm"));
  if (!access) {
    failed.exit_code = kExitConfiguration;
    failed.error = "eca.slurm: " + access.error().message;
    return failed;
  }
  (*run)->pipeline.name = failed.name;
  return QueueRun(**run, std::move(*access), options).run();
}

int answer_about_queue(const std::string& config, const RunOptions& options) {
  const auto complain = [](const Error& error, int code) {
    std::fprintf(stderr, "nvab-run: %s\n", error.message.c_str());
    return code;
  };
  auto settings = load_run_settings(config, options);
  if (!settings) return complain(settings.error(), kExitConfiguration);
  const std::string path = settings->section("queue").text("path");
  if (options.queue == QueueMode::requeue) {
    auto count = requeue(path, options.requeue, now());
    if (!count) return complain(count.error(), kExitNoOutput);
    std::printf("%d %s back in the queue\n", *count, *count == 1 ? "entry is" : "entries are");
    return *count > 0 ? kExitOk : kExitNoOutput;
  }
  auto status = queue_status(path, now());
  if (!status) return complain(status.error(), kExitNoOutput);
  const bool is_json = options.format == "json" || (options.format != "text" && ::isatty(1) == 0);
  const std::string text =
      is_json ? status_to_json(*status).dump() + "\n" : status_to_text(*status);
  std::fputs(text.c_str(), stdout);
  return kExitOk;
}

}  // namespace nvab
