// SPDX-License-Identifier: Apache-2.0
// Ingestion into bounded stores, and attribution as one run of the pass table over a copy of them.
#include "common/engine/engine.hh"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
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

// Facts and series have their rules' events only now.
void set_shadow_apart(Analysis* analysis) {
  std::vector<Event>& events = analysis->events;
  const auto first = std::stable_partition(
      events.begin(), events.end(), [](const Event& event) { return event.mark != Mark::shadow; });
  std::move(first, events.end(), std::back_inserter(analysis->shadow));
  events.erase(first, events.end());
  std::sort(analysis->shadow.begin(), analysis->shadow.end(), event_less);
}

}  // namespace

// The labels once, however many points: millions come of a large job of which all is wanted.
struct StoredSeries {
  MetricSample first_seen;
  std::map<Time, double> points;
};

struct Engine::State {
  const Ruleset& rules;
  ExecutionContext context;
  EventStore store;
  EventStore shadow;  // of its own: a rule in shadow mode takes no room from others
  std::map<std::string, StoredSeries> series;
  std::map<std::string, StreamCoverage> streams;
  std::map<std::string, TaskExit> tasks;
  std::set<std::string> untrusted_tasks;  // that any user can have written: counted, not taken
  std::map<std::string, FlightDump> dumps;

  void add_sample(const MetricSample& sample, IngestCounts* counts) {
    const std::string key = series_key(sample);
    if (!series.contains(key) && series.size() >= kMaxSeries) return;
    StoredSeries& stored = series.try_emplace(key, StoredSeries{sample, {}}).first->second;
    const bool added = stored.points.emplace(sample.timestamp, sample.value).second;
    ++(added ? counts->accepted : counts->duplicates);
    if (stored.points.size() > kMaxSamples) stored.points.erase(stored.points.begin());
  }
};

Engine::Engine(const Ruleset& rules, ExecutionContext context)
    : state_(new State{rules, std::move(context), {}, {}, {}, {}, {}, {}, {}}) {}
Engine::~Engine() = default;
Engine::Engine(Engine&&) noexcept = default;

void Engine::update(ExecutionContext context) { state_->context = std::move(context); }

const ExecutionContext& Engine::context() const { return state_->context; }
std::uint64_t Engine::event_count() const {
  return state_->store.size() + state_->shadow.size() + state_->series.size();
}

Extracted extract(const Ruleset& rules, const Observation& observation) {
  Extracted out{observation.source,  {},
                observation.samples, observation.task_exits,
                observation.dumps,   observation.coverage.streams};
  for (const LogEntry& entry : observation.entries) {
    extract_entry(rules, entry, observation.source, &out.events);
  }
  return out;
}

IngestCounts Engine::add(Extracted extracted) {
  IngestCounts counts;
  State& s = *state_;
  const auto count = [&](bool added) { ++(added ? counts.accepted : counts.duplicates); };
  for (Event& event : extracted.events) {
    if (event.mark == Mark::shadow) {
      s.shadow.add(std::move(event));
    } else {
      count(s.store.add(std::move(event)));
    }
  }
  for (const MetricSample& sample : extracted.samples) s.add_sample(sample, &counts);
  for (TaskExit& task : extracted.task_exits) {
    std::string key = task_key(task);
    if (task.trust == Trust::user) {
      count(s.untrusted_tasks.insert(std::move(key)).second);
      continue;
    }
    count(s.tasks.emplace(std::move(key), std::move(task)).second);
  }
  for (FlightDump& dump : extracted.dumps) {
    std::string key = dump.stream + '#' + std::to_string(dump.rank);
    count(s.dumps.emplace(std::move(key), std::move(dump)).second);
  }
  for (const StreamCoverage& stream : extracted.streams) {
    const auto [known, added] = s.streams.emplace(stream_key(extracted.source, stream), stream);
    if (!added) merge(&known->second, stream);
  }
  return counts;
}

IngestCounts Engine::ingest(const Observation& observation) {
  return add(extract(state_->rules, observation));
}

Verdict Engine::attribute() const { return attribute(state_->rules); }

Verdict Engine::attribute(const Ruleset& rules) const { return judge(rules).verdict; }

Judgement Engine::judge(const Ruleset& rules) const {
  const State& s = *state_;
  Analysis analysis{s.context,
                    s.rules,
                    Placement(s.context),
                    s.store.events(),
                    s.shadow.events(),
                    s.streams,
                    s.tasks,
                    s.dumps,
                    true,
                    {},
                    {},
                    {},
                    {},
                    {},
                    {}};
  for (const LogEntry& fact : scheduler_facts(s.context)) {
    extract_entry(rules, fact, Source::scheduler, &analysis.events);
  }
  for (const auto& [key, task] : s.tasks) {
    for (const LogEntry& fact : task_facts(task)) {
      extract_entry(rules, fact, Source::task_exits, &analysis.events);
    }
  }
  for (const auto& [key, stored] : s.series) {
    std::vector<MetricSample> series(stored.points.size(), stored.first_seen);
    std::size_t next = 0;
    for (const auto& [time, value] : stored.points) {
      series[next].timestamp = time;
      series[next++].value = value;
    }
    learn_labels(series.front(), &analysis.placement);
    extract_series(rules, series, s.context, &analysis.events);
  }
  if (!s.untrusted_tasks.empty()) {
    analysis.missing.push_back(std::to_string(s.untrusted_tasks.size()) +
                               " task records were left out: any user can have written them");
  }
  set_shadow_apart(&analysis);
  std::sort(analysis.events.begin(), analysis.events.end(), event_less);
  for (const Pass& pass : passes()) pass.run(analysis);
  Judgement judgement{std::move(analysis.verdict), {}, std::move(analysis.shadow), -1, {}};
  if (const Hypothesis* best = analysis.best(); best != nullptr && analysis.outcome != "unknown") {
    judgement.root = best->root;
    judgement.support = best->events;
  }
  judgement.events = std::move(analysis.events);
  return judgement;
}

}  // namespace nvab
