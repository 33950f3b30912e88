// SPDX-License-Identifier: Apache-2.0
// See user_rights.hh.
#include "epilog/log/user_rights.hh"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <sys/capability.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "common/base/file.hh"

namespace nvab {
namespace {

// Linux lets a process be in this many (NGROUPS_MAX, limits.h of the kernel).
constexpr std::size_t kMaxGroups = 65536;
// Nobody's, on Debian and elsewhere: for a job whose owner this machine does not know.
constexpr long long kNoGroup = 65534;

using Capabilities = std::unique_ptr<void, int (*)(void*)>;

bool has_capability(cap_t all, cap_value_t one) {
  cap_flag_value_t state = CAP_CLEAR;
  return ::cap_get_flag(all, one, CAP_EFFECTIVE, &state) == 0 && state == CAP_SET;
}

bool can_change_ids() {
  const Capabilities own(::cap_get_proc(), ::cap_free);
  const auto all = static_cast<cap_t>(own.get());
  return all != nullptr && has_capability(all, CAP_SETUID) && has_capability(all, CAP_SETGID);
}

// The kernel takes them from a root that becomes somebody, and leaves them to all others.
bool drop_capabilities() {
  const Capabilities none(::cap_init(), ::cap_free);
  return none != nullptr && ::cap_set_proc(static_cast<cap_t>(none.get())) == 0;
}

// The groups of the user, who may read a file by one of them only.
std::vector<gid_t> groups_of(uid_t uid, gid_t* gid, bool has_gid) {
  const passwd* entry = ::getpwuid(uid);
  if (entry == nullptr) return {*gid};
  if (!has_gid) *gid = entry->pw_gid;
  int count = 64;
  std::vector<gid_t> groups(static_cast<std::size_t>(count));
  while (::getgrouplist(entry->pw_name, *gid, groups.data(), &count) < 0) {
    if (static_cast<std::size_t>(count) > kMaxGroups) return {*gid};
    groups.resize(std::max<std::size_t>(static_cast<std::size_t>(count), 2 * groups.size()));
    count = static_cast<int>(groups.size());
  }
  groups.resize(static_cast<std::size_t>(count));
  return groups;
}

bool is_only(uid_t uid, gid_t gid) {
  uid_t real = 0, effective = 0, saved = 0;
  gid_t real_gid = 0, effective_gid = 0, saved_gid = 0;
  return ::getresuid(&real, &effective, &saved) == 0 &&
         ::getresgid(&real_gid, &effective_gid, &saved_gid) == 0 && real == uid &&
         effective == uid && saved == uid && real_gid == gid && effective_gid == gid &&
         saved_gid == gid;
}

}  // namespace

bool may_become(long long uid) {
  return uid == static_cast<long long>(::geteuid()) || can_change_ids();
}

std::string become_user(const UserIds& user) {
  const auto uid = static_cast<uid_t>(user.uid);
  if (uid == ::geteuid() || !can_change_ids()) return {};
  auto gid = static_cast<gid_t>(user.gid.value_or(kNoGroup));
  const std::vector<gid_t> groups = groups_of(uid, &gid, user.gid.has_value());
  if (::setgroups(groups.size(), groups.data()) != 0) return from_errno(errno, "setgroups").message;
  if (::setresgid(gid, gid, gid) != 0) return from_errno(errno, "setresgid").message;
  if (::setresuid(uid, uid, uid) != 0) return from_errno(errno, "setresuid").message;
  if (!drop_capabilities()) return from_errno(errno, "giving capabilities up").message;
  const bool is_back = uid != 0 && ::setuid(0) == 0;
  if (!is_only(uid, gid) || is_back) return "the rights of this program could not be given up";
  return {};
}

}  // namespace nvab
