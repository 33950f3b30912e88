// SPDX-License-Identifier: Apache-2.0
// The component log.kmsg: what the kernel of this machine logged around the job, straight from its
// ring, where the job ran here.
#include "epilog/log/kmsg.hh"

#include <fmt/core.h>

#include <utility>

#include "epilog/connector.hh"
#include "epilog/log/local_nodes.hh"
#include "epilog/log/record_stream.hh"
#include "epilog/observation_batch.hh"

namespace nvab {
namespace {

class KmsgLog final : public Collector {
 public:
  KmsgLog(KmsgOptions options, Host& host) : options_(std::move(options)), host_(host) {}
  Source source() const override { return Source::syslog; }
  CollectOutcome collect(const ExecutionContext& context, ObservationSink& sink) override;

 private:
  bool in_window(const ExecutionContext& context, Time time) const {
    return (!context.start_time || time >= *context.start_time - options_.before) &&
           (!context.end_time || time <= *context.end_time + options_.after);
  }

  KmsgOptions options_;
  Host& host_;
};

CollectOutcome failed(const Error& error) {
  CollectOutcome outcome;
  outcome.reason = error.message;
  switch (error.code) {
    case Error::Code::permission:
      outcome.status = ConnectorStatus::denied;
      outcome.reason += "; run as root, or give the program CAP_SYSLOG";
      break;
    case Error::Code::not_found:
      outcome.status = ConnectorStatus::unavailable;
      break;
    case Error::Code::timeout:
      outcome.status = ConnectorStatus::timed_out;
      break;
    default:
      outcome.status = ConnectorStatus::error;
  }
  return outcome;
}

CollectOutcome KmsgLog::collect(const ExecutionContext& context, ObservationSink& sink) {
  const std::vector<std::string> nodes = local_nodes(context, host_);
  CollectOutcome outcome;
  if (nodes.empty()) {
    outcome.status = ConnectorStatus::no_data;
    outcome.reason = "none of the job's nodes is this machine";
    return outcome;
  }
  const auto ring = read_kernel_ring(options_.path, host_.deadline);
  if (!ring) return failed(ring.error());
  const auto times = times_of(ring->records, options_.clock.value_or(KernelClock::here()));

  const RulesetName* filter = host_.all_lines ? nullptr : &host_.rules->name();
  ObservationBatch batch(Source::syslog, options_.connector, filter, sink);
  const std::string node = sole_node(nodes);
  RecordStream stream("kmsg", node, host_, batch);
  for (std::size_t i = 0; i < times.size(); ++i) {
    const KernelRecord& record = ring->records[i];
    if (!in_window(context, times[i])) continue;
    LogRecord line;
    line.time = times[i];
    line.host = node;
    line.app = "kmsg";
    line.severity = record.severity;
    line.trust = record.is_of_kernel() ? Trust::kernel : Trust::user;
    line.number = record.sequence;
    line.message = record.text;
    stream.add(line);
  }
  const std::uint64_t lines = stream.lines();
  stream.finish();
  if (ring->truncated) batch.mark_truncated();
  batch.flush();
  outcome.details = Json::object();
  outcome.details.set("lines", Json::of(static_cast<std::int64_t>(lines)));
  outcome.details.set("lost", Json::of(static_cast<std::int64_t>(ring->lost)));
  // A ring that begins behind the job's start has lost the lines before.
  const bool is_late = !times.empty() && context.start_time &&
                       times.front() > *context.start_time && ring->records.front().sequence > 0;
  if (is_late) {
    outcome.details.set("first", Json::of(format_rfc3339(times.front())));
  }
  if (lines == 0) {
    outcome.status = ConnectorStatus::no_data;
    outcome.reason = is_late ? "the kernel has overwritten its messages of the job's time"
                             : "the kernel said nothing in the job's time";
  }
  return outcome;
}

constexpr ParamSpec kParams[] = {
    {.name = "path",
     .type = ParamType::path,
     .fallback = "/dev/kmsg",
     .help = "The kernel's ring, or a file with records of one"},
    {.name = "before",
     .type = ParamType::duration,
     .fallback = "15m",
     .help = "Also what was logged so long before the job began"},
    {.name = "after",
     .type = ParamType::duration,
     .fallback = "5m",
     .help = "And so long after it ended"},
};

Result<std::unique_ptr<Collector>> open_log_kmsg(const ComponentSettings& settings, Host& host) {
  KmsgOptions options;
  options.connector = settings.full_name();
  options.path = settings.text("path");
  options.before = settings.duration("before");
  options.after = settings.duration("after");
  return make_log_kmsg(std::move(options), host);
}

ProbeFindings probe_log_kmsg(const ComponentSettings& settings, Host& host) {
  const std::string& path = settings.text("path");
  const auto ring = read_kernel_ring(path, host.deadline);
  if (ring) {
    return {probe_ok("read " + path, fmt::format("{} kernel messages", ring->records.size()))};
  }
  const bool is_denied = ring.error().code == Error::Code::permission;
  return {probe_fault("read " + path, ring.error().message,
                      is_denied
                          ? "run nvab-run as root, or give it CAP_SYSLOG"
                          : "use log.journald, or log.file with the files of a syslog daemon")};
}

}  // namespace

std::unique_ptr<Collector> make_log_kmsg(KmsgOptions options, Host& host) {
  return std::make_unique<KmsgLog>(std::move(options), host);
}

extern const CollectorComponent log_kmsg;
constinit const CollectorComponent log_kmsg = {
    .spec = {.framework = "log",
             .name = "kmsg",
             .help = "The kernel's ring of this machine, where the job ran here",
             .params = kParams},
    .query = nullptr,
    .open = open_log_kmsg,
    .probe = probe_log_kmsg,
};

}  // namespace nvab
