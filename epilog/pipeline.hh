// SPDX-License-Identifier: Apache-2.0
// The Blueprint: discover -> collect -> attribute -> enrich -> write, one context after the other
// in each lane.
#pragma once

#include <memory>
#include <span>
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
  Duration node_wait{0};                   // for what nodes send themselves; 0: they do not
  bool (*must_stop)() = nullptr;           // whether to end waiting; null: only when interrupted
  Deadline deadline;                       // of the run
  bool strict = false;
  // Why no node may be drained on this evidence, a sentence; empty: it may.
  std::string no_drain;
};

// How a result of a queue entry is delivered, in one try after the other.
struct Delivery {
  std::string trigger_id;
  // Names of outputs that have it already, and are passed over; those that take it now are added.
  std::vector<std::string> delivered;
};

// One context, whatever `pipeline.contexts` is; counts into `stats`. `delivery` may be null. Never
// throws. A summary that is attributed and has a reason: some outputs did not take the result.
ContextSummary run_context(Pipeline& pipeline, Host& host, const ExecutionContext& context,
                           RunStats* stats, Delivery* delivery);

// What one thread works with. Collectors, rules and sessions keep state meanwhile, so each lane has
// its own; only outputs may lead to the same place (share_outputs()).
struct Lane {
  Pipeline* pipeline = nullptr;
  Host* host = nullptr;
};

// The first lane finds the contexts, all of them work on them. Summaries are in the order in which
// contexts were found; results are written as they come. Never throws; trouble is in the summary.
RunSummary run_pipeline(std::span<const Lane> lanes);
RunSummary run_pipeline(Pipeline& pipeline, Host& host);

}  // namespace nvab
