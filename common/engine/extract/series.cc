// SPDX-License-Identifier: Apache-2.0
// Metric rules over one series: what changed inside the job's window, not what a gauge still shows.
#include <fmt/core.h>

#include <algorithm>

#include "common/base/text.hh"
#include "common/engine/extract/extractor.hh"
#include "common/engine/extract/series.hh"
#include "common/engine/place/locate.hh"

namespace nvab {
namespace {

struct Hit {
  const MetricPoint* point = nullptr;
  const MetricPoint* before = nullptr;  // the point before it, where it changed since then
  std::string text;
};

bool in_window(const ExecutionContext& c, Time time) {
  return (!c.start_time || time >= *c.start_time) &&
         (!c.end_time || time <= *c.end_time + kScrapeDelay);
}

std::string number(double value) { return fmt::format("{:g}", value); }

// A sticky gauge keeps its last value: only a change to one of the values counts.
std::optional<Hit> changes_to(const MetricMatch& want, std::span<const MetricPoint> points,
                              const ExecutionContext& context) {
  for (std::size_t i = 1; i < points.size(); ++i) {
    const double before = points[i - 1].value, now = points[i].value;
    const bool wanted = std::find(want.values.begin(), want.values.end(), now) != want.values.end();
    if (!wanted || before == now || !in_window(context, points[i].time)) continue;
    return Hit{&points[i], &points[i - 1], number(before) + " -> " + number(now)};
  }
  return std::nullopt;
}

// A counter that starts again from a smaller value was reset: what it shows then is new.
double growth(const MetricPoint& before, const MetricPoint& now) {
  return now.value >= before.value ? now.value - before.value : now.value;
}

std::optional<Hit> increases(const MetricMatch& want, std::span<const MetricPoint> points,
                             const ExecutionContext& context) {
  double grown = 0;
  const MetricPoint* first = nullptr;
  for (std::size_t i = 1; i < points.size(); ++i) {
    if (!in_window(context, points[i].time)) continue;
    const double step = growth(points[i - 1], points[i]);
    if (step <= 0) continue;
    grown += step;
    if (first == nullptr) first = &points[i];
  }
  if (first == nullptr || grown < std::max(want.threshold, 1e-12)) return std::nullopt;
  return Hit{first, first - 1, "+" + number(grown)};
}

bool is_over(const MetricMatch& want, double value) {
  constexpr double kExact = 9007199254740992.0;  // 2^53: no mask beyond it
  if (want.test == MetricTest::above) return value >= want.threshold;
  if (want.test == MetricTest::below) return value <= want.threshold;
  const bool is_mask = value >= 0 && value < kExact;
  return is_mask && (static_cast<std::uint64_t>(value) & want.bits) != 0;
}

std::optional<Hit> beyond(const MetricMatch& want, std::span<const MetricPoint> points,
                          const ExecutionContext& context) {
  const MetricPoint* since = nullptr;
  for (const MetricPoint& point : points) {
    if (!is_over(want, point.value) || !in_window(context, point.time)) {
      since = nullptr;
      continue;
    }
    if (since == nullptr) since = &point;
    if (point.time - since->time >= want.hold) return Hit{since, nullptr, number(point.value)};
  }
  return std::nullopt;
}

std::optional<Hit> find_hit(const MetricMatch& want, std::span<const MetricPoint> points,
                            const ExecutionContext& context) {
  switch (want.test) {
    case MetricTest::changes_to:
      return changes_to(want, points, context);
    case MetricTest::increases:
      return increases(want, points, context);
    case MetricTest::above:
    case MetricTest::below:
    case MetricTest::has_bits:
      return beyond(want, points, context);
  }
  return std::nullopt;
}

// Labels under the names that captures have, as DCGM exporter and node exporter spell them.
constexpr std::pair<std::string_view, std::string_view> kLabelCaptures[] = {
    {"gpu", "gpu"},       {"UUID", "uuid"}, {"uuid", "uuid"},    {"pci_bus_id", "pci"},
    {"device", "device"}, {"port", "port"}, {"GPU_I_ID", "mig"},
};

Event make_event(const Rule& rule, const MetricSample& sample, const Hit& hit) {
  Event event;
  event.rule = &rule;
  event.source = Source::node_metrics;
  event.trust = Trust::system;
  event.time = hit.point->time;
  event.time_quality = TimeQuality::exact;
  if (hit.before != nullptr) event.not_before = hit.before->time;
  event.place.observer = sample_node(sample);
  for (const auto& [label, capture] : kLabelCaptures) {
    const auto found = sample.labels.find(std::string(label));
    if (found != sample.labels.end()) event.captures.emplace_back(capture, found->second);
  }
  if (rule.blames == Blame::nic) event.place.nic = event.capture("device");
  event.captures.emplace_back("value", number(hit.point->value));
  event.text = sample.name + ' ' + hit.text;
  event.origin = {"metrics/" + sample.name + '/' + std::string(event.place.observer) + '/' +
                      std::string(event.capture("gpu")) + std::string(event.capture("device")),
                  0, 0};
  if (rule.shadow) event.mark = Mark::shadow;
  return event;
}

bool is_called(const MetricMatch& want, std::string_view name) {
  return std::any_of(want.names.begin(), want.names.end(),
                     [&](const std::string& glob) { return glob_match(glob, name); });
}

// A label that the series does not have is empty.
bool has_labels(const MetricMatch& want, const std::map<std::string, std::string>& labels) {
  return std::all_of(want.labels.begin(), want.labels.end(), [&](const auto& wanted) {
    const auto found = labels.find(wanted.first);
    return glob_match(wanted.second, found == labels.end() ? std::string() : found->second);
  });
}

// Of one point between two others, whether leaving it out would hide something from a test.
class Thinning {
 public:
  Thinning(const std::vector<const MetricMatch*>& tests, const ExecutionContext& context,
           bool is_part)
      : tests_(tests), context_(context), is_part_(is_part) {}

