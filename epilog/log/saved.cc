// SPDX-License-Identifier: Apache-2.0
// See saved.hh; the two files of a stream are read in step.
#include "epilog/log/saved.hh"

#include <fmt/core.h>

#include <filesystem>
#include <system_error>
#include <utility>

#include "common/base/file.hh"
#include "common/engine/extract/stream_reader.hh"
#include "epilog/collect_problems.hh"
#include "epilog/log/line_pull.hh"
#include "epilog/observation_batch.hh"
#include "epilog/output/entry_lines.hh"

namespace nvab {
namespace {

// A message of kMaxLine and the front of a line.
constexpr std::size_t kMaxPlainLine = kMaxLine + 4096;
// Fields of one entry, and the coverage of one stream with its last line, as JSON.
constexpr std::size_t kMaxIndexLine = 64 * 1024;
constexpr std::string_view kEnding = ".ndjson";

class SavedLogs final : public Collector {
 public:
  SavedLogs(std::string folder, Source source, Host& host)
      : folder_(std::move(folder)), source_(source), host_(host) {}
  Source source() const override { return source_; }
  CollectOutcome collect(const ExecutionContext& context, ObservationSink& sink) override;

 private:
  struct Totals {
    std::int64_t entries = 0, streams = 0;
    std::size_t changed = 0;
  };
  Result<void> read(const std::string& name, ObservationSink& sink, Totals* totals);
  Result<void> take(const Json& index, LinePull* plain, std::vector<LogEntry>* entries,
                    Totals* totals);
  Observation empty_observation() const;

  std::string folder_;
  Source source_;
  Host& host_;
};

Observation SavedLogs::empty_observation() const {
  Observation observation;
  observation.source = source_;
  observation.connector = fmt::format("log.saved.{}", to_string(source_));
  return observation;
}

Result<void> SavedLogs::take(const Json& index, LinePull* plain, std::vector<LogEntry>* entries,
                             Totals* totals) {
  std::vector<std::string> lines;
  const std::size_t wanted = lines_of(index);
  while (lines.size() < wanted) {
    const auto line = plain->next();
    if (!line) {
      return fail(Error::Code::malformed, "it has fewer lines than its index says");
    }
    lines.emplace_back(*line);
    if (lines.size() > kMaxBlockLines) {
      return fail(Error::Code::malformed, "its index makes an entry of too many lines");
    }
  }
  auto entry = entry_of(index, lines, source_, &totals->changed);
  if (!entry) return tl::unexpected<Error>(entry.error());
  entries->push_back(std::move(*entry));
  return {};
}

// A bundle may come from anybody: a link in it could lead to a file that is not theirs to see.
Result<Fd> open_own(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_symlink(path, ignored)) {
    return fail(Error::Code::unsupported, path + " is a link; a bundle holds files");
  }
  return open_regular(path);
}

Result<void> SavedLogs::read(const std::string& name, ObservationSink& sink, Totals* totals) {
  auto index_file = open_own(folder_ + "/" + index_path(source_, name));
  if (!index_file) return tl::unexpected<Error>(index_file.error());
  auto plain_file = open_own(folder_ + "/" + plain_path(source_, name));
  if (!plain_file) return tl::unexpected<Error>(plain_file.error());
  LinePull index_lines(std::move(*index_file), kMaxIndexLine);
  LinePull plain(std::move(*plain_file), kMaxPlainLine);
  Observation pending = empty_observation();
  const auto flush = [&] {
    if (pending.entries.empty()) return;
    totals->entries += static_cast<std::int64_t>(pending.entries.size());
    sink.deliver(std::exchange(pending, empty_observation()));
  };
  while (const auto line = index_lines.next()) {
    if (host_.deadline.passed()) return fail(Error::Code::timeout, "the time was over");
    auto index = Json::parse(*line);
    if (!index) return fail("its index", index.error());
    if (index->has("observation")) {
      auto about = observation_from_json(index->get("observation"));
      if (!about) return fail("its index", about.error());
      flush();
      sink.deliver(std::move(*about));
      continue;
    }
    if (auto taken = take(*index, &plain, &pending.entries, totals); !taken) {
      flush();
      return taken;
    }
    if (pending.entries.size() >= kMaxObservationEntries) flush();
  }
  flush();
  ++totals->streams;
  return {};
}

CollectOutcome SavedLogs::collect(const ExecutionContext&, ObservationSink& sink) {
  CollectProblems problems;
  Totals totals;
  for (const std::string& name : saved_streams(folder_, source_)) {
    const std::string path = plain_path(source_, name);
    const std::size_t changed_before = totals.changed;
    if (auto done = read(name, sink, &totals); !done) problems.add(path, std::move(done.error()));
    if (const std::size_t changed = totals.changed - changed_before; changed > 0) {
      problems.add(path, {Error::Code::malformed,
                          fmt::format("{} lines were changed since they were saved; they are "
                                      "taken as they stand",
                                      changed)});
    }
  }
  CollectOutcome outcome = problems.outcome(totals.streams > 0, "stream");
  if (outcome.status == ConnectorStatus::no_data && outcome.reason.empty()) {
    outcome.reason = fmt::format("the bundle holds no {}", to_string(source_));
  }
  outcome.details.set("streams", Json::of(totals.streams));
  outcome.details.set("entries", Json::of(totals.entries));
  return outcome;
}

}  // namespace

std::vector<std::string> saved_streams(const std::string& folder, Source source) {
  std::vector<std::string> streams;
  const auto names = list_folder(fmt::format("{}/index/{}", folder, to_string(source)));
  if (!names) return streams;
  for (const std::string& name : *names) {
    if (name.ends_with(kEnding)) streams.push_back(name.substr(0, name.size() - kEnding.size()));
  }
  return streams;
}

std::unique_ptr<Collector> make_saved_logs(std::string folder, Source source, Host& host) {
  return std::make_unique<SavedLogs>(std::move(folder), source, host);
}

}  // namespace nvab
