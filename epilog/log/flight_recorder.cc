// SPDX-License-Identifier: Apache-2.0
// See flight_recorder.hh. Files without a rank at the end of their name are no dumps.
#include "epilog/log/flight_recorder.hh"

#include <fmt/core.h>

#include <utility>

#include "common/base/file.hh"
#include "common/base/text.hh"
#include "epilog/collect_problems.hh"
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

}  // namespace

std::unique_ptr<Collector> make_flight_recorder(FlightRecorderOptions options, Host& host) {
  return std::make_unique<FlightRecorder>(std::move(options), host);
}

}  // namespace nvab
