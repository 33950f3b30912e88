// SPDX-License-Identifier: Apache-2.0
// --node with a service: what this node's collectors find about a job goes into the sessions that
// are open about it, and with the last observation the word that this was all.
#pragma once

#include <string>

#include "epilog/attributor_http.hh"
#include "epilog/eca/job_hint.hh"
#include "epilog/pipeline.hh"

namespace nvab {

// For one thread.
class NodeSender {
 public:
  // `pipeline` and `host` are the run's own, and must outlive it.
  NodeSender(ServiceOptions options, Pipeline& pipeline, Host& host)
      : options_(std::move(options)), pipeline_(pipeline), host_(host) {}

  // How many sessions took this node's evidence; 0: nobody asks about the job, yet or any more.
  // Errors: the service is away, or did not take all; it can be tried again.
  Result<int> send(const JobHint& hint);

 private:
  Result<void> send_into(const ExecutionContext& context, const std::string& node,
                         Session& session);

  const ServiceOptions options_;
  Pipeline& pipeline_;
  Host& host_;
};

// What is read on `node` from a path or a journal that each node has for itself, by a name that is
// not another node's: "n2/var/log/messages", "n2/journal". Pure.
std::string stream_of_node(const std::string& node, const std::string& stream);

}  // namespace nvab
