// SPDX-License-Identifier: Apache-2.0
// The rules engine for one context. Pure and incremental: no clock, no I/O, no threads; ingest()
// and attribute() in any order, any number of times; the same observations in any order and any
// chunking give the same verdict, byte for byte. Keeps events, not lines.
#pragma once

#include <cstdint>
#include <memory>

#include "common/engine/ruleset.hh"
#include "common/model/context.hh"
#include "common/model/observation.hh"
#include "common/model/verdict.hh"

namespace nvab {

struct IngestCounts {
  std::uint64_t accepted = 0;    // entries that were new
  std::uint64_t duplicates = 0;  // entries already ingested
};

// For one thread at a time.
class Engine {
 public:
  // `rules` must outlive the engine.
  Engine(const Ruleset& rules, ExecutionContext context);
  ~Engine();
  Engine(Engine&&) noexcept;

  void update(ExecutionContext context);  // a later word of the scheduler (RUNNING -> final)
  IngestCounts ingest(const Observation& observation);
  Verdict attribute() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace nvab
