// SPDX-License-Identifier: Apache-2.0
// See flight_recorder.hh. Files without a rank at the end of their name are no dumps.
#include "epilog/log/flight_recorder.hh"

#include <fmt/core.h>

#include <utility>

#include "common/base/file.hh"
#include "common/base/text.hh"
#include "epilog/collect_problems.hh"
#include "epilog/connector.hh"
#include "epilog/log/nccl_dump.hh"
#include "epilog/log/source_files.hh"
#include "epilog/observation_batch.hh"

namespace nvab {
namespace {

class FlightRecorder final : public Collector {
 public:
  FlightRecorder(FlightRecorderOptions options, Host& host)
      : options_(std::move(options)), host_(host) {}
  Source source() const override { return Source::flight_recorder; }
  CollectOutcome collect(const ExecutionContext& context, ObservationSink& sink) override;

 private:
  FlightRecorderOptions options_;
  Host& host_;
};

CollectOutcome FlightRecorder::collect(const ExecutionContext&, ObservationSink& sink) {
  FileSearch search;
  search.paths = options_.paths;
  search.base = options_.base;
  SourceFiles found = find_source_files(search);
  CollectProblems problems;
  for (SkippedFile& skipped : found.skipped) problems.add(skipped.path, std::move(skipped.error));

  ObservationBatch batch(Source::flight_recorder, options_.connector, nullptr, sink);
  std::int64_t other_files = 0;
  for (const SourceFile& file : found.files) {
    if (!rank_of_dump(file.path)) {
      ++other_files;
      continue;
    }
    if (host_.deadline.passed()) {
      problems.add(file.path, {Error::Code::timeout, "the time for reading was over"});
      continue;
    }
    if (host_.progress != nullptr) host_.progress->begin_file(file.path);
    auto bytes = read_file(file.path, kMaxDumpBytes);
    if (!bytes) {
      problems.add(file.path, std::move(bytes.error()));
      continue;
    }
    auto dump = parse_nccl_dump(file.stream, *bytes);
    if (!dump) {
      problems.add(file.path, std::move(dump.error()));
      continue;
    }
    batch.add(std::move(*dump));
  }

  CollectOutcome outcome = problems.outcome(batch.delivered() > 0, "dump");
  if (outcome.status == ConnectorStatus::no_data && outcome.reason.empty()) {
    outcome.reason = fmt::format("no NCCL dump lies in {}", join(options_.paths, ", "));
  }
  outcome.details.set("dumps", Json::of(static_cast<std::int64_t>(batch.delivered())));
  outcome.details.set("other_files", Json::of(other_files));
  return outcome;
}

constexpr ParamSpec kParams[] = {
    {.name = "paths", .type = ParamType::list, .help = "Files, folders and patterns of dumps"},
};

Result<std::unique_ptr<Collector>> open_log_flight_recorder(const ComponentSettings& settings,
                                                            Host& host) {
  if (settings.list("paths").empty()) {
    return fail(Error::Code::malformed, settings.full_name() + " has no paths");
  }
  FlightRecorderOptions options;
  options.connector = settings.full_name();
  options.paths = settings.list("paths");
  return make_flight_recorder(std::move(options), host);
}

}  // namespace

std::unique_ptr<Collector> make_flight_recorder(FlightRecorderOptions options, Host& host) {
  return std::make_unique<FlightRecorder>(std::move(options), host);
}

extern const CollectorComponent log_flight_recorder;
constinit const CollectorComponent log_flight_recorder = {
    .spec = {.framework = "log",
             .name = "flight_recorder",
             .help = "Dumps of NCCL's flight recorder",
             .params = kParams},
    .query = nullptr,
    .open = open_log_flight_recorder,
};

}  // namespace nvab
