// SPDX-License-Identifier: Apache-2.0
// See task_exits.hh. Lines of other jobs in a shared spool are passed over.
#include "epilog/log/task_exits.hh"

#include <fmt/core.h>

#include <utility>

#include "common/base/text.hh"
#include "epilog/collect_problems.hh"
#include "epilog/connector.hh"
#include "epilog/log/source_files.hh"
#include "epilog/log/spool.hh"
#include "epilog/log/task_table.hh"
#include "epilog/observation_batch.hh"

namespace nvab {
namespace {

class TaskExits final : public Collector {
 public:
  TaskExits(TaskExitsOptions options, Host& host) : options_(std::move(options)), host_(host) {}
  Source source() const override { return Source::task_exits; }
  CollectOutcome collect(const ExecutionContext& context, ObservationSink& sink) override;

 private:
  SourceFiles find(const ExecutionContext& context) const;

  TaskExitsOptions options_;
  Host& host_;
};

// The files that were given, or those of this run in the spool.
SourceFiles TaskExits::find(const ExecutionContext& context) const {
  if (!options_.paths.empty()) {
    FileSearch search;
    search.paths = options_.paths;
    return find_source_files(search);
  }
  SourceFiles found;
  std::vector<std::string> refused;
  auto paths = spool_files(host_.spool, context, &refused);
  for (std::string& doubt : refused) {
    found.skipped.push_back({host_.spool, {Error::Code::permission, std::move(doubt)}});
  }
  if (!paths) {
    found.skipped.push_back({host_.spool, std::move(paths.error())});
    return found;
  }
  for (const std::string& path : *paths) found.files.push_back({path, path});
  return found;
}

CollectOutcome TaskExits::collect(const ExecutionContext& context, ObservationSink& sink) {
  SourceFiles found = find(context);
  CollectProblems problems;
  for (SkippedFile& skipped : found.skipped) problems.add(skipped.path, std::move(skipped.error));

  TaskTable table(context);
  for (const SourceFile& file : found.files) {
    const std::uint64_t malformed_before = table.malformed();
    const std::uint64_t impossible_before = table.impossible();
    if (auto done = read_task_file(file.path, host_.deadline, &table); !done) {
      problems.add(file.path, std::move(done.error()));
    }
    const std::uint64_t malformed = table.malformed() - malformed_before;
    if (malformed > 0) {
      problems.add(file.path, {Error::Code::malformed,
                               fmt::format("{} lines are not task records", malformed)});
    }
    if (table.impossible() > impossible_before) {
      problems.add(file.path,
                   {Error::Code::malformed,
                    fmt::format("{} records cannot be of this job: its user or its time are others",
                                table.impossible() - impossible_before)});
    }
  }
  ObservationBatch batch(Source::task_exits, options_.connector, nullptr, sink);
  std::size_t count = 0;
  for (TaskExit& task : table.tasks()) {
    batch.add(std::move(task));
    ++count;
  }
  batch.flush();

  CollectOutcome outcome = problems.outcome(count > 0, "file");
  if (outcome.status == ConnectorStatus::no_data && outcome.reason.empty()) {
    outcome.reason = fmt::format("no task of this job is recorded in {}",
                                 options_.paths.empty() ? host_.spool : join(options_.paths, ", "));
  }
  outcome.details.set("files", Json::of(static_cast<std::int64_t>(found.files.size())));
  outcome.details.set("lines", Json::of(static_cast<std::int64_t>(table.lines())));
  outcome.details.set("lines_of_other_jobs",
                      Json::of(static_cast<std::int64_t>(table.other_jobs())));
  return outcome;
}

constexpr ParamSpec kParams[] = {
    {.name = "paths",
     .type = ParamType::list,
     .help = "Files, folders and patterns of task records (default: the job's in [run] spool)"},
};

Result<std::unique_ptr<Collector>> open_log_task_exits(const ComponentSettings& settings,
                                                       Host& host) {
  TaskExitsOptions options;
  options.connector = settings.full_name();
  options.paths = settings.list("paths");
  return make_task_exits(std::move(options), host);
}

}  // namespace

std::unique_ptr<Collector> make_task_exits(TaskExitsOptions options, Host& host) {
  return std::make_unique<TaskExits>(std::move(options), host);
}

extern const CollectorComponent log_task_exits;
constinit const CollectorComponent log_task_exits = {
    .spec = {.framework = "log",
             .name = "task_exits",
             .help = "Task records of the SPANK plugin",
             .params = kParams},
    .query = nullptr,
    .open = open_log_task_exits,
};

}  // namespace nvab
