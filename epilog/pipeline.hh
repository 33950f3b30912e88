// SPDX-License-Identifier: Apache-2.0
// The Blueprint: discover -> collect -> attribute -> enrich -> write, one context after the other.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "epilog/attributor.hh"
#include "epilog/run_collector.hh"
#include "epilog/summary.hh"

namespace nvab {

struct NamedOutput {
  std::string name;
  std::unique_ptr<Output> output;
};

// An output that also keeps the evidence (--save-bundle): it sees each observation of the context
// between begin() and write().
class EvidenceKeeper : public Output, public ObservationTap {
 public:
  // `is_only`: the run has no other context.
  virtual void begin(const ExecutionContext& context, bool is_only) = 0;
};

struct Pipeline {
  std::string name;  // of the run, in summaries
  std::unique_ptr<ContextSource> contexts;
  std::vector<NamedCollector> collectors;
  std::unique_ptr<Attributor> attributor;
  std::vector<NamedOutput> outputs;
  std::unique_ptr<EvidenceKeeper> keeper;  // may be null
  Duration collector_timeout{0};           // of each collector; 0: none
  Deadline deadline;                       // of the run
  bool strict = false;
};

// Never throws; trouble is in the summary.
RunSummary run_pipeline(Pipeline& pipeline, Host& host);

}  // namespace nvab
