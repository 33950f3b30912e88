// SPDX-License-Identifier: Apache-2.0
// The component log.kernel: what the kernel of this machine logged around the job, where the job
// ran here, from the best witness that is there: the journal (it survives a reboot, and has the
// time of day), the kernel's own ring, the files that syslog daemons write.
#include <utility>

#include "common/base/file.hh"
#include "epilog/connector.hh"
#include "epilog/log/file.hh"
#include "epilog/log/journald.hh"
#include "epilog/log/kmsg.hh"
#include "epilog/log/local_nodes.hh"

namespace nvab {
namespace {

// The kernel speaks of a lost GPU or a killed process a little before or after the job's end.
constexpr Duration kBefore = std::chrono::minutes(1);
constexpr Duration kAfter = std::chrono::minutes(5);

struct KernelOptions {
  std::string connector, ring;
  std::vector<std::string> files;
};

class KernelLog final : public Collector {
 public:
  KernelLog(KernelOptions options, Host& host) : options_(std::move(options)), host_(host) {}
  Source source() const override { return Source::syslog; }
  CollectOutcome collect(const ExecutionContext& context, ObservationSink& sink) override;

 private:
  std::unique_ptr<Collector> journal() const;
  std::unique_ptr<Collector> ring() const;
  std::unique_ptr<Collector> files(const std::string& node) const;  // null: there is none

  KernelOptions options_;
  Host& host_;
};

std::unique_ptr<Collector> KernelLog::journal() const {
  JournaldOptions options;
  options.connector = options_.connector;
  options.only_kernel = true;
  options.before = kBefore;
  options.after = kAfter;
  return make_log_journald(std::move(options), host_);
}

std::unique_ptr<Collector> KernelLog::ring() const {
  KmsgOptions options;
  options.connector = options_.connector;
  options.path = host_.root + options_.ring;
  options.before = kBefore;
  options.after = kAfter;
  return make_log_kmsg(std::move(options), host_);
}

std::unique_ptr<Collector> KernelLog::files(const std::string& node) const {
  LogFileOptions files;
  files.connector = options_.connector;
  files.source = Source::syslog;
  files.node = node;
  for (const std::string& path : options_.files) {
    if (exists(host_.root + path)) files.paths.push_back(host_.root + path);
  }
  return files.paths.empty() ? nullptr : make_log_file(std::move(files), host_);
}

// Whoever has something to say has the last word; a time that is over ends it, too.
bool settles(const CollectOutcome& outcome) {
  return outcome.status == ConnectorStatus::ok || outcome.status == ConnectorStatus::timed_out;
}

CollectOutcome KernelLog::collect(const ExecutionContext& context, ObservationSink& sink) {
  const std::vector<std::string> nodes = local_nodes(context, host_);
  CollectOutcome outcome;
  if (nodes.empty()) {
    outcome.status = ConnectorStatus::no_data;
    outcome.reason = "none of the job's nodes is this machine";
    return outcome;
  }
  CollectOutcome from_journal = journal()->collect(context, sink);
  if (settles(from_journal)) return from_journal;
  CollectOutcome from_ring = ring()->collect(context, sink);
  if (settles(from_ring)) return from_ring;
  if (const auto files = this->files(sole_node(nodes))) {
    CollectOutcome from_files = files->collect(context, sink);
    if (settles(from_files)) return from_files;
  }
  // A witness that was there and silent is better than none.
  for (CollectOutcome* silent : {&from_journal, &from_ring}) {
    if (silent->status == ConnectorStatus::no_data) return std::move(*silent);
  }
  from_ring.reason = "the journal: " + from_journal.reason +
                     "; the kernel's ring: " + from_ring.reason +
                     "; and there are no kernel messages in /var/log";
  return from_ring;
}

constexpr ParamSpec kParams[] = {
    {.name = "ring",
     .type = ParamType::path,
     .fallback = "/dev/kmsg",
     .help = "The kernel's ring, where the journal has nothing"},
    {.name = "files",
     .type = ParamType::list,
     .fallback = "/var/log/kern.log,/var/log/messages,/var/log/syslog",
     .help = "Files with kernel messages, where neither of them has any"},
};

Result<std::unique_ptr<Collector>> open_log_kernel(const ComponentSettings& settings, Host& host) {
  KernelOptions options;
  options.connector = settings.full_name();
  options.ring = settings.text("ring");
  options.files = settings.list("files");
  return std::make_unique<KernelLog>(std::move(options), host);
}

// Any of them will do.
ProbeFindings probe_log_kernel(const ComponentSettings& settings, Host& host) {
  const auto ring = read_kernel_ring(host.root + settings.text("ring"), host.deadline);
  if (ring) return {probe_ok("read the kernel's messages", "by " + settings.text("ring"))};
  for (const std::string& path : settings.list("files")) {
    if (open_regular(host.root + path)) {
      return {probe_ok("read the kernel's messages", "in " + path)};
    }
  }
  return {probe_warning("read the kernel's messages", ring.error().message,
                        "run nvab-run as root, or give it CAP_SYSLOG; the journal may still do")};
}

}  // namespace

extern const CollectorComponent log_kernel;
constinit const CollectorComponent log_kernel = {
    .spec = {.framework = "log",
             .name = "kernel",
             .help = "Kernel messages of this machine, where the job ran here",
             .params = kParams},
    .query = nullptr,
    .open = open_log_kernel,
    .probe = probe_log_kernel,
};

}  // namespace nvab
