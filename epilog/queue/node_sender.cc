// SPDX-License-Identifier: Apache-2.0
// See node_sender.hh.
#include "epilog/queue/node_sender.hh"

#include <fmt/core.h>

#include <utility>

#include "common/base/log.hh"
#include "epilog/interrupt.hh"

namespace nvab {
namespace {

// The session as collectors here see it: their streams are this node's.
class NodeSession final : public Session {
 public:
  NodeSession(Session& session, const std::string& node) : session_(session), node_(node) {}
  const std::string& id() const override { return session_.id(); }
  bool wants_everything() const override { return session_.wants_everything(); }
  Result<Verdict> attribution() override { return session_.attribution(); }
  Result<Submitted> submit(const Observation& observation) override {
    const bool is_log =
        observation.source == Source::applog || observation.source == Source::syslog;
    if (!is_log) return session_.submit(observation);
    Observation ours = observation;
    for (LogEntry& entry : ours.entries) {
      entry.origin.stream = stream_of_node(node_, entry.origin.stream);
    }
    for (StreamCoverage& stream : ours.coverage.streams) {
      stream.stream = stream_of_node(node_, stream.stream);
    }
    return session_.submit(ours);
  }

 private:
  Session& session_;
  const std::string& node_;
};

}  // namespace

std::string stream_of_node(const std::string& node, const std::string& stream) {
  return stream.starts_with('/') ? node + stream : node + '/' + stream;
}

Result<void> NodeSender::send_into(const ExecutionContext& context, const std::string& node,
                                   Session& session) {
  NodeSession ours(session, node);
  const bool all_lines =
      std::exchange(host_.all_lines, host_.all_lines || session.wants_everything());
  host_.node = node;
  int failed = 0;
  for (const NamedCollector& collector : pipeline_.collectors) {
    if (interrupted_by() != 0) break;
    const Deadline deadline = pipeline_.collector_timeout > Duration{0}
                                  ? Deadline::after(pipeline_.collector_timeout)
                                  : Deadline();
    failed += run_collector(collector, context, ours, nullptr, host_, deadline).ingestion.failed;
  }
  host_.all_lines = all_lines;
  if (failed > 0 || interrupted_by() != 0) {
    return fail(Error::Code::unavailable,
                fmt::format("{} observations of job {} were not taken", failed, context.job_id));
  }
  // What did not reach a collector here (a file that is not there) is this node's word, too.
  Observation last;
  last.source = Source::syslog;
  last.connector = "node";
  last.coverage.complete_node = node;
  const auto told = session.submit(last);
  if (!told) return tl::unexpected(told.error());
  return {};
}

Result<int> NodeSender::send(const JobHint& hint) {
  const std::string& node = hint.node.empty() ? hint.host : hint.node;
  Result<void> sent;
  const auto send_once = [&](const ExecutionContext& context, Session& session) {
    // Of a job whose id came again, or of an array's other tasks, this node may know nothing.
    if (!context.has_node(node)) return;
    auto done = send_into(context, node, session);
    if (!done && sent) sent = std::move(done);
  };
  auto count = join_sessions_of_job(options_, host_.rules->name().digest, hint.job_id, hint.cluster,
                                    send_once);
  if (!count) return count;
  if (!sent) return tl::unexpected(sent.error());
  if (*count > 0) log_debug(fmt::format("job {}: this node has sent all it has", hint.job_id));
  return count;
}

}  // namespace nvab
