// SPDX-License-Identifier: Apache-2.0
// See file.hh. One series is in memory at a time, however large the file.
#include "epilog/metric/file.hh"

#include <fmt/core.h>

#include <utility>

#include "common/base/decode.hh"
#include "common/base/file.hh"
#include "common/base/text.hh"
#include "epilog/collect_problems.hh"
#include "epilog/connector.hh"
#include "epilog/log/source_files.hh"
#include "epilog/metric/array_splitter.hh"
#include "epilog/metric/metrics_json.hh"
#include "epilog/observation_batch.hh"

namespace nvab {
namespace {

class MetricFile final : public Collector {
 public:
  MetricFile(MetricFileOptions options, Host& host) : options_(std::move(options)), host_(host) {}
  Source source() const override { return Source::node_metrics; }
  CollectOutcome collect(const ExecutionContext& context, ObservationSink& sink) override;

 private:
  struct Totals {
    std::int64_t series = 0, samples = 0;
  };
  // A series that is malformed is a problem of its own; the others go on.
  Result<void> read(const std::string& path, ObservationBatch* batch, Totals* totals,
                    CollectProblems* problems);

  MetricFileOptions options_;
  Host& host_;
};

Result<void> MetricFile::read(const std::string& path, ObservationBatch* batch, Totals* totals,
                              CollectProblems* problems) {
  auto fd = open_regular(path);
  if (!fd) return tl::unexpected<Error>(fd.error());
  if (host_.progress != nullptr) host_.progress->begin_file(path);
  ArraySplitter elements(kMaxSeriesBytes, [&](std::string_view text) {
    auto samples = parse_series(text);
    if (!samples) {
      problems->add(path, std::move(samples.error()));
      return true;
    }
    ++totals->series;
    totals->samples += static_cast<std::int64_t>(samples->size());
    for (MetricSample& sample : *samples) batch->add(std::move(sample));
    return true;
  });
  bool in_time = true;
  const auto decoded = decode_file(*fd, [&](std::string_view block) {
    if (host_.progress != nullptr) host_.progress->add_bytes(block.size());
    in_time = !host_.deadline.passed();
    return elements.feed(block) && in_time;
  });
  if (!decoded) return tl::unexpected<Error>(decoded.error());
  if (!in_time) return fail(Error::Code::timeout, "the time for reading was over");
  return elements.finish();
}

CollectOutcome MetricFile::collect(const ExecutionContext&, ObservationSink& sink) {
  FileSearch search;
  search.paths = options_.paths;
  SourceFiles found = find_source_files(search);
  CollectProblems problems;
  for (SkippedFile& skipped : found.skipped) problems.add(skipped.path, std::move(skipped.error));

  ObservationBatch batch(Source::node_metrics, options_.connector, nullptr, sink);
  Totals totals;
  for (const SourceFile& file : found.files) {
    if (auto done = read(file.path, &batch, &totals, &problems); !done) {
      problems.add(file.path, std::move(done.error()));
    }
  }
  batch.flush();

  CollectOutcome outcome = problems.outcome(totals.samples > 0, "problem");
  if (outcome.status == ConnectorStatus::no_data && outcome.reason.empty()) {
    outcome.reason = fmt::format("no sample lies in {}", join(options_.paths, ", "));
  }
  outcome.details.set("series", Json::of(totals.series));
  outcome.details.set("samples", Json::of(totals.samples));
  return outcome;
}

constexpr ParamSpec kParams[] = {
    {.name = "paths", .type = ParamType::list, .help = "Files and patterns"},
};

Result<std::unique_ptr<Collector>> open_metric_file(const ComponentSettings& settings, Host& host) {
  if (settings.list("paths").empty()) {
    return fail(Error::Code::malformed, settings.full_name() + " has no paths");
  }
  MetricFileOptions options;
  options.connector = settings.full_name();
  options.paths = settings.list("paths");
  return make_metric_file(std::move(options), host);
}

}  // namespace

std::unique_ptr<Collector> make_metric_file(MetricFileOptions options, Host& host) {
  return std::make_unique<MetricFile>(std::move(options), host);
}

extern const CollectorComponent metric_file;
constinit const CollectorComponent metric_file = {
    .spec = {.framework = "metric",
             .name = "file",
             .help = "Metrics in a metrics.json",
             .params = kParams},
    .query = nullptr,
    .open = open_metric_file,
};

}  // namespace nvab
