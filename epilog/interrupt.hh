// SPDX-License-Identifier: Apache-2.0
// SIGTERM and SIGINT as a word that the run looks at, so that it can end what it began elsewhere
// (sessions of a service) before it goes.
#pragma once

#include <atomic>

namespace nvab {

// From now on the first such signal is only noted; a second one ends the process at once.
void catch_interrupts();
// The signal, or 0. Usable from any thread.
int interrupted_by();
// The same, for deadlines that pass with it. Lives as long as the process.
const std::atomic<int>& interrupt_flag();

}  // namespace nvab
