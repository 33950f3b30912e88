// SPDX-License-Identifier: Apache-2.0
// See observation_batch.hh.
#include "epilog/observation_batch.hh"

#include <utility>

namespace nvab {

ObservationBatch::ObservationBatch(Source source, std::string connector,
                                   const RulesetName* prefiltered_by, ObservationSink& sink)
    : source_(source),
      connector_(std::move(connector)),
      prefiltered_by_(prefiltered_by),
      sink_(sink) {
  clear();
}

void ObservationBatch::clear() {
  pending_ = Observation();
  pending_.source = source_;
  pending_.connector = connector_;
  if (prefiltered_by_ != nullptr) {
    pending_.coverage.prefiltered = true;
    pending_.coverage.rules_digest = prefiltered_by_->digest;
  }
  pending_bytes_ = 0;
}

void ObservationBatch::grow(std::size_t bytes) {
  pending_bytes_ += bytes;
  if (pending_.size() >= kMaxObservationEntries || pending_bytes_ >= kMaxObservationBytes ||
      pending_.coverage.streams.size() >= kMaxObservationStreams) {
    flush();
  }
}

void ObservationBatch::add(LogEntry&& entry) {
  const std::size_t bytes = entry.message.size() + entry.origin.stream.size();
  pending_.entries.push_back(std::move(entry));
  grow(bytes);
}

void ObservationBatch::add(MetricSample&& sample) {
  pending_.samples.push_back(std::move(sample));
  grow(sizeof(MetricSample));
}

void ObservationBatch::add(TaskExit&& task) {
  pending_.task_exits.push_back(std::move(task));
  grow(sizeof(TaskExit));
}

void ObservationBatch::add(FlightDump&& dump) {
  pending_.dumps.push_back(std::move(dump));
  flush();
}

void ObservationBatch::add(StreamCoverage&& stream, std::uint64_t bytes,
                           std::uint64_t bytes_replaced) {
  pending_.coverage.bytes_scanned += bytes;
  pending_.coverage.lines_scanned += stream.lines;
  pending_.coverage.bytes_replaced += bytes_replaced;
  pending_.coverage.streams.push_back(std::move(stream));
  grow(0);
}

void ObservationBatch::flush() {
  if (pending_.size() == 0 && pending_.coverage.streams.empty() && !pending_.coverage.truncated) {
    return;
  }
  ++delivered_;
  Observation full = std::exchange(pending_, Observation());
  clear();
  sink_.deliver(std::move(full));
}

}  // namespace nvab
