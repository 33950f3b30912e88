// SPDX-License-Identifier: Apache-2.0
// Jobs that no hook handed over (their node died, the disk was full): found in accounting from a
// watermark on, and put into the queue as if a hook had.
#pragma once

#include <functional>
#include <string>

#include "epilog/eca/slurm.hh"

namespace nvab {

struct SweepWorld {
  std::function<Result<SlurmQuestion>(const SlurmSelection&)> select;
  std::function<Result<SlurmAnswer>(const SlurmQuestion&)> look;
  Time now;
};

// Queues the jobs that ended since the last sweep (`first_back` ago, where there was none) and have
// no done-marker; returns how many. The watermark moves only when all of them are in the queue, and
// stays a little behind, so that accounting's lag loses nothing. Errors: those of accounting; a
// queue that cannot be written.
Result<int> sweep(const std::string& queue, Duration first_back, const SweepWorld& world);

}  // namespace nvab
