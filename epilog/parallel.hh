// SPDX-License-Identifier: Apache-2.0
// Several contexts at the same time (--jobs): who works on which, and how they share an output.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "epilog/pipeline.hh"

namespace nvab {

// Calls `work(item, thread)` once for each item below `items`, from `threads` threads at most (from
// the caller's own where one is enough); a thread takes the lowest item that nobody has. Returns
// when all are done. `work` must not throw.
void in_parallel(std::size_t items, std::size_t threads,
                 const std::function<void(std::size_t item, std::size_t thread)>& work);

// The same outputs `count` times: what is written through any of them goes into the one, in turn.
// They share its ownership.
std::vector<std::vector<NamedOutput>> share_outputs(std::vector<NamedOutput> outputs,
                                                    std::size_t count);

}  // namespace nvab
