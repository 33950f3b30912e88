// SPDX-License-Identifier: Apache-2.0
// See interrupt.hh.
#include "epilog/interrupt.hh"

#include <csignal>

namespace nvab {
namespace {

std::atomic<int> noted{0};
static_assert(std::atomic<int>::is_always_lock_free);

void note(int signal) { noted = signal; }

}  // namespace

void catch_interrupts() {
  struct sigaction action = {};
  action.sa_handler = note;
  // Back to the usual end afterwards; system calls that wait end with EINTR.
  action.sa_flags = SA_RESETHAND;
  for (const int signal : {SIGTERM, SIGINT}) ::sigaction(signal, &action, nullptr);
}

int interrupted_by() { return noted; }
const std::atomic<int>& interrupt_flag() { return noted; }

}  // namespace nvab
