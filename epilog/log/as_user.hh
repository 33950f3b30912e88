// SPDX-License-Identifier: Apache-2.0
// Collecting with a job owner's rights: in a child process that has become that user for good. So
// nobody's file is read for somebody else, files on root-squashed file systems can be read, what a
// user wrote is not parsed with root's rights, and a dead file server stops the child alone.
#pragma once

#include <functional>

#include "common/base/deadline.hh"
#include "epilog/collector.hh"
#include "epilog/log/user_rights.hh"

namespace nvab {

// Runs `work` in a child that has dropped to `user`, hands what it delivers to `sink` here, and
// returns its outcome. Where we cannot become that user the child keeps our rights: what it reads
// then it must check for its owner (see may_become()). At the deadline the child is killed, or left
// alone where even that does not end it; the outcome then is timed_out. What the child sends is
// checked as if anybody had sent it. `work` must not use descriptors, threads or the log of this
// process, and must not throw. For a process without other threads that hold locks.
CollectOutcome collect_as(const UserIds& user, Deadline deadline, ObservationSink& sink,
                          const std::function<CollectOutcome(ObservationSink&)>& work);

// The same for work of another kind: returns what it returned, a value or an error.
Result<Json> run_as(const UserIds& user, Deadline deadline,
                    const std::function<Result<Json>()>& work);

}  // namespace nvab
