// SPDX-License-Identifier: Apache-2.0
// See replay.hh; the layout is in nvab-result(5).
#include "epilog/replay.hh"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "common/base/file.hh"
#include "epilog/eca/static.hh"
#include "epilog/log/file.hh"
#include "epilog/log/flight_recorder.hh"
#include "epilog/log/saved.hh"
#include "epilog/log/source_files.hh"
#include "epilog/log/task_exits.hh"
#include "epilog/metric/file.hh"

namespace nvab {
namespace {

class OneContext final : public ContextSource {
 public:
  explicit OneContext(ExecutionContext context) : context_(std::move(context)) {}
  Result<std::vector<ExecutionContext>> discover() override {
    return std::vector<ExecutionContext>{context_};
  }

 private:
  ExecutionContext context_;
};

// What a collector of the saved run said, where it was not able to look: the replay is as blind.
class Blind final : public Collector {
 public:
  Blind(Source source, CollectOutcome outcome) : source_(source), outcome_(std::move(outcome)) {}
  Source source() const override { return source_; }
  CollectOutcome collect(const ExecutionContext&, ObservationSink&) override { return outcome_; }

 private:
  Source source_;
  CollectOutcome outcome_;
};

// Files of a folder that the bundle's index does not hold.
std::vector<std::string> plain_files(const std::string& folder, const char* name,
                                     const std::vector<std::string>& saved) {
  if (saved.empty()) return {folder + "/" + name};
  FileSearch search;
  search.paths = {folder + "/" + name};
  search.base = folder + "/" + name;
  std::vector<std::string> paths;
  for (const SourceFile& file : find_source_files(search).files) {
    if (std::find(saved.begin(), saved.end(), file.stream) == saved.end()) {
      paths.push_back(file.path);
    }
  }
  return paths;
}

// Logs of one source: what the index holds as it was collected, other files as they are.
void add_logs(const std::string& folder, Source source, Host& host,
              std::vector<NamedCollector>* collectors) {
  const std::string name(to_string(source));
  const std::vector<std::string> saved = saved_streams(folder, source);
  if (!saved.empty()) {
    collectors->push_back({"log.saved." + name, make_saved_logs(folder, source, host), source, {}});
  }
  LogFileOptions options;
  options.connector = "log.file." + name;
  options.source = source;
  options.paths = plain_files(folder, name.c_str(), saved);
  options.base = folder;
  options.rotated = false;  // what belongs to the job was put into the bundle
  if (options.paths.empty()) return;
  collectors->push_back({options.connector, make_log_file(options, host), source, {}});
}

Result<void> add_blind(const std::string& folder, std::vector<NamedCollector>* collectors) {
  const std::string path = folder + "/bundle.json";
  if (!exists(path)) return {};
  auto text = read_file(path, kMaxContextBytes);
  if (!text) return tl::unexpected<Error>(text.error());
  auto about = Json::parse(*text);
  if (!about) return fail(path, about.error());
  for (const Json& report : about->get("connector_reports").elements()) {
    const auto status =
        connector_status_from(report.get("status").as_string().value_or(std::string()));
    const auto source = source_from(report.get("source").as_string().value_or(std::string()));
    if (!status || !source || *status == ConnectorStatus::ok ||
        *status == ConnectorStatus::no_data) {
      continue;
    }
    CollectOutcome outcome;
    outcome.status = *status;
    outcome.reason =
        "when the bundle was saved: " + report.get("reason").as_string().value_or(std::string());
    NamedCollector named;
    named.name = report.get("connector").as_string().value_or("collector");
    named.source = *source;
    named.collector = std::make_unique<Blind>(*source, std::move(outcome));
    collectors->push_back(std::move(named));
  }
  return {};
}

// What another user than root and the reader can have written, or nothing.
std::string foreign(const std::string& path) {
  struct stat about {};
  if (::lstat(path.c_str(), &about) != 0 || S_ISLNK(about.st_mode)) return {};
  const bool is_owned = about.st_uid == 0 || about.st_uid == ::geteuid();
  if (!is_owned) return fmt::format("{} belongs to user {}", path, about.st_uid);
  return (about.st_mode & S_IWOTH) != 0 ? path + " can be written by anybody" : std::string();
}

// The first such part of a bundle.
std::string foreign_part(const std::string& folder) {
  std::string found = foreign(folder);
  std::error_code error;
  std::filesystem::recursive_directory_iterator parts(folder, error), end;
  for (; found.empty() && !error && parts != end; parts.increment(error)) {
    found = foreign(parts->path().string());
  }
  return found;
}

}  // namespace

Result<Replay> open_replay(const std::string& folder, Host& host) {
  if (!is_folder(folder)) {
    return fail(Error::Code::not_found,
                "replaying " + folder +
                    ": there is no such folder (give the folder of a bundle, "
                    "which holds job.json and applog/)");
  }
  auto context = read_job_file(folder + "/job.json");
  if (!context) return fail("replaying " + folder, context.error());
  Replay replay;
  if (const std::string part = foreign_part(folder); !part.empty()) {
    replay.no_drain = "no node is to be drained on this bundle: " + part;
  }
  replay.contexts = std::make_unique<OneContext>(std::move(*context));
  // Logs belong to every bundle: where their folder is missing, the report says so.
  add_logs(folder, Source::applog, host, &replay.collectors);
  add_logs(folder, Source::syslog, host, &replay.collectors);
  if (!saved_streams(folder, Source::scheduler).empty()) {
    add_logs(folder, Source::scheduler, host, &replay.collectors);
  }
  if (const std::string path = folder + "/metrics.json"; exists(path)) {
    replay.collectors.push_back(
        {"metric.file", make_metric_file({"metric.file", {path}}, host), Source::node_metrics, {}});
  }
  if (const std::string path = folder + "/task_exits.ndjson"; exists(path)) {
    replay.collectors.push_back({"log.task_exits",
                                 make_task_exits({"log.task_exits", {path}}, host),
                                 Source::task_exits,
                                 {}});
  }
  if (const std::string path = folder + "/flight_recorder"; exists(path)) {
    replay.collectors.push_back(
        {"log.flight_recorder",
         make_flight_recorder({"log.flight_recorder", {path}, folder}, host),
         Source::flight_recorder,
         {}});
  }
  if (auto done = add_blind(folder, &replay.collectors); !done) {
    return fail("replaying " + folder, done.error());
  }
  return replay;
}

}  // namespace nvab
