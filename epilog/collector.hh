// SPDX-License-Identifier: Apache-2.0
// The interfaces of the frameworks: who finds contexts (eca), who collects evidence about one (log,
// metric), who takes results (output). Components are listed in epilog/registry.cc.
#pragma once

#include <string>
#include <vector>

#include "common/base/result.hh"
#include "common/model/context.hh"
#include "common/model/observation.hh"
#include "common/model/result.hh"

namespace nvab {

// Entries that one observation holds at most: some hundred KB as JSON, so that neither side of a
// connection needs much memory.
inline constexpr std::size_t kMaxObservationEntries = 2000;
inline constexpr std::size_t kMaxObservationBytes = 1024 * 1024;
// Coverage of this many streams travels in one observation.
inline constexpr std::size_t kMaxObservationStreams = 256;

// Takes observations as they are collected; never keeps a collector waiting for long.
class ObservationSink {
 public:
  virtual ~ObservationSink() = default;
  virtual void deliver(Observation&& observation) = 0;
};

// What became of a collection, beside what was delivered.
struct CollectOutcome {
  ConnectorStatus status = ConnectorStatus::ok;
  std::string reason;  // a sentence; empty when ok
  Json details;        // paths, bytes, queries
};

class ContextSource {
 public:
  virtual ~ContextSource() = default;
  virtual Result<std::vector<ExecutionContext>> discover() = 0;
};

class Collector {
 public:
  virtual ~Collector() = default;
  // Hands what there is about `context` to `sink` in bounded pieces. Stops at Host::deadline with
  // status timed_out. Trouble is an outcome; what was delivered before it counts.
  virtual CollectOutcome collect(const ExecutionContext& context, ObservationSink& sink) = 0;
  virtual Source source() const = 0;
};

class Output {
 public:
  virtual ~Output() = default;
  // False: this result is not for it. Not writing it is no failure then.
  virtual bool wants(const AttributionResult&) const { return true; }
  // Errors: unsupported where trying again would be of no use; any other may pass.
  virtual Result<void> write(const AttributionResult& result) = 0;
};

}  // namespace nvab
