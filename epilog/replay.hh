// SPDX-License-Identifier: Apache-2.0
// An evidence bundle as a job and its evidence: job.json and the right collector for each of the
// bundle's folders.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "epilog/host.hh"
#include "epilog/run_collector.hh"

namespace nvab {

struct Replay {
  std::unique_ptr<ContextSource> contexts;
  std::vector<NamedCollector> collectors;
  // Set where somebody else than root and the reader can have written the bundle: all that it says
  // of who wrote what is a claim then, and no node may be drained on it. A sentence.
  std::string no_drain;
};

// Errors: the folder or its job.json cannot be read. What else is missing is for the collectors'
// reports.
Result<Replay> open_replay(const std::string& folder, Host& host);

}  // namespace nvab
