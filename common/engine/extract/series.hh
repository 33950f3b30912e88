// SPDX-License-Identifier: Apache-2.0
// One metric series with its labels said once, and what of it the metric rules look at: a client
// that has the rules need not send the rest. Pure.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/engine/ruleset.hh"
#include "common/model/context.hh"
#include "common/model/observation.hh"

namespace nvab {

struct MetricPoint {
  Time time{};
  double value = 0;
};

struct MetricSeries {
  std::string name;
  std::map<std::string, std::string> labels;
  std::string node;
  std::vector<MetricPoint> points;  // ascending in time

  MetricSample sample(const MetricPoint& point) const {
    return {point.time, name, labels, point.value, node};
  }
};

// Exporters scrape late: a change that shows this long after the end can have been in the job.
inline constexpr Duration kScrapeDelay = std::chrono::minutes(2);

// What rules want to know of metrics called so; empty where none does.
std::vector<const MetricMatch*> metric_tests(const Ruleset& rules, std::string_view name);

// The points from which extract_series() makes the events that it makes from all of them; none
// where it makes none. `is_part`: other parts of the series may come, so points are only left out
// where the value stays.
std::vector<MetricPoint> needed_points(const Ruleset& rules, const MetricSeries& series,
                                       const ExecutionContext& context, bool is_part);

}  // namespace nvab