  bool needs(std::span<const MetricPoint> points, std::size_t i, std::size_t first_growth) const {
    if (i == 0 || i + 1 == points.size()) return true;
    const double before = points[i - 1].value, now = points[i].value, next = points[i + 1].value;
    if (before == now && now == next && same_side(points, i)) return false;
    if (is_part_) return true;
    return std::any_of(tests_.begin(), tests_.end(), [&](const MetricMatch* test) {
      switch (test->test) {
        case MetricTest::changes_to:
          return true;
        case MetricTest::increases:
          // Steps upwards add up to the same; downwards is a reset.
          return i == first_growth || i + 1 == first_growth || now < before || next < now ||
                 !same_side(points, i);
        case MetricTest::above:
        case MetricTest::below:
        case MetricTest::has_bits:
          return is_over(*test, now) || is_over(*test, before) || is_over(*test, next) ||
                 !same_side(points, i);
      }
      return true;
    });
  }

 private:
  // Neighbours on the other side of the job's window belong to something else.
  bool same_side(std::span<const MetricPoint> points, std::size_t i) const {
    const bool here = in_window(context_, points[i].time);
    return here == in_window(context_, points[i - 1].time) &&
           here == in_window(context_, points[i + 1].time);
  }

  const std::vector<const MetricMatch*>& tests_;
  const ExecutionContext& context_;
  bool is_part_;
};

// The first point in the window that is more than the one before; 0: none.
std::size_t first_growth_of(std::span<const MetricPoint> points, const ExecutionContext& context) {
  for (std::size_t i = 1; i < points.size(); ++i) {
    if (in_window(context, points[i].time) && growth(points[i - 1], points[i]) > 0) return i;
  }
  return 0;
}

}  // namespace

std::vector<const MetricMatch*> metric_tests(const Ruleset& rules, std::string_view name) {
  std::vector<const MetricMatch*> tests;
  for (const Rule& rule : rules.rules()) {
    if (rule.metric && is_called(*rule.metric, name)) tests.push_back(&*rule.metric);
  }
  return tests;
}

std::vector<MetricPoint> needed_points(const Ruleset& rules, const MetricSeries& series,
                                       const ExecutionContext& context, bool is_part) {
  const std::vector<const MetricMatch*> tests = metric_tests(rules, series.name);
  const auto hits = [&](const MetricMatch* test) {
    return find_hit(*test, series.points, context).has_value();
  };
  std::vector<MetricPoint> needed;
  if (!is_part && std::none_of(tests.begin(), tests.end(), hits)) return needed;
  const Thinning thinning(tests, context, is_part);
  const std::size_t first_growth = first_growth_of(series.points, context);
  for (std::size_t i = 0; i < series.points.size(); ++i) {
    if (thinning.needs(series.points, i, first_growth)) needed.push_back(series.points[i]);
  }
  return needed;
}

void extract_series(const Ruleset& rules, std::span<const MetricSample> series,
                    const ExecutionContext& context, std::vector<Event>* events) {
  if (series.empty()) return;
  std::vector<MetricPoint> points;
  points.reserve(series.size());
  for (const MetricSample& sample : series) points.push_back({sample.timestamp, sample.value});
  for (const Rule& rule : rules.rules()) {
    if (!rule.metric || !is_called(*rule.metric, series.front().name)) continue;
    if (!has_labels(*rule.metric, series.front().labels)) continue;
    if (const auto hit = find_hit(*rule.metric, points, context)) {
      events->push_back(make_event(rule, series.front(), *hit));
    }
  }
}

}  // namespace nvab
