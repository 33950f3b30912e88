// SPDX-License-Identifier: Apache-2.0
// See bundle_writer.hh.
#include "epilog/output/bundle_writer.hh"

#include <cerrno>
#include <cstdio>

#include "common/base/build_info.hh"
#include "common/base/file.hh"
#include "epilog/log/nccl_dump.hh"
#include "epilog/log/task_table.hh"
#include "epilog/metric/metrics_json.hh"

namespace nvab {
namespace {

// Text of metrics.json kept in memory before it is appended.
constexpr std::size_t kMetricsBuffer = 4 * 1024 * 1024;
// One element of metrics.json; a longer series becomes several.
constexpr std::size_t kMaxSeriesSamples = 50'000;

Result<void> append(const std::string& path, std::string_view text) {
  std::FILE* file = std::fopen(path.c_str(), "ae");
  if (file == nullptr) return tl::unexpected<Error>(from_errno(errno, "writing " + path));
  const bool is_written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const int error_number = errno;
  if (std::fclose(file) != 0) return tl::unexpected<Error>(from_errno(errno, "writing " + path));
  if (!is_written) return tl::unexpected<Error>(from_errno(error_number, "writing " + path));
  return {};
}

Json about_bundle(const AttributionResult& result, std::string_view lines, bool redacted) {
  Json about = Json::object();
  about.set("schema", Json::of("nvab.bundle/1"));
  about.set("agent", Json::of("nvab-run/" + std::string(build_info().version)));
  about.set("lines", Json::of(lines));
  about.set("redacted", Json::of(redacted));
  const RulesetName& rules = result.verdict.ruleset;
  Json ruleset = Json::object();
  ruleset.set("name", Json::of(rules.name)).set("version", Json::of(rules.version));
  ruleset.set("digest", Json::of(rules.digest));
  about.set("ruleset", std::move(ruleset));
  about.set("evidence_status", Json::of(to_string(result.evidence_status)));
  Json reports = Json::array();
  for (const ConnectorReport& report : result.connector_reports) reports.push(to_json(report));
  about.set("connector_reports", std::move(reports));
  return about;
}

}  // namespace

void BundleWriter::end_series() {
  if (series_.empty()) return;
  metrics_ += has_metrics_ ? ",\n" : "[\n";
  has_metrics_ = true;
  metrics_ += series_to_json(series_).dump();
  series_.clear();
  if (metrics_.size() >= kMetricsBuffer && status_) status_ = write_metrics();
}

void BundleWriter::add_sample(const MetricSample& sample) {
  const bool is_same = !series_.empty() && series_.front().name == sample.name &&
                       series_.front().node == sample.node &&
                       series_.front().labels == sample.labels;
  if (!is_same || series_.size() >= kMaxSeriesSamples) end_series();
  series_.push_back(sample);
}

Result<void> BundleWriter::write_metrics() {
  auto done = append(folder_ + "/metrics.json", metrics_);
  metrics_.clear();
  return done;
}

Result<void> BundleWriter::write_dump(const FlightDump& dump) {
  const std::string folder = folder_ + "/flight_recorder";
  if (auto made = make_folders(folder); !made) return made;
  // The number comes last in front of the ending: it is the rank.
  std::string name = stream_file_name(dump.stream);
  if (name.ends_with(".json")) name.resize(name.size() - 5);
  if (rank_of_dump(name) != dump.rank) name = "dump_" + std::to_string(dump.rank);
  return write_file(folder + "/" + name + ".json", dump_to_json(dump).dump() + "\n");
}

void BundleWriter::add(const Observation& observation) {
  streams_.add(observation);
  for (const MetricSample& sample : observation.samples) add_sample(sample);
  tasks_.insert(tasks_.end(), observation.task_exits.begin(), observation.task_exits.end());
  for (const FlightDump& dump : observation.dumps) {
    if (status_) status_ = write_dump(dump);
  }
}

Result<void> BundleWriter::finish(const AttributionResult& result, std::string_view lines,
                                  bool redacted) {
  Result<void> done = streams_.finish();
  end_series();
  if (done) done = status_;
  if (done && has_metrics_) {
    metrics_ += "\n]\n";
    done = write_metrics();
  }
  if (done && !tasks_.empty()) {
    done = write_file(folder_ + "/task_exits.ndjson", task_lines(result.context, tasks_));
  }
  if (done) done = write_file(folder_ + "/job.json", to_json(result.context).dump_pretty() + "\n");
  // Last: a bundle with this file is whole.
  if (done) {
    done = write_file(folder_ + "/bundle.json",
                      about_bundle(result, lines, redacted).dump_pretty() + "\n");
  }
  return done;
}

}  // namespace nvab
