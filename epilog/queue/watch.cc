// SPDX-License-Identifier: Apache-2.0
// See watch.hh.
#include "epilog/queue/watch.hh"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>

#include "common/base/log.hh"

namespace nvab {
namespace {

// For the signal handler, which can reach nothing else.
volatile sig_atomic_t stop_asked = 0;
int stop_pipe = -1;

void ask_to_stop(int) {
  const int error_number = errno;
  stop_asked = 1;
  if (stop_pipe >= 0 && ::write(stop_pipe, "x", 1) < 0) stop_asked = 1;
  errno = error_number;
}

// A piece of what inotify tells; which files they are does not matter.
void drain(int fd) {
  std::array<char, 4096> piece;
  while (::read(fd, piece.data(), piece.size()) > 0) {
  }
}

}  // namespace

Result<QueueWatch> QueueWatch::start(const std::string& queue) {
  std::array<int, 2> ends = {-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) {
    return tl::unexpected(from_errno(errno, "making a pipe"));
  }
  stop_pipe = ends[1];
  struct sigaction action = {};
  action.sa_handler = ask_to_stop;
  for (const int number : {SIGTERM, SIGINT}) ::sigaction(number, &action, nullptr);
  Fd notices(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  const std::string folder = queue + "/new";
  if (!notices || ::inotify_add_watch(notices.get(), folder.c_str(), IN_MOVED_TO) < 0) {
    log_warning(from_errno(errno, "watching " + folder).message +
                "; looking every [queue] poll_seconds instead");
    notices = Fd();
  }
  return QueueWatch(std::move(notices), Fd(ends[0]));
}

bool QueueWatch::must_stop() { return stop_asked != 0; }

bool QueueWatch::wait(Duration pause) {
  // poll skips negative descriptors.
  std::array<pollfd, 2> waits = {{{notices_.get(), POLLIN, 0}, {signals_.get(), POLLIN, 0}}};
  constexpr long long kLongest = 3'600'000;  // milliseconds
  const long long ms = std::clamp<long long>((pause.count() + 999) / 1000, 0, kLongest);
  if (must_stop() || ::poll(waits.data(), waits.size(), static_cast<int>(ms)) <= 0) return false;
  const bool is_new = waits[0].revents != 0;
  if (is_new) drain(notices_.get());
  return is_new;
}

}  // namespace nvab
