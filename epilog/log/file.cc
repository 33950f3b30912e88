// SPDX-License-Identifier: Apache-2.0
// Each file is probed at its head and tail (whose clock, which zone, which node), then streamed
// through the rules' first stage; only what may matter is parsed and delivered.
#include "epilog/log/file.hh"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "common/base/decode.hh"
#include "common/base/file.hh"
#include "common/base/text.hh"
#include "common/engine/extract/stream_reader.hh"
#include "epilog/collect_problems.hh"
#include "epilog/connector.hh"
#include "epilog/log/path_template.hh"
#include "epilog/log/source_files.hh"
#include "epilog/observation_batch.hh"

namespace nvab {
namespace {

// What probe_stream takes of each end.
constexpr std::size_t kProbeBytes = 64 * 1024;
// A packed file must be unpacked to see its tail; up to this size that is worth a second pass.
constexpr std::uint64_t kMaxTailUnpack = 64 * 1024 * 1024;
// Files that were written until shortly before the job still say what state the node was in.
constexpr Duration kBeforeStart = std::chrono::hours(1);

struct Probe {
  std::string head, tail;
};

std::string read_at(const Fd& fd, std::size_t size, std::uint64_t offset) {
  std::string bytes(size, '\0');
  std::size_t used = 0;
  while (used < size) {
    const ssize_t got =
        ::pread(fd.get(), bytes.data() + used, size - used, static_cast<off_t>(offset + used));
    if (got <= 0) break;
    used += static_cast<std::size_t>(got);
  }
  bytes.resize(used);
  return bytes;
}

bool is_packed(std::string_view head) {
  return head.starts_with("\x1f\x8b") || head.starts_with("\x28\xb5\x2f\xfd");
}

// The tail starts at a line. A file of up to kProbeBytes has no tail beside its head.
void drop_partial_line(std::string* tail) {
  const std::size_t end = tail->find('\n');
  tail->erase(0, end == std::string::npos ? 0 : end + 1);
}

Probe probe_packed(const Fd& fd, std::uint64_t size) {
  Probe probe;
  bool was_cut = false;
  const auto keep_ends = [&](std::string_view block) {
    const std::size_t missing = kProbeBytes - std::min(kProbeBytes, probe.head.size());
    probe.head.append(block.substr(0, missing));
    if (size > kMaxTailUnpack && missing <= block.size()) return false;
    probe.tail.append(block.substr(std::min(missing, block.size())));
    if (probe.tail.size() > 4 * kProbeBytes + kReadBlock) {
      probe.tail.erase(0, probe.tail.size() - kProbeBytes);
      was_cut = true;
    }
    return true;
  };
  // What is wrong with the file is found, and said, when it is read.
  (void)decode_file(fd, keep_ends);
  if (size > kMaxTailUnpack) probe.tail.clear();
  if (probe.tail.size() > kProbeBytes) {
    probe.tail.erase(0, probe.tail.size() - kProbeBytes);
    was_cut = true;
  }
  if (was_cut) drop_partial_line(&probe.tail);
  return probe;
}

Probe probe_file(const Fd& fd) {
  struct stat status {};
  const std::uint64_t size =
      ::fstat(fd.get(), &status) == 0 ? static_cast<std::uint64_t>(status.st_size) : 0;
  Probe probe;
  probe.head = read_at(fd, kProbeBytes, 0);
  if (is_packed(probe.head)) return probe_packed(fd, size);
  if (size > kProbeBytes) {
    probe.tail = read_at(fd, kProbeBytes, size - kProbeBytes);
    drop_partial_line(&probe.tail);
  }
  return probe;
}

class LogFile final : public Collector {
 public:
  LogFile(LogFileOptions options, Host& host) : options_(std::move(options)), host_(host) {}
  Source source() const override { return options_.source; }
  CollectOutcome collect(const ExecutionContext& context, ObservationSink& sink) override;

 private:
  // Bytes and lines of one collection.
  struct Totals {
    std::uint64_t files = 0, bytes = 0, lines = 0;
  };

  SourceFiles find(const ExecutionContext& context) const;
  void report_nodes(const SourceFiles& found, const ExecutionContext& context, Json* details) const;
  Result<void> read(const SourceFile& file, const ExecutionContext& context,
                    ObservationBatch* batch, Totals* totals);

