// SPDX-License-Identifier: Apache-2.0
// See pipeline.hh. A context that fails costs its own summary, never the run.
#include "epilog/pipeline.hh"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "common/base/log.hh"
#include "epilog/interrupt.hh"

namespace nvab {
namespace {

class ContextRun {
 public:
  ContextRun(Pipeline& pipeline, Host& host, const ExecutionContext& context, RunStats* stats,
             Delivery* delivery)
      : pipeline_(pipeline), host_(host), context_(context), stats_(stats), delivery_(delivery) {}
  ContextSummary run();

 private:
  ContextSummary summary(ContextStatus status, std::string reason) const;
  void collect(Session& session);
  ContextSummary conclude(Session& session);
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
  bool failed_for_good_ = true;  // whatever failed so far
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
    return summary(ContextStatus::failed, opened.error().message);
  }
  if (!opened->session) {
    ++stats_->conflicted;
    ContextSummary conflict =
        summary(ContextStatus::conflicted, std::move(opened->conflict.message));
    conflict.attributor_id = opened->attributor_id;
    return conflict;
  }
  collect(*opened->session);
  if (interrupted_by() != 0) {
    ++stats_->failed;
    return summary(ContextStatus::failed, "the run was told to end");
  }
  return conclude(*opened->session);
}

}  // namespace

ContextSummary run_context(Pipeline& pipeline, Host& host, const ExecutionContext& context,
                           RunStats* stats, Delivery* delivery) {
  return ContextRun(pipeline, host, context, stats, delivery).run();
}

RunSummary run_pipeline(Pipeline& pipeline, Host& host) {
  RunSummary run;
  run.name = pipeline.name;
  auto contexts = pipeline.contexts->discover();
  if (!contexts) {
    run.error = "finding the jobs: " + contexts.error().message;
    run.exit_code = exit_code_of(run, pipeline.strict);
    return run;
  }
  run.stats.discovered = static_cast<int>(contexts->size());
  for (const ExecutionContext& context : *contexts) {
    run.contexts.push_back(run_context(pipeline, host, context, &run.stats, nullptr));
  }
  run.exit_code = exit_code_of(run, pipeline.strict);
  return run;
}

}  // namespace nvab
