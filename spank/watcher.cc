// SPDX-License-Identifier: Apache-2.0
// The only thread that the plugin ever starts, and only in slurmstepd.
#include "spank/watcher.hh"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>

// glibc 2.36 knows it, older ones do not; the number is the same on every processor.
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

namespace nvab {
namespace {

constexpr uint32_t kWake = UINT32_MAX;
// The thread calls epoll_wait, clock_gettime and close; the rest is glibc's own share.
constexpr size_t kStackSize = 64 * 1024;
constexpr int kEventsAtOnce = 64;

bool add(int epoll, int fd, uint32_t index) noexcept {
  epoll_event event = {};
  event.events = EPOLLIN;
  event.data.u32 = index;
  return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0;
}

void close_fd(int* fd) noexcept {
  if (*fd >= 0) close(*fd);
  *fd = -1;
}

}  // namespace

bool Watcher::watch(pid_t pid) noexcept {
  if (failed_ || count_ == kMaxTasks || pid <= 0) return false;
  if (!running_ && !start()) {
    failed_ = true;
    return false;
  }
  Slot& slot = slots_[count_];
  slot.pid = pid;
  slot.fd = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));  // close-on-exec by itself
  if (slot.fd < 0) return false;
  if (!add(epoll_, slot.fd, static_cast<uint32_t>(count_))) {
    close_fd(&slot.fd);
    return false;
  }
  count_++;
  return true;
}

bool Watcher::start() noexcept {
  pthread_attr_t attributes;
  sigset_t all, old;
  epoll_ = epoll_create1(EPOLL_CLOEXEC);
  wake_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (epoll_ < 0 || wake_ < 0 || !add(epoll_, wake_, kWake)) return false;
  if (pthread_attr_init(&attributes) != 0) return false;
  pthread_attr_setstacksize(&attributes, kStackSize);
  // slurmstepd's signals are for slurmstepd's threads.
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  running_ = pthread_create(&thread_, &attributes, &Watcher::run, this) == 0;
  pthread_sigmask(SIG_SETMASK, &old, nullptr);
  pthread_attr_destroy(&attributes);
  if (running_) pthread_setname_np(thread_, "nvab-watch");
  return running_;
}

void* Watcher::run(void* self) noexcept {
  auto* watcher = static_cast<Watcher*>(self);
  epoll_event events[kEventsAtOnce];
  for (;;) {
    const int count = epoll_wait(watcher->epoll_, events, kEventsAtOnce, -1);
    // Should somebody have closed our descriptors, then rather no times than a busy loop.
    if (count < 0 && errno != EINTR) return nullptr;
    for (int i = 0; i < count; i++) {
      if (events[i].data.u32 == kWake) return nullptr;
      watcher->note_end(events[i].data.u32);
    }
  }
}

void Watcher::note_end(size_t index) noexcept {
  Slot& slot = slots_[index];
  slot.when = now();
  epoll_ctl(epoll_, EPOLL_CTL_DEL, slot.fd, nullptr);
  close_fd(&slot.fd);
  slot.ended.store(true, std::memory_order_release);
}

bool Watcher::end_of(pid_t pid, Moment* when) const noexcept {
  for (size_t i = 0; i < count_; i++) {
    if (slots_[i].pid != pid) continue;
    if (!slots_[i].ended.load(std::memory_order_acquire)) return false;
    *when = slots_[i].when;
    return true;
  }
  return false;
}

void Watcher::stop() noexcept {
  const uint64_t one = 1;
  if (running_ && write(wake_, &one, sizeof one) == sizeof one) pthread_join(thread_, nullptr);
  running_ = false;
  for (size_t i = 0; i < count_; i++) close_fd(&slots_[i].fd);
  count_ = 0;
  close_fd(&wake_);
  close_fd(&epoll_);
}

}  // namespace nvab