  LogFileOptions options_;
  Host& host_;
};

SourceFiles LogFile::find(const ExecutionContext& context) const {
  if (options_.found) return *options_.found;
  FileSearch search;
  search.base = options_.base;
  if (options_.rotated && context.start_time) {
    search.rotated_since = *context.start_time - kBeforeStart;
  }
  SourceFiles all;
  // What lies below a node's folder is the node's.
  std::map<std::string, std::vector<std::string>> by_node;
  for (const std::string& path : options_.paths) {
    if (!is_path_template(path)) {
      by_node[""].push_back(path);
      continue;
    }
    auto expanded = expand_path_template(path, context);
    if (!expanded) {
      all.skipped.push_back({path, std::move(expanded.error())});
      continue;
    }
    for (TemplatePath& found : expanded->paths) by_node[found.node].push_back(found.path);
    std::move(expanded->skipped.begin(), expanded->skipped.end(), std::back_inserter(all.skipped));
  }
  for (auto& [node, paths] : by_node) {
    search.paths = std::move(paths);
    SourceFiles found = find_source_files(search);
    for (SourceFile& file : found.files) {
      if (!node.empty()) file.node = node;
      all.files.push_back(std::move(file));
    }
    std::move(found.skipped.begin(), found.skipped.end(), std::back_inserter(all.skipped));
  }
  return all;
}

// How many of the job's nodes have no file, where paths tell nodes apart.
void LogFile::report_nodes(const SourceFiles& found, const ExecutionContext& context,
                           Json* details) const {
  std::set<std::string_view> seen;
  for (const SourceFile& file : found.files) seen.insert(file.node);
  if (options_.found ||
      !std::any_of(options_.paths.begin(), options_.paths.end(), is_path_template)) {
    return;
  }
  const auto missing = std::count_if(context.nodes.begin(), context.nodes.end(),
                                     [&](const std::string& node) { return !seen.contains(node); });
  details->set("nodes_without_files", Json::of(static_cast<std::int64_t>(missing)));
}

Result<void> LogFile::read(const SourceFile& file, const ExecutionContext& context,
                           ObservationBatch* batch, Totals* totals) {
  auto fd = open_source(file);
  if (!fd) return tl::unexpected<Error>(fd.error());
  if (host_.progress != nullptr) host_.progress->begin_file(file.path);

  const Probe probe = probe_file(*fd);
  StreamInfo stream = probe_stream(file.stream, options_.source, probe.head, probe.tail, context);
  if (!file.node.empty()) stream.node = file.node;
  if (stream.node.empty()) stream.node = options_.node;
  if (file.task && !stream.rank) stream.task = file.task;
  StreamReader reader(
      *host_.rules, std::move(stream), [&](LogEntry&& entry) { batch->add(std::move(entry)); },
      host_.all_lines);
  bool in_time = true;
  const auto decoded = decode_file(*fd, [&](std::string_view block) {
    reader.feed(block);
    if (host_.progress != nullptr) host_.progress->add_bytes(block.size());
    in_time = !host_.deadline.passed();
    return in_time;
  });

  // What was read before any trouble counts.
  StreamCoverage coverage = reader.finish();
  const std::uint64_t bytes = decoded ? decoded->bytes_decoded : 0;
  ++totals->files;
  totals->bytes += bytes;
  totals->lines += coverage.lines;
  const bool is_whole = decoded && !decoded->truncated && !decoded->shrunk;
  if (!in_time || !is_whole) batch->mark_truncated();
  batch->add(std::move(coverage), bytes, reader.bytes_replaced());
  if (!decoded) return tl::unexpected<Error>(decoded.error());
  if (!in_time) return fail(Error::Code::timeout, "the time for reading was over");
  if (decoded->shrunk) {
    return fail(
        Error::Code::malformed,
        fmt::format("the file was cut down while it was read; it ended after {} bytes", bytes));
  }
  if (decoded->truncated) {
    return fail(Error::Code::malformed,
                fmt::format("the packed file is damaged or cut after {} bytes", bytes));
  }
  return {};
}

CollectOutcome LogFile::collect(const ExecutionContext& context, ObservationSink& sink) {
  SourceFiles found = find(context);
  CollectProblems problems;
  for (SkippedFile& skipped : found.skipped) problems.add(skipped.path, std::move(skipped.error));

  const RulesetName* filter = host_.all_lines ? nullptr : &host_.rules->name();
  ObservationBatch batch(options_.source, options_.connector, filter, sink);
  Totals totals;
  for (const SourceFile& file : found.files) {
    if (host_.deadline.passed()) {
      problems.add(file.path, {Error::Code::timeout, "the time for reading was over"});
      continue;
    }
    if (auto read_result = read(file, context, &batch, &totals); !read_result) {
      problems.add(file.path, std::move(read_result.error()));
    }
  }
  batch.flush();

  CollectOutcome outcome = problems.outcome(totals.files > 0, "file");
  if (outcome.status == ConnectorStatus::no_data && outcome.reason.empty()) {
    outcome.reason = fmt::format("there is no file in {}", join(options_.paths, ", "));
  } else if (outcome.status == ConnectorStatus::ok && totals.lines == 0) {
    outcome.status = ConnectorStatus::no_data;
    outcome.reason = fmt::format("{} {} there and empty", totals.files,
                                 totals.files == 1 ? "file is" : "files are");
  }
  outcome.details.set("files", Json::of(static_cast<std::int64_t>(totals.files)));
  outcome.details.set("bytes", Json::of(static_cast<std::int64_t>(totals.bytes)));
  outcome.details.set("lines", Json::of(static_cast<std::int64_t>(totals.lines)));
  report_nodes(found, context, &outcome.details);
  return outcome;
}

constexpr ParamSpec kParams[] = {
    {.name = "source",
     .fallback = "applog",
     .help = "What the lines are: applog (of the job's programs) or syslog",
     .choices = "applog|syslog"},
    {.name = "paths",
     .type = ParamType::list,
     .help = "Files, folders, patterns such as *.log, and /…/%HOSTNAME%/… of the job's nodes"},
    {.name = "rotated",
     .type = ParamType::boolean,
     .fallback = "true",
     .help = "Also read logrotate's older files that reach into the job"},
    {.name = "node", .help = "Who wrote lines that name no node"},
};

Result<std::unique_ptr<Collector>> open_log_file(const ComponentSettings& settings, Host& host) {
  if (settings.list("paths").empty()) {
    return fail(Error::Code::malformed,
                settings.full_name() + " has no paths; set paths = [\"/path/to/*.log\"]");
  }
  LogFileOptions options;
  options.connector = settings.full_name();
  options.source = *source_from(settings.text("source"));
  options.paths = settings.list("paths");
  options.rotated = settings.flag("rotated");
  options.node = settings.text("node");
  return make_log_file(std::move(options), host);
}

ProbeFindings probe_log_file(const ComponentSettings& settings, Host&) {
  ProbeFindings findings;
  for (const std::string& path : settings.list("paths")) {
    // Of a tree of nodes, what stands before the first property.
    const std::size_t property = std::min(path.find('%'), path.find('{'));
    const std::string shown =
        is_path_template(path) ? path.substr(0, path.rfind('/', property)) : path;
    const std::string what = "read " + path;
    FileSearch search;
    search.paths = {shown};
    const SourceFiles found = find_source_files(search);
    Result<void> read;
    if (!found.skipped.empty()) read = tl::unexpected(found.skipped.front().error);
    if (read && !found.files.empty()) {
      if (auto fd = open_source(found.files.front()); !fd) read = tl::unexpected(fd.error());
    }
    if (!read && read.error().code == Error::Code::permission) {
      findings.push_back(
          probe_fault(what, read.error().message, "let this user read it, or run as root"));
    } else if (!read || found.files.empty()) {
      findings.push_back(probe_warning(what, read ? "no file is there" : read.error().message,
                                       "correct paths, or see why nothing arrives there"));
    } else {
      findings.push_back(probe_ok(what, fmt::format("{} files", found.files.size())));
    }
  }
  return findings;
}

}  // namespace

std::unique_ptr<Collector> make_log_file(LogFileOptions options, Host& host) {
  return std::make_unique<LogFile>(std::move(options), host);
}

extern const CollectorComponent log_file;
constinit const CollectorComponent log_file = {
    .spec = {.framework = "log",
             .name = "file",
             .help = "Log files, plain, gzip or zstd",
             .params = kParams},
    .query = nullptr,
    .open = open_log_file,
    .probe = probe_log_file,
};

}  // namespace nvab
