// SPDX-License-Identifier: Apache-2.0
// See task_exits.hh. Lines of other jobs in a shared spool are passed over.
#include "epilog/log/task_exits.hh"

#include <fmt/core.h>

#include <utility>

#include "common/base/decode.hh"
#include "common/base/file.hh"
#include "common/base/text.hh"
#include "common/wire/task_record.h"
#include "epilog/collect_problems.hh"
#include "epilog/connector.hh"
#include "epilog/log/line_splitter.hh"
#include "epilog/log/source_files.hh"
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
  Result<void> read(const std::string& path, TaskTable* table);

  TaskExitsOptions options_;
  Host& host_;
};

Result<void> TaskExits::read(const std::string& path, TaskTable* table) {
  auto fd = open_regular(path);
  if (!fd) return tl::unexpected<Error>(fd.error());
  LineSplitter lines(NVAB_TASK_LINE_MAX);
  const auto add = [&](std::string_view line) { table->add_line(line); };
  bool in_time = true;
  const auto decoded = decode_file(*fd, [&](std::string_view block) {
    lines.feed(block, add);
    in_time = !host_.deadline.passed();
    return in_time;
  });
  lines.finish(add);
  if (!decoded) return tl::unexpected<Error>(decoded.error());
  if (!in_time) return fail(Error::Code::timeout, "the time for reading was over");
  if (lines.skipped() > 0) {
    return fail(Error::Code::malformed,
                fmt::format("{} lines are longer than any task record", lines.skipped()));
  }
  return {};
}

CollectOutcome TaskExits::collect(const ExecutionContext& context, ObservationSink& sink) {
  FileSearch search;
  search.paths = options_.paths;
  SourceFiles found = find_source_files(search);
  CollectProblems problems;
  for (SkippedFile& skipped : found.skipped) problems.add(skipped.path, std::move(skipped.error));

  TaskTable table(context);
  for (const SourceFile& file : found.files) {
    const std::uint64_t malformed_before = table.malformed();
    if (auto done = read(file.path, &table); !done) {
      problems.add(file.path, std::move(done.error()));
    }
    const std::uint64_t malformed = table.malformed() - malformed_before;
    if (malformed > 0) {
      problems.add(file.path, {Error::Code::malformed,
                               fmt::format("{} lines are not task records", malformed)});
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
    outcome.reason =
        fmt::format("no task of this job is recorded in {}", join(options_.paths, ", "));
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
     .help = "Files, folders and patterns of task records"},
};

Result<std::unique_ptr<Collector>> open_log_task_exits(const ComponentSettings& settings,
                                                       Host& host) {
  if (settings.list("paths").empty()) {
    return fail(Error::Code::malformed, settings.full_name() + " has no paths");
  }
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
