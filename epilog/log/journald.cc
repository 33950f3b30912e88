// SPDX-License-Identifier: Apache-2.0
// See journald.hh. Who wrote a line is what the journal itself noted (_TRANSPORT, _UID), never what
// the line says; a line is of a host of the job or is not read.
#include "epilog/log/journald.hh"

#include <fmt/core.h>

#include <map>
#include <utility>

#include "common/base/decode.hh"
#include "common/base/text.hh"
#include "epilog/collect_problems.hh"
#include "epilog/connector.hh"
#include "epilog/log/journal_export.hh"
#include "epilog/log/journal_library.hh"
#include "epilog/log/local_nodes.hh"
#include "epilog/log/record_stream.hh"
#include "epilog/log/source_files.hh"

namespace nvab {
namespace {

constexpr std::string_view kJournalMagic = "LPKSHHRH";
constexpr const char* kThisJournal = "the journal of this machine";

class JournaldLog final : public Collector {
 public:
  JournaldLog(JournaldOptions options, Host& host) : options_(std::move(options)), host_(host) {}
  Source source() const override { return Source::syslog; }
  CollectOutcome collect(const ExecutionContext& context, ObservationSink& sink) override;

 private:
  // One collection.
  struct Round {
    const ExecutionContext& context;
    JournalFilter filter;
    ObservationBatch batch;
    CollectProblems problems = {};
    std::map<std::string, RecordStream> streams = {};  // by host
    std::uint64_t lines = 0;
    bool any_file = false;

    void finish_streams();
  };

  JournalFilter filter_for(const ExecutionContext& context) const;
  void read_local(const std::string& node, Round* round);
  void read_files(Round* round);
  void read_journals(const std::vector<std::string>& paths, Round* round);
  Result<void> read_export(const SourceFile& file, const Fd& fd, bool is_json, Round* round);
  void take(const JournalRecord& record, Round* round);

