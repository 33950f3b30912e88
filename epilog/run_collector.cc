// SPDX-License-Identifier: Apache-2.0
// See run_collector.hh.
#include "epilog/run_collector.hh"

#include <chrono>
#include <exception>
#include <utility>

namespace nvab {
namespace {

class SessionSink final : public ObservationSink {
 public:
  SessionSink(Session& session, ObservationTap* tap, CollectionReports* reports)
      : session_(session), tap_(tap), reports_(reports) {}

  void deliver(Observation&& observation) override {
    ++reports_->connector.observation_count;
    if (tap_ != nullptr) tap_->see(observation);
    const auto submitted = session_.submit(observation);
    if (!submitted) {
      ++reports_->ingestion.failed;
    } else {
      ++reports_->ingestion.submitted;
      if (*submitted == Session::Submitted::duplicate) ++reports_->ingestion.duplicates;
    }
  }

 private:
  Session& session_;
  ObservationTap* tap_;
  CollectionReports* reports_;
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
  host.deadline = deadline;
  CollectOutcome outcome = collect_guarded(*collector.collector, context, sink);
  host.deadline = Deadline();
  reports.connector.seconds = std::chrono::duration<double>(Deadline::Clock::now() - begin).count();
  reports.connector.status = outcome.status;
  reports.connector.reason = std::move(outcome.reason);
  reports.connector.details = std::move(outcome.details);
  return reports;
}

}  // namespace nvab
