// SPDX-License-Identifier: Apache-2.0
// Metric rules over one series: what changed inside the job's window, not what a gauge still shows.
#include <fmt/core.h>

#include <algorithm>

#include "common/base/text.hh"
#include "common/engine/extract/extractor.hh"
#include "common/engine/place/locate.hh"

namespace nvab {
namespace {

// Exporters scrape late: a change that shows this long after the end can have been in the job.
constexpr Duration kScrapeDelay = std::chrono::minutes(2);

struct Hit {
  const MetricSample* sample = nullptr;
  const MetricSample* before = nullptr;  // the sample before it, where it changed since then
  std::string text;
};

bool in_window(const ExecutionContext& c, Time time) {
  return (!c.start_time || time >= *c.start_time) &&
         (!c.end_time || time <= *c.end_time + kScrapeDelay);
}

std::string number(double value) { return fmt::format("{:g}", value); }

// A sticky gauge keeps its last value: only a change to one of the values counts.
std::optional<Hit> changes_to(const MetricMatch& want, std::span<const MetricSample> series,
                              const ExecutionContext& context) {
  for (std::size_t i = 1; i < series.size(); ++i) {
    const double before = series[i - 1].value, now = series[i].value;
    const bool wanted = std::find(want.values.begin(), want.values.end(), now) != want.values.end();
    if (!wanted || before == now || !in_window(context, series[i].timestamp)) continue;
    return Hit{&series[i], &series[i - 1], number(before) + " -> " + number(now)};
  }
  return std::nullopt;
}

// A counter that starts again from a smaller value was reset: what it shows then is new.
std::optional<Hit> increases(const MetricMatch& want, std::span<const MetricSample> series,
                             const ExecutionContext& context) {
  double grown = 0;
  const MetricSample* first = nullptr;
  const MetricSample* before = nullptr;
  for (std::size_t i = 1; i < series.size(); ++i) {
    if (!in_window(context, series[i].timestamp)) continue;
    const double step = series[i].value >= series[i - 1].value
                            ? series[i].value - series[i - 1].value
                            : series[i].value;
    if (step <= 0) continue;
    grown += step;
    if (first == nullptr) {
      first = &series[i];
      before = &series[i - 1];
    }
  }
  if (first == nullptr || grown < std::max(want.threshold, 1e-12)) return std::nullopt;
  return Hit{first, before, "+" + number(grown)};
}

std::optional<Hit> beyond(const MetricMatch& want, std::span<const MetricSample> series,
                          const ExecutionContext& context) {
  const bool above = want.test == MetricTest::above;
  const MetricSample* since = nullptr;
  for (const MetricSample& sample : series) {
    const bool over = above ? sample.value >= want.threshold : sample.value <= want.threshold;
    if (!over || !in_window(context, sample.timestamp)) {
      since = nullptr;
      continue;
    }
    if (since == nullptr) since = &sample;
    if (sample.timestamp - since->timestamp >= want.hold)
      return Hit{since, nullptr, number(sample.value)};
  }
  return std::nullopt;
}

std::optional<Hit> find_hit(const MetricMatch& want, std::span<const MetricSample> series,
                            const ExecutionContext& context) {
  switch (want.test) {
    case MetricTest::changes_to:
      return changes_to(want, series, context);
    case MetricTest::increases:
      return increases(want, series, context);
    case MetricTest::above:
    case MetricTest::below:
      return beyond(want, series, context);
  }
  return std::nullopt;
}

// Labels under the names that captures have, as DCGM exporter and node exporter spell them.
constexpr std::pair<std::string_view, std::string_view> kLabelCaptures[] = {
    {"gpu", "gpu"},       {"UUID", "uuid"}, {"uuid", "uuid"},    {"pci_bus_id", "pci"},
    {"device", "device"}, {"port", "port"}, {"GPU_I_ID", "mig"},
};

Event make_event(const Rule& rule, const Hit& hit) {
  const MetricSample& sample = *hit.sample;
  Event event;
  event.rule = &rule;
  event.source = Source::node_metrics;
  event.trust = Trust::system;
  event.time = sample.timestamp;
  event.time_quality = TimeQuality::exact;
  if (hit.before != nullptr) event.not_before = hit.before->timestamp;
  event.place.observer = sample_node(sample);
  for (const auto& [label, capture] : kLabelCaptures) {
    const auto found = sample.labels.find(std::string(label));
    if (found != sample.labels.end()) event.captures.emplace_back(capture, found->second);
  }
  if (rule.blames == Blame::nic) event.place.nic = event.capture("device");
  event.captures.emplace_back("value", number(sample.value));
  event.text = sample.name + ' ' + hit.text;
  event.origin = {"metrics/" + sample.name + '/' + std::string(event.place.observer) + '/' +
                      std::string(event.capture("gpu")) + std::string(event.capture("device")),
                  0, 0};
  if (rule.shadow) event.mark = Mark::shadow;
  return event;
}

}  // namespace

void extract_series(const Ruleset& rules, std::span<const MetricSample> series,
                    const ExecutionContext& context, std::vector<Event>* events) {
  if (series.empty()) return;
  for (const Rule& rule : rules.rules()) {
    if (!rule.metric) continue;
    const auto named = [&](const std::string& glob) {
      return glob_match(glob, series.front().name);
    };
    if (std::none_of(rule.metric->names.begin(), rule.metric->names.end(), named)) continue;
    if (const auto hit = find_hit(*rule.metric, series, context)) {
      events->push_back(make_event(rule, *hit));
    }
  }
}

}  // namespace nvab
