// SPDX-License-Identifier: Apache-2.0
// See backend_slots.hh.
#include "epilog/backend_slots.hh"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <thread>
#include <utility>

#include "common/base/digest.hh"

namespace nvab {
namespace {

// How often one looks for a slot that has come free: a request takes some ten milliseconds.
constexpr Duration kPoll = std::chrono::milliseconds(20);
constexpr std::size_t kNameDigits = 16;

// In /tmp others could have made it first.
bool is_ours(const std::string& folder) {
  struct stat status {};
  return ::lstat(folder.c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
         status.st_uid == ::geteuid() && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

}  // namespace

std::string BackendSlots::usual_folder() {
  if (::geteuid() == 0) return "/run/nvab";
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  if (runtime != nullptr && *runtime == '/') return std::string(runtime) + "/nvab";
  return fmt::format("/tmp/nvab-{}", ::geteuid());
}

BackendSlots::BackendSlots(std::string folder, const std::string& origin, int count)
    : folder_(std::move(folder)), name_(sha256_hex(origin).substr(0, kNameDigits)), count_(count) {
  if (count_ > 0 && ::mkdir(folder_.c_str(), 0700) != 0 && errno != EEXIST) count_ = 0;
  if (count_ > 0 && !is_ours(folder_)) count_ = 0;
}

Result<Fd> BackendSlots::take(Deadline deadline) const {
  for (;;) {
    bool any_usable = false;
    for (int i = 0; i < count_; ++i) {
      const std::string path = fmt::format("{}/{}.{}", folder_, name_, i);
      Fd slot(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
      any_usable |= static_cast<bool>(slot);
      if (slot && ::flock(slot.get(), LOCK_EX | LOCK_NB) == 0) return slot;
    }
    if (!any_usable) return Fd();
    if (deadline.passed()) {
      return fail(
          Error::Code::timeout,
          fmt::format("other runners on this machine had all {} turns (max_concurrent)", count_));
    }
    std::this_thread::sleep_for(std::min(kPoll, deadline.left()));
  }
}

}  // namespace nvab
