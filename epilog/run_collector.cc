// SPDX-License-Identifier: Apache-2.0
// See run_collector.hh.
#include "epilog/run_collector.hh"

#include <fmt/core.h>

#include <chrono>
#include <exception>
#include <utility>

#include "common/base/log.hh"
#include "epilog/interrupt.hh"

namespace nvab {
namespace {

class SessionSink final : public ObservationSink {
 public:
  SessionSink(Session& session, ObservationTap* tap, CollectionReports* reports)
      : session_(session), tap_(tap), reports_(reports) {}
  // What was lost is in the report; why, is said once.
  ~SessionSink() override {
    if (reports_->ingestion.failed == 0) return;
    log_warning(fmt::format("session {}: {}: {} of {} observations were not taken; the first: {}",
                            session_.id(), reports_->ingestion.connector,
                            reports_->ingestion.failed, reports_->connector.observation_count,
                            first_error_));
  }

  void deliver(Observation&& observation) override {
    ++reports_->connector.observation_count;
    if (tap_ != nullptr) tap_->see(observation);
    const auto submitted = session_.submit(observation);
    if (!submitted) {
      if (++reports_->ingestion.failed == 1) first_error_ = submitted.error().message;
    } else {
      ++reports_->ingestion.submitted;
      if (*submitted == Session::Submitted::duplicate) ++reports_->ingestion.duplicates;
    }
  }

 private:
  Session& session_;
  ObservationTap* tap_;
  CollectionReports* reports_;
  std::string first_error_;
};

// Connectors have no try: whatever flies (bad_alloc, a library's) ends here as their report.
CollectOutcome collect_guarded(Collector& collector, const ExecutionContext& context,
                               ObservationSink& sink) noexcept {
  try {
    return collector.collect(context, sink);
  } catch (const std::bad_alloc&) {
    return {ConnectorStatus::error, "out of memory", {}};
  } catch (const std::exception& error) {
    return {ConnectorStatus::error, std::string("it failed unexpectedly: ") + error.what(), {}};
  } catch (...) {
    return {ConnectorStatus::error, "it failed unexpectedly", {}};
  }
}

}  // namespace

CollectionReports run_collector(const NamedCollector& collector, const ExecutionContext& context,
                                Session& session, ObservationTap* tap, Host& host,
                                Deadline deadline) {
  CollectionReports reports;
  reports.connector.connector = reports.ingestion.connector = collector.name;
  reports.connector.source = collector.source;
  if (!collector.collector) {
    reports.connector.status = ConnectorStatus::unavailable;
    reports.connector.reason = collector.unavailable;
    return reports;
  }
  reports.connector.source = collector.collector->source();
  SessionSink sink(session, tap, &reports);
  const auto begin = Deadline::Clock::now();
  host.deadline = deadline.stopped_by(interrupt_flag());
  CollectOutcome outcome = collect_guarded(*collector.collector, context, sink);
  host.deadline = Deadline();
  reports.connector.seconds = std::chrono::duration<double>(Deadline::Clock::now() - begin).count();
  reports.connector.status = outcome.status;
  reports.connector.reason = std::move(outcome.reason);
  reports.connector.details = std::move(outcome.details);
  return reports;
}

}  // namespace nvab