  JournaldOptions options_;
  Host& host_;
};

void JournaldLog::Round::finish_streams() {
  for (auto& [host, stream] : streams) {
    lines += stream.lines();
    stream.finish();
  }
  streams.clear();
}

JournalFilter JournaldLog::filter_for(const ExecutionContext& context) const {
  JournalFilter filter;
  if (context.start_time) filter.since = *context.start_time - options_.before;
  if (context.end_time) filter.until = *context.end_time + options_.after;
  filter.only_kernel = options_.only_kernel;
  filter.units = options_.units;
  filter.boot = options_.boot == "current" ? JournalLibrary::current_boot() : options_.boot;
  filter.cursor = options_.cursor;
  return filter;
}

void JournaldLog::read_local(const std::string& node, Round* round) {
  auto journal = JournalLibrary::open({});
  if (!journal) return round->problems.add(kThisJournal, std::move(journal.error()));
  if (!journal->has_files()) {
    return round->problems.add(kThisJournal,
                               {Error::Code::not_found, "there is none that this user may read"});
  }
  round->any_file = true;
  RecordStream& stream =
      round->streams.try_emplace(node, "journal", node, host_, round->batch).first->second;
  auto done = journal->read(round->filter, {}, host_.deadline, [&](const JournalRecord& record) {
    LogRecord line = record.line();
    line.host = node;
    stream.add(line);
  });
  if (!done) round->problems.add(kThisJournal, std::move(done.error()));
  round->finish_streams();
}

void JournaldLog::take(const JournalRecord& record, Round* round) {
  if (!round->filter.wants(record)) return;
  if (node_called(round->context, record.host).empty()) return;
  const auto stream = round->streams.try_emplace(record.host, "journal/" + sanitize(record.host),
                                                 record.host, host_, round->batch);
  stream.first->second.add(record.line());
}

// One host after the other, so that the memory is that of one.
void JournaldLog::read_journals(const std::vector<std::string>& paths, Round* round) {
  auto journal = JournalLibrary::open(paths);
  if (!journal) return round->problems.add(paths.front(), std::move(journal.error()));
  round->any_file = true;
  for (const std::string& host : journal->hosts()) {
    if (node_called(round->context, host).empty()) continue;
    auto done = journal->read(round->filter, host, host_.deadline,
                              [&](const JournalRecord& record) { take(record, round); });
    round->finish_streams();
    if (!done) return round->problems.add(paths.front(), std::move(done.error()));
  }
}

Result<void> JournaldLog::read_export(const SourceFile& file, const Fd& fd, bool is_json,
                                      Round* round) {
  if (host_.progress != nullptr) host_.progress->begin_file(file.path);
  bool is_behind = round->filter.cursor.empty(), in_time = true, goes_on = true;
  const auto sink = [&](const JournalRecord& record) {
    if (is_behind) take(record, round);
    is_behind = is_behind || record.cursor == round->filter.cursor;
  };
  JournalExportParser exported(sink);
  JournalJsonParser json(sink);
  const auto decoded = decode_file(fd, [&](std::string_view block) {
    if (host_.progress != nullptr) host_.progress->add_bytes(block.size());
    if (is_json) {
      json.feed(block);
    } else {
      goes_on = exported.feed(block);
    }
    in_time = !host_.deadline.passed();
    return in_time && goes_on;
  });
  if (is_json) json.finish();
  auto done = is_json ? Result<void>() : exported.finish();
  round->any_file = true;
  if (!decoded) return tl::unexpected(decoded.error());
  if (!in_time) return fail(Error::Code::timeout, "the time for reading was over");
  if (decoded->truncated) return fail(Error::Code::malformed, "the packed file is damaged or cut");
  if (done && json.bad_lines() > 0) {
    return fail(Error::Code::malformed,
                fmt::format("{} lines are no JSON object", json.bad_lines()));
  }
  if (done && !is_behind) return fail(Error::Code::not_found, "the cursor is not in it");
  return done;
}

// What the first plain bytes say.
std::string head_of(const Fd& fd) {
  std::string head;
  (void)decode_file(fd, [&](std::string_view block) {
    head = block.substr(0, 64);
    return false;
  });
  return head;
}

void JournaldLog::read_files(Round* round) {
  FileSearch search;
  search.paths = options_.paths;
  SourceFiles found = find_source_files(search);
  for (SkippedFile& skipped : found.skipped) {
    round->problems.add(skipped.path, std::move(skipped.error));
  }
  std::vector<std::string> journals;
  for (const SourceFile& file : found.files) {
    auto fd = open_source(file);
    if (!fd) {
      round->problems.add(file.path, std::move(fd.error()));
      continue;
    }
    const std::string head = head_of(*fd);
    if (head.starts_with(kJournalMagic)) {
      journals.push_back(file.path);
      continue;
    }
    if (head.empty()) continue;
    auto again = open_source(file);
    auto done = again ? read_export(file, *again, trim(head).starts_with('{'), round)
                      : Result<void>(tl::unexpected(again.error()));
    round->finish_streams();
    if (!done) round->problems.add(file.path, std::move(done.error()));
  }
  if (!journals.empty()) read_journals(journals, round);
}

CollectOutcome JournaldLog::collect(const ExecutionContext& context, ObservationSink& sink) {
  const bool is_local = options_.paths.empty();
  const std::vector<std::string> nodes =
      is_local ? local_nodes(context, host_) : std::vector<std::string>();
  CollectOutcome outcome;
  if (is_local && nodes.empty()) {
    outcome.status = ConnectorStatus::no_data;
    outcome.reason = "none of the job's nodes is this machine";
    return outcome;
  }
  const RulesetName* filter = host_.all_lines ? nullptr : &host_.rules->name();
  Round round{context, filter_for(context),
              ObservationBatch(Source::syslog, options_.connector, filter, sink)};
  if (is_local) {
    read_local(sole_node(nodes), &round);
  } else {
    read_files(&round);
  }
  round.batch.flush();
  outcome = round.problems.outcome(round.any_file, "journal");
  if (is_local && !round.any_file && outcome.status == ConnectorStatus::no_data) {
    outcome.status = ConnectorStatus::unavailable;
  } else if (outcome.status == ConnectorStatus::ok && round.lines == 0) {
    outcome.status = ConnectorStatus::no_data;
    outcome.reason = "the journal has nothing of the job's nodes in the job's time";
  } else if (outcome.status == ConnectorStatus::no_data && outcome.reason.empty()) {
    outcome.reason = fmt::format("there is no journal in {}", join(options_.paths, ", "));
  }
  outcome.details.set("lines", Json::of(static_cast<std::int64_t>(round.lines)));
  return outcome;
}

constexpr ParamSpec kParams[] = {
    {.name = "paths",
     .type = ParamType::list,
     .help = "Journals, folders of them, and exports (-o export, -o json); default: the local one"},
    {.name = "kernel",
     .type = ParamType::boolean,
     .fallback = "false",
     .help = "Only what the kernel said"},
    {.name = "units",
     .type = ParamType::list,
     .help = "Only these units, e.g. slurmd.service; with kernel: the kernel and these"},
    {.name = "boot", .help = "Only of the boot with this id, or of the current one"},
    {.name = "cursor", .help = "Only what stands behind this cursor of journalctl"},
    {.name = "before",
     .type = ParamType::duration,
     .fallback = "15m",
     .help = "Also what was logged so long before the job began"},
    {.name = "after",
     .type = ParamType::duration,
     .fallback = "5m",
     .help = "And so long after it ended"},
};

Result<std::unique_ptr<Collector>> open_log_journald(const ComponentSettings& settings,
                                                     Host& host) {
  JournaldOptions options;
  options.connector = settings.full_name();
  options.paths = settings.list("paths");
  options.only_kernel = settings.flag("kernel");
  options.units = settings.list("units");
  for (std::string& unit : options.units) {
    if (unit.find('.') == std::string::npos) unit += ".service";
  }
  options.boot = settings.text("boot");
  constexpr std::size_t kBootDigits = 32;
  std::erase(options.boot, '-');
  const bool is_id = options.boot.size() == kBootDigits &&
                     options.boot.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (!options.boot.empty() && options.boot != "current" && !is_id) {
    return fail(Error::Code::malformed, "boot is neither \"current\" nor an id of 32 digits");
  }
  options.cursor = settings.text("cursor");
  options.before = settings.duration("before");
  options.after = settings.duration("after");
  return make_log_journald(std::move(options), host);
}

ProbeFindings probe_log_journald(const ComponentSettings& settings, Host& host) {
  if (!settings.list("paths").empty()) {
    FileSearch search;
    search.paths = settings.list("paths");
    const SourceFiles found = find_source_files(search);
    const std::string what = "read " + join(search.paths, ", ");
    for (const SkippedFile& skipped : found.skipped) {
      return {probe_fault(what, skipped.path + ": " + skipped.error.message,
                          "correct paths, or let this user read them")};
    }
    if (!found.files.empty()) return {probe_ok(what, fmt::format("{} files", found.files.size()))};
    return {probe_warning(what, "nothing is there", "see whether journals arrive there")};
  }
  auto journal = JournalLibrary::open({});
  if (!journal) {
    return {probe_fault("open the journal", journal.error().message,
                        "install libsystemd0, or use log.kmsg or log.file instead")};
  }
  std::uint64_t entries = 0;
  JournalFilter filter;
  const auto now = std::chrono::floor<Duration>(std::chrono::system_clock::now());
  constexpr Duration kLookBack = std::chrono::hours(1);
  filter.since = now - kLookBack;
  if (journal->has_files()) {
    (void)journal->read(filter, {}, host.deadline, [&](const JournalRecord&) { ++entries; });
  }
  if (entries > 0) {
    return {probe_ok("read the journal", fmt::format("{} entries of the last hour", entries))};
  }
  return {probe_warning("read the journal", "no entry of the last hour",
                        "see whether systemd-journald runs, and put this user into the group "
                        "systemd-journal")};
}

}  // namespace

std::unique_ptr<Collector> make_log_journald(JournaldOptions options, Host& host) {
  return std::make_unique<JournaldLog>(std::move(options), host);
}

extern const CollectorComponent log_journald;
constinit const CollectorComponent log_journald = {
    .spec = {.framework = "log",
             .name = "journald",
             .help = "systemd's journal: this machine's, or journals and exports in files",
             .params = kParams},
    .query = nullptr,
    .open = open_log_journald,
    .probe = probe_log_journald,
};

}  // namespace nvab
