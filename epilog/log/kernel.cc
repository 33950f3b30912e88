// SPDX-License-Identifier: Apache-2.0
// The component log.kernel: what the kernel of this machine logged around the job, where the job
// ran here. From the journal, else dmesg, else the files that syslog daemons write.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "common/base/file.hh"
#include "common/base/subprocess.hh"
#include "common/base/text.hh"
#include "common/engine/extract/stream_reader.hh"
#include "epilog/connector.hh"
#include "epilog/log/file.hh"
#include "epilog/log/spool.hh"
#include "epilog/observation_batch.hh"

namespace nvab {
namespace {

// The kernel speaks of a lost GPU or a killed process a little before or after the job's end.
constexpr Duration kBefore = std::chrono::minutes(1);
constexpr Duration kAfter = std::chrono::minutes(5);
// Of a program's output, what tells the dialect.
constexpr std::size_t kProbeBytes = 64 * 1024;

struct KernelOptions {
  std::string connector, journalctl, dmesg;
  std::vector<std::string> files;
};

class KernelLog final : public Collector {
 public:
  KernelLog(KernelOptions options, Host& host) : options_(std::move(options)), host_(host) {}
  Source source() const override { return Source::syslog; }
  CollectOutcome collect(const ExecutionContext& context, ObservationSink& sink) override;

 private:
  std::vector<std::string> local_nodes(const ExecutionContext& context) const;
  std::vector<std::string> journal_command(const ExecutionContext& context) const;
  // Nothing where the program is not there, or has nothing to say.
  std::optional<CollectOutcome> from_program(std::vector<std::string> argv,
                                             const std::string& stream,
                                             const ExecutionContext& context,
                                             const std::string& node, ObservationSink& sink);

  KernelOptions options_;
  Host& host_;
};

std::string host_name() {
  std::array<char, 256> name = {};
  if (::gethostname(name.data(), name.size() - 1) != 0) return {};
  return name.data();
}

std::string_view short_name(std::string_view host) { return host.substr(0, host.find('.')); }

// Those of the job's nodes that are this machine: by name, or because the plugin noted this boot.
std::vector<std::string> KernelLog::local_nodes(const ExecutionContext& context) const {
  const std::string host = host_name();
  std::vector<std::string> nodes;
  for (const std::string& node : context.nodes) {
    if (short_name(node) == short_name(host)) nodes.push_back(node);
  }
  const auto boot = read_file(host_.root + "/proc/sys/kernel/random/boot_id", 100);
  const auto paths = spool_files(host_.spool, context);
  if (!boot || !paths) return nodes;
  TaskTable table(context);
  for (const std::string& path : *paths) (void)read_task_file(path, host_.deadline, &table);
  for (const TaskStream& stream : table.streams()) {
    const bool is_new = std::find(nodes.begin(), nodes.end(), stream.node) == nodes.end();
    if (stream.boot_id == trim(*boot) && is_new && context.has_node(stream.node)) {
      nodes.push_back(stream.node);
    }
  }
  return nodes;
}

std::vector<std::string> KernelLog::journal_command(const ExecutionContext& context) const {
  const auto at = [](Time time) {
    return fmt::format("@{}", time.time_since_epoch().count() / 1'000'000);
  };
  std::vector<std::string> argv = {
      options_.journalctl, "--dmesg",       "--output=short-iso-precise",
      "--no-pager",        "--no-hostname", "--quiet"};
  if (context.start_time) argv.push_back("--since=" + at(*context.start_time - kBefore));
  if (context.end_time) argv.push_back("--until=" + at(*context.end_time + kAfter));
  return argv;
}

std::optional<CollectOutcome> KernelLog::from_program(std::vector<std::string> argv,
                                                      const std::string& stream,
                                                      const ExecutionContext& context,
                                                      const std::string& node,
                                                      ObservationSink& sink) {
  Command command;
  command.argv = std::move(argv);
  command.deadline = host_.deadline;
  const auto end = run_command(command);
  CollectOutcome outcome;
  if (!end && end.error().code == Error::Code::timeout) {
    outcome.status = ConnectorStatus::timed_out;
    outcome.reason = end.error().message;
    return outcome;
  }
  if (!end || !end->succeeded() || trim(end->output).empty()) return std::nullopt;
  const std::string_view text = end->output;
  StreamInfo info =
      probe_stream(stream, Source::syslog, text.substr(0, kProbeBytes),
                   text.substr(text.size() - std::min(text.size(), kProbeBytes)), context);
  info.node = node;
  info.trust = Trust::kernel;
  const RulesetName* filter = host_.all_lines ? nullptr : &host_.rules->name();
  ObservationBatch batch(Source::syslog, options_.connector, filter, sink);
  StreamReader reader(
      *host_.rules, std::move(info), [&](LogEntry&& entry) { batch.add(std::move(entry)); },
      host_.all_lines);
  reader.feed(text);
  StreamCoverage coverage = reader.finish();
  outcome.details = Json::object();
  outcome.details.set("lines", Json::of(static_cast<std::int64_t>(coverage.lines)));
  batch.add(std::move(coverage), text.size(), reader.bytes_replaced());
  batch.flush();
  return outcome;
}

CollectOutcome KernelLog::collect(const ExecutionContext& context, ObservationSink& sink) {
  const std::vector<std::string> nodes = local_nodes(context);
  CollectOutcome outcome;
  if (nodes.empty()) {
    outcome.status = ConnectorStatus::no_data;
    outcome.reason = "none of the job's nodes is this machine";
    return outcome;
  }
  // Several nodes on one machine have one kernel: its lines are of none of them alone.
  const std::string node = nodes.size() == 1 ? nodes.front() : std::string();
  if (auto done = from_program(journal_command(context), "journal", context, node, sink)) {
    return *done;
  }
  if (auto done =
          from_program({options_.dmesg, "--time-format=iso"}, "dmesg", context, node, sink)) {
    return *done;
  }
  LogFileOptions files;
  files.connector = options_.connector;
  files.source = Source::syslog;
  files.node = node;
  for (const std::string& path : options_.files) {
    if (exists(host_.root + path)) files.paths.push_back(host_.root + path);
  }
  if (!files.paths.empty()) return make_log_file(std::move(files), host_)->collect(context, sink);
  outcome.status = ConnectorStatus::unavailable;
  outcome.reason =
      "this machine has no journal, no dmesg for us, and no kernel messages in /var/log";
  return outcome;
}

constexpr ParamSpec kParams[] = {
    {.name = "journalctl",
     .type = ParamType::path,
     .fallback = "journalctl",
     .help = "The journalctl to run"},
    {.name = "dmesg", .type = ParamType::path, .fallback = "dmesg", .help = "The dmesg to run"},
    {.name = "files",
     .type = ParamType::list,
     .fallback = "/var/log/kern.log,/var/log/messages,/var/log/syslog",
     .help = "Files with kernel messages, where neither of them has any"},
};

Result<std::unique_ptr<Collector>> open_log_kernel(const ComponentSettings& settings, Host& host) {
  KernelOptions options;
  options.connector = settings.full_name();
  options.journalctl = settings.text("journalctl");
  options.dmesg = settings.text("dmesg");
  options.files = settings.list("files");
  return std::make_unique<KernelLog>(std::move(options), host);
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
};

}  // namespace nvab
