// SPDX-License-Identifier: Apache-2.0
// Becoming a job's owner for good. A runner that is not root can do it, too, when its unit gives it
// CAP_SETUID and CAP_SETGID (capabilities(7)).
#pragma once

#include <optional>
#include <string>

namespace nvab {

struct UserIds {
  long long uid = -1;
  std::optional<long long> gid;  // of the job; the user's own where not known
};

// Whether this process is that user, or can become it. Where not, whoever reads for that user must
// take nothing but the user's own files.
bool may_become(long long uid);

// Takes on the user's ids and groups in all their kinds, and gives every capability up. A process
// that is the user already, or may not become it, keeps its ids. Returns an empty text, or what
// went wrong: the process then has to end. For a child with a single thread.
std::string become_user(const UserIds& user);

}  // namespace nvab
