// SPDX-License-Identifier: Apache-2.0
// See pipeline.hh. A context that fails costs its own summary, never the run.
#include "epilog/pipeline.hh"

#include <fmt/core.h>

#include <algorithm>
#include <exception>
#include <thread>
#include <utility>

#include "common/base/hostlist.hh"
#include "common/base/log.hh"
#include "epilog/interrupt.hh"
#include "epilog/parallel.hh"

namespace nvab {
namespace {

// How often to ask who has sent all: often at first, since most nodes are quick.
constexpr Duration kFirstLook = std::chrono::milliseconds(100);
constexpr Duration kLongestLook = std::chrono::seconds(2);

class ContextRun {
 public:
  ContextRun(Pipeline& pipeline, Host& host, const ExecutionContext& context, RunStats* stats,
             Delivery* delivery)
      : pipeline_(pipeline), host_(host), context_(context), stats_(stats), delivery_(delivery) {}
  ContextSummary run();
  ContextSummary summary(ContextStatus status, std::string reason) const;

 private:
  void collect(Session& session);
  ContextSummary conclude(Session& session);
  void await_nodes(Session& session);
  bool must_stop() const {
    return interrupted_by() != 0 || (pipeline_.must_stop != nullptr && pipeline_.must_stop());
  }
  // Hands the result to every output; one that fails costs itself alone.
  void write(const AttributionResult& result, ContextSummary* summary);
  void write_to(const std::string& name, Output& output, const AttributionResult& result,
                ContextSummary* summary);
  Deadline collector_deadline() const;

