// SPDX-License-Identifier: Apache-2.0
// See replay.hh; the layout is that of nvab-bundle in nvab-result(5).
#include "epilog/replay.hh"

#include <utility>

#include "common/base/file.hh"
#include "epilog/eca/static.hh"
#include "epilog/log/file.hh"
#include "epilog/log/flight_recorder.hh"
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

NamedCollector log_folder(const std::string& folder, Source source, const char* name, Host& host) {
  LogFileOptions options;
  options.connector = std::string("log.file.") + name;
  options.source = source;
  options.paths = {folder + "/" + name};
  options.base = folder;
  options.rotated = false;  // what belongs to the job was put into the bundle
  return {options.connector, make_log_file(options, host), source, {}};
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
  replay.contexts = std::make_unique<OneContext>(std::move(*context));
  // Logs belong to every bundle: where their folder is missing, the report says so.
  replay.collectors.push_back(log_folder(folder, Source::applog, "applog", host));
  replay.collectors.push_back(log_folder(folder, Source::syslog, "syslog", host));
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
  return replay;
}

}  // namespace nvab
