// SPDX-License-Identifier: Apache-2.0
// Ingestion into bounded stores, and attribution as one run of the pass table over a copy of them.
#include "common/engine/engine.hh"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "common/engine/analysis.hh"
#include "common/engine/event_store.hh"
#include "common/engine/extract/extractor.hh"
#include "common/engine/place/locate.hh"

namespace nvab {
namespace {

// Samples kept of one metric series: a week of one every 30 s.
constexpr std::size_t kMaxSamples = 20'160;
// Distinct series: 10,000 nodes with 8 GPUs and a few metrics each.
constexpr std::size_t kMaxSeries = 400'000;

std::string series_key(const MetricSample& sample) {
  std::string key = sample.name;
  for (const auto& [name, value] : sample.labels) key += '\x1f' + name + '=' + value;
  return key + '\x1f' + sample.node;
}

std::string stream_key(Source source, const StreamCoverage& stream) {
  return std::string(to_string(source)) + '\x1f' + stream.stream;
}

std::string task_key(const TaskExit& task) {
  return task.node + '\x1f' + task.step + '\x1f' + std::to_string(task.task.value_or(-1)) + '\x1f' +
         std::to_string(task.pid.value_or(-1));
}

// The same stream read twice, or in parts: the widest coverage, the latest last line.
void merge(StreamCoverage* known, const StreamCoverage& more) {
  const bool later = !known->last || (more.last && *more.last > *known->last);
  if (more.lines > known->lines ||
      (more.lines == known->lines && later && more.last != known->last)) {
    const std::optional<Time> first = known->first;
    *known = more;
    if (first && (!known->first || *first < *known->first)) known->first = first;
  }
}

}  // namespace

struct Engine::State {
  const Ruleset& rules;
  ExecutionContext context;
  EventStore store;
  std::map<std::string, std::map<Time, MetricSample>> series;
  std::map<std::string, StreamCoverage> streams;
  std::map<std::string, TaskExit> tasks;
  std::map<std::string, FlightDump> dumps;

  void add_entry(const LogEntry& entry, Source source, IngestCounts* counts) {
    std::vector<Event> events;
    extract_entry(rules, entry, source, &events);
    for (Event& event : events)
      ++(store.add(std::move(event)) ? counts->accepted : counts->duplicates);
  }

  void add_sample(const MetricSample& sample, IngestCounts* counts) {
    const std::string key = series_key(sample);
    if (!series.contains(key) && series.size() >= kMaxSeries) return;
    auto& samples = series[key];
    const bool added = samples.emplace(sample.timestamp, sample).second;
    ++(added ? counts->accepted : counts->duplicates);
    if (samples.size() > kMaxSamples) samples.erase(samples.begin());
  }
};

Engine::Engine(const Ruleset& rules, ExecutionContext context)
    : state_(new State{rules, std::move(context), {}, {}, {}, {}, {}}) {}
Engine::~Engine() = default;
Engine::Engine(Engine&&) noexcept = default;

void Engine::update(ExecutionContext context) { state_->context = std::move(context); }

IngestCounts Engine::ingest(const Observation& observation) {
  IngestCounts counts;
  State& s = *state_;
  for (const LogEntry& entry : observation.entries) s.add_entry(entry, observation.source, &counts);
  for (const MetricSample& sample : observation.samples) s.add_sample(sample, &counts);
  for (const TaskExit& task : observation.task_exits) {
    const bool added = s.tasks.emplace(task_key(task), task).second;
    ++(added ? counts.accepted : counts.duplicates);
  }
  for (const FlightDump& dump : observation.dumps) {
    const bool added = s.dumps.emplace(dump.stream + '#' + std::to_string(dump.rank), dump).second;
    ++(added ? counts.accepted : counts.duplicates);
  }
  for (const StreamCoverage& stream : observation.coverage.streams) {
    const auto [known, added] = s.streams.emplace(stream_key(observation.source, stream), stream);
    if (!added) merge(&known->second, stream);
  }
  return counts;
}

Verdict Engine::attribute() const {
  const State& s = *state_;
  Analysis analysis{s.context,
                    s.rules,
                    Placement(s.context),
                    s.store.events(),
                    s.streams,
                    s.tasks,
                    s.dumps,
                    {},
                    {},
                    {},
                    {},
                    {},
                    {}};
  for (const LogEntry& fact : scheduler_facts(s.context)) {
    extract_entry(s.rules, fact, Source::scheduler, &analysis.events);
  }
  for (const auto& [key, task] : s.tasks) {
    for (const LogEntry& fact : task_facts(task)) {
      extract_entry(s.rules, fact, Source::task_exits, &analysis.events);
    }
  }
  for (const auto& [key, samples] : s.series) {
    std::vector<MetricSample> series;
    for (const auto& [time, sample] : samples) series.push_back(sample);
    learn_labels(series.front(), &analysis.placement);
    extract_series(s.rules, series, s.context, &analysis.events);
  }
  std::sort(analysis.events.begin(), analysis.events.end(), event_less);
  for (const Pass& pass : passes()) pass.run(analysis);
  return std::move(analysis.verdict);
}

}  // namespace nvab
