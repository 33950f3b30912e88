// SPDX-License-Identifier: Apache-2.0
// --watch --node: nothing central collects this node's logs, so what it knows of a job that ended
// (task records, kernel messages around it) is copied to a folder that the runner can read. The
// node judges nothing and asks no scheduler.
#pragma once

#include <string>

#include "common/base/result.hh"
#include "epilog/log/kmsg.hh"
#include "epilog/queue/store.hh"
#include "epilog/queue/worker.hh"

namespace nvab {

// The runner finds in `share` what the node had in its own folders:
//   tasks/NAME.ndjson    as in the spool: the runner's [run] spool
//   kernel/JOB/NODE.log  syslog lines: [log.file.nodes] paths = SHARE/kernel/{job}/*.log
struct NodeEvidence {
  std::string spool, share, kmsg;
};

// Kernel messages as syslog lines of `node`, without those before `since`. What a process wrote
// there, and not the kernel, is said to be by "kmsg". Pure.
std::string kernel_lines(const KernelRing& ring, std::string_view node, const KernelClock& clock,
                         Time since);

class NodeWorker {
 public:
  NodeWorker(QueueStore& store, QueueSettings settings, NodeEvidence evidence)
      : store_(store), settings_(std::move(settings)), evidence_(std::move(evidence)) {}
  // Errors: malformed ([queue] node_share is not set), or that of its folders.
  Result<void> check() const;
  Result<RoundResult> round(Time now);

 private:
  Result<void> copy(const JobHint& hint, Time now) const;
  Result<void> copy_tasks(std::uint32_t job, Time* since) const;

  QueueStore& store_;
  QueueSettings settings_;
  NodeEvidence evidence_;
};

}  // namespace nvab
