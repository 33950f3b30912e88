// SPDX-License-Identifier: Apache-2.0
// --watch --node: nothing central collects this node's logs, so what it knows of a job that ended
// (task records, kernel messages around it) is copied to a folder that the runner can read, or sent
// into the job's session at a service. The node judges nothing and asks no scheduler.
#pragma once

#include <functional>
#include <string>

#include "common/base/result.hh"
#include "epilog/eca/job_hint.hh"
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

// Sends evidence about a job; the number of sessions that took it, 0 where nobody asks (yet).
using SendEvidence = std::function<Result<int>(const JobHint&)>;

class NodeWorker {
 public:
  // `send` may be null: there is no service, and evidence is copied.
  NodeWorker(QueueStore& store, QueueSettings settings, NodeEvidence evidence, SendEvidence send)
      : store_(store),
        settings_(std::move(settings)),
        evidence_(std::move(evidence)),
        send_(std::move(send)) {}
  // Errors: malformed (neither [queue] node_share nor a service is set), or that of its folders.
  Result<void> check() const;
  // Errors: the queue's disk or the service is away; entries are back in the queue then, as they
  // were.
  Result<RoundResult> round(Time now);

 private:
  // Nothing left to be done for it; else it is in the queue again. Errors: the service is away.
  Result<bool> work(QueueEntry& entry, const JobHint& hint, Time now);
  Result<bool> send(QueueEntry& entry, const JobHint& hint, Time now);
  Result<void> copy(const JobHint& hint, Time now) const;
  Result<void> copy_tasks(std::uint32_t job, Time* since) const;

  QueueStore& store_;
  QueueSettings settings_;
  NodeEvidence evidence_;
  SendEvidence send_;
};

}  // namespace nvab
