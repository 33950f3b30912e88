// SPDX-License-Identifier: Apache-2.0
// So that many jobs that end at once do not hurt the site's servers: all runners of one user on
// this machine together make at most so many requests at a time to one server. A slot is a lock on
// a small file, and so dies with its holder.
#pragma once

#include <string>

#include "common/base/deadline.hh"
#include "common/base/file.hh"
#include "common/base/result.hh"

namespace nvab {

class BackendSlots {
 public:
  // For the server at `origin` (url_origin()); the locks lie in `folder`, which is made where it is
  // not there. `count` 0: no limit.
  BackendSlots(std::string folder, const std::string& origin, int count);

  // Waits for a slot, which is held as long as the Fd lives; one that holds nothing where there is
  // no limit, or the folder cannot be used: a limit is no reason to see nothing. Errors: timeout.
  Result<Fd> take(Deadline deadline) const;

  // $XDG_RUNTIME_DIR/nvab, for root /run/nvab, else a folder of the user's own in /tmp.
  static std::string usual_folder();

 private:
  std::string folder_, name_;
  int count_;
};

}  // namespace nvab
