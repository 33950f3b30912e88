// SPDX-License-Identifier: Apache-2.0
// One bundle being written: observations as they come, then job.json and bundle.json.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "common/base/result.hh"
#include "common/model/observation.hh"
#include "common/model/result.hh"
#include "epilog/output/bundle_streams.hh"

namespace nvab {

class BundleWriter {
 public:
  // `folder` must exist and be empty.
  explicit BundleWriter(std::string folder) : folder_(std::move(folder)), streams_(folder_) {}

  void add(const Observation& observation);
  // Writes the rest. `lines` is "selected" or "all".
  Result<void> finish(const AttributionResult& result, std::string_view lines, bool redacted);

 private:
  void add_sample(const MetricSample& sample);
  void end_series();
  Result<void> write_metrics();
  Result<void> write_dump(const FlightDump& dump);

  std::string folder_;
  BundleStreams streams_;
  std::vector<MetricSample> series_;  // the one that is being gathered
  std::string metrics_;               // elements of metrics.json not yet written
  bool has_metrics_ = false;
  std::vector<TaskExit> tasks_;
  Result<void> status_;
};

}  // namespace nvab
