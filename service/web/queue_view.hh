// SPDX-License-Identifier: Apache-2.0
// How the runner's queue looks from outside: the names and times of its files, nothing more.
#pragma once

#include <optional>
#include <string>

#include "common/base/time.hh"

namespace nvab {

struct QueueView {
  long long waiting = 0, conflicted = 0, dead = 0;
  std::optional<Time> oldest;  // of those that wait
};

// Nothing where the folder cannot be read.
std::optional<QueueView> view_queue(const std::string& folder);

}  // namespace nvab
