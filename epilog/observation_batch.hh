// SPDX-License-Identifier: Apache-2.0
// Gathers what a collector finds into observations of bounded size and delivers them.
#pragma once

#include <cstddef>
#include <string>

#include "epilog/collector.hh"

namespace nvab {

class ObservationBatch {
 public:
  // `rules` empty: nothing was left out. The sink must outlive the batch.
  ObservationBatch(Source source, std::string connector, const RulesetName* prefiltered_by,
                   ObservationSink& sink);

  void add(LogEntry&& entry);
  void add(MetricSample&& sample);
  void add(TaskExit&& task);
  void add(FlightDump&& dump);  // each travels alone: it may be large
  void add(StreamCoverage&& stream, std::uint64_t bytes, std::uint64_t bytes_replaced);
  void mark_truncated() { pending_.coverage.truncated = true; }

  // Delivers what is pending, if anything is.
  void flush();
  int delivered() const { return delivered_; }

 private:
  void grow(std::size_t bytes);
  void clear();

  Source source_;
  std::string connector_;
  const RulesetName* prefiltered_by_;
  ObservationSink& sink_;
  Observation pending_;
  std::size_t pending_bytes_ = 0;
  int delivered_ = 0;
};

}  // namespace nvab