  Pipeline& pipeline_;
  Host& host_;
  const ExecutionContext& context_;
  RunStats* stats_;
  Delivery* delivery_;
  std::vector<ConnectorReport> connector_reports_;
  std::vector<IngestionReport> ingestion_reports_;
  bool failed_for_good_ = true;       // whatever failed so far
  std::vector<std::string> missing_;  // sentences beside those of the verdict
};

ContextSummary ContextRun::summary(ContextStatus status, std::string reason) const {
  ContextSummary summary;
  summary.context = context_.key();
  summary.job = context_.job_id;
  summary.attempt = context_.attempt;
  summary.status = status;
  summary.reason = std::move(reason);
  return summary;
}

Deadline ContextRun::collector_deadline() const {
  if (pipeline_.collector_timeout == Duration{0}) return pipeline_.deadline;
  return Deadline::after(pipeline_.collector_timeout).earlier(pipeline_.deadline);
}

void ContextRun::collect(Session& session) {
  if (pipeline_.keeper) pipeline_.keeper->begin(context_, stats_->discovered == 1);
  // Selecting by our rules is right only where the judge has the same.
  const bool all_lines =
      std::exchange(host_.all_lines, host_.all_lines || session.wants_everything());
  for (const NamedCollector& collector : pipeline_.collectors) {
    if (interrupted_by() != 0) break;
    CollectionReports reports = run_collector(collector, context_, session, pipeline_.keeper.get(),
                                              host_, collector_deadline());
    if (reports.connector.status != ConnectorStatus::ok &&
        reports.connector.status != ConnectorStatus::no_data) {
      log_warning(
          fmt::format("job {}: {}: {}", context_.job_id, collector.name, reports.connector.reason));
    }
    connector_reports_.push_back(std::move(reports.connector));
    ingestion_reports_.push_back(std::move(reports.ingestion));
  }
  host_.all_lines = all_lines;
}

// Each node sends its own evidence into the session. That one of them stayed silent is evidence,
// too, and all there is of a node that is lost.
void ContextRun::await_nodes(Session& session) {
  const auto begin = Deadline::Clock::now();
  const Deadline over =
      Deadline::after(pipeline_.node_wait).earlier(pipeline_.deadline).stopped_by(interrupt_flag());
  std::vector<std::string> silent = context_.nodes;
  ConnectorReport report;
  report.connector = "nodes";
  report.source = Source::syslog;
  for (Duration pause = kFirstLook;; pause = std::min(pause * 2, kLongestLook)) {
    const auto complete = session.complete_nodes();
    report.reason = complete ? std::string() : complete.error().message;
    if (complete) {
      std::erase_if(silent, [&](const std::string& node) {
        return std::find(complete->begin(), complete->end(), node) != complete->end();
      });
    }
    if (silent.empty() || over.passed() || must_stop()) break;
    std::this_thread::sleep_for(std::min(pause, over.left()));
  }
  report.seconds = std::chrono::duration<double>(Deadline::Clock::now() - begin).count();
  report.observation_count = static_cast<int>(context_.nodes.size() - silent.size());
  if (!silent.empty()) {
    const std::string folded = fold_hostlist(silent);
    report.status = ConnectorStatus::timed_out;
    if (report.reason.empty()) report.reason = "nothing came from " + folded;
    missing_.push_back(fmt::format("nothing came from {} itself within {} s", folded,
                                   pipeline_.node_wait.count() / 1'000'000));
  }
  connector_reports_.push_back(std::move(report));
}

void ContextRun::write_to(const std::string& name, Output& output, const AttributionResult& result,
                          ContextSummary* summary) {
  if (!output.wants(result)) return;
  const bool has_it = delivery_ != nullptr && std::count(delivery_->delivered.begin(),
                                                         delivery_->delivered.end(), name) > 0;
  const auto written = has_it ? Result<void>() : output.write(result);
  summary->outputs.push_back({name, written ? "" : written.error().message});
  if (written) {
    if (delivery_ != nullptr && !has_it) delivery_->delivered.push_back(name);
    return;
  }
  log_error(
      fmt::format("job {}: output {}: {}", result.context.job_id, name, written.error().message));
  summary->reason += fmt::format("{}output {}: {}", summary->reason.empty() ? "" : "; ", name,
                                 written.error().message);
  failed_for_good_ = failed_for_good_ && written.error().code == Error::Code::unsupported;
}

void ContextRun::write(const AttributionResult& result, ContextSummary* summary) {
  for (const NamedOutput& output : pipeline_.outputs) {
    write_to(output.name, *output.output, result, summary);
  }
  if (pipeline_.keeper) write_to("bundle", *pipeline_.keeper, result, summary);
  const auto has_it = [](const DeliverySummary& delivery) { return delivery.error.empty(); };
  // One that all outputs leave out by their settings is where it should be, too.
  const bool is_left_out = summary->outputs.empty() && !pipeline_.outputs.empty();
  if (is_left_out || std::any_of(summary->outputs.begin(), summary->outputs.end(), has_it)) {
    ++stats_->succeeded;
  }
  summary->may_pass = summary->reason.empty() || !failed_for_good_;
}

ContextSummary ContextRun::conclude(Session& session) {
  auto verdict = session.attribution();
  if (!verdict) {
    ++stats_->failed;
    return summary(ContextStatus::failed, "judging: " + verdict.error().message);
  }
  verdict->missing.insert(verdict->missing.end(), missing_.begin(), missing_.end());
  if (!pipeline_.no_drain.empty() && !verdict->advice.drain.empty()) {
    verdict->advice.drain.clear();
    verdict->missing.push_back(pipeline_.no_drain);
  }
  AttributionResult result = enrich(context_, std::move(*verdict), std::move(connector_reports_),
                                    std::move(ingestion_reports_));
  result.attributor_id = session.id();
  if (delivery_ != nullptr) result.trigger_id = delivery_->trigger_id;
  ++stats_->attributed;
  ContextSummary done = summarize(result);
  write(result, &done);
  return done;
}

ContextSummary ContextRun::run() {
  ++stats_->attempted;
  if (pipeline_.deadline.passed() || interrupted_by() != 0) {
    ++stats_->failed;
    return summary(ContextStatus::failed, "the time of the run was over");
  }
  auto opened = pipeline_.attributor->open(context_);
  if (!opened) {
    ++stats_->failed;
    ContextSummary failed = summary(ContextStatus::failed, opened.error().message);
    failed.is_outage = opened.error().code == Error::Code::unavailable ||
                       opened.error().code == Error::Code::timeout;
    return failed;
  }
  if (opened->conflict) {
    ++stats_->conflicted;
    ContextSummary conflict = summary(ContextStatus::conflicted, opened->conflict->cause.message);
    conflict.attributor_id = opened->conflict->attributor_id;
    return conflict;
  }
  collect(*opened->session);
  if (pipeline_.node_wait > Duration{0}) await_nodes(*opened->session);
  if (interrupted_by() != 0) {
    ++stats_->failed;
    return summary(ContextStatus::failed, "the run was told to end");
  }
  return conclude(*opened->session);
}

}  // namespace

ContextSummary run_context(Pipeline& pipeline, Host& host, const ExecutionContext& context,
                           RunStats* stats, Delivery* delivery) {
  ContextRun run(pipeline, host, context, stats, delivery);
  try {
    return run.run();
  } catch (const std::exception& error) {
    ++stats->failed;
    return run.summary(ContextStatus::failed, std::string("unexpectedly: ") + error.what());
  }
}

RunSummary run_pipeline(std::span<const Lane> lanes) {
  Pipeline& first = *lanes.front().pipeline;
  RunSummary run;
  run.name = first.name;
  auto contexts = first.contexts->discover();
  if (!contexts) {
    run.error = "finding the jobs: " + contexts.error().message;
    run.exit_code = exit_code_of(run, first.strict);
    return run;
  }
  RunStats begin;
  begin.discovered = static_cast<int>(contexts->size());
  std::vector<RunStats> stats(lanes.size(), begin);
  run.contexts.resize(contexts->size());
  in_parallel(contexts->size(), lanes.size(), [&](std::size_t item, std::size_t thread) {
    const Lane& lane = lanes[thread];
    run.contexts[item] =
        run_context(*lane.pipeline, *lane.host, (*contexts)[item], &stats[thread], nullptr);
  });
  for (const RunStats& each : stats) run.stats += each;
  run.stats.discovered = begin.discovered;
  run.exit_code = exit_code_of(run, first.strict);
  return run;
}

RunSummary run_pipeline(Pipeline& pipeline, Host& host) {
  const Lane only{&pipeline, &host};
  return run_pipeline(std::span(&only, 1));
}

}  // namespace nvab
