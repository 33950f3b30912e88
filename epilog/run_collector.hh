// SPDX-License-Identifier: Apache-2.0
// What the framework does around a collector: it sets the deadline, measures, catches, counts, and
// always has a report.
#pragma once

#include <memory>
#include <string>

#include "epilog/attributor.hh"
#include "epilog/collector.hh"
#include "epilog/host.hh"

namespace nvab {

struct NamedCollector {
  std::string name;  // "log.file.sys"
  std::unique_ptr<Collector> collector;
  // Set where the collector could not be opened: it still has its report.
  Source source = Source::applog;
  std::string unavailable;
};

// Also told of every observation (a bundle that is being saved).
class ObservationTap {
 public:
  virtual ~ObservationTap() = default;
  virtual void see(const Observation& observation) = 0;
};

struct CollectionReports {
  ConnectorReport connector;
  IngestionReport ingestion;
};

// `deadline` is this collector's; `tap` may be null. Never throws.
CollectionReports run_collector(const NamedCollector& collector, const ExecutionContext& context,
                                Session& session, ObservationTap* tap, Host& host,
                                Deadline deadline);

}  // namespace nvab
