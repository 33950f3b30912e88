// SPDX-License-Identifier: Apache-2.0
// metrics.json of a bundle: a list of {metric, labels, values: [[unix_s, number], …]} with the
// names that DCGM exporter and node exporter use. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.hh"
#include "common/model/observation.hh"

namespace nvab {

// One series as text: a sample every 10 s for a month has 8 MB.
inline constexpr std::size_t kMaxSeriesBytes = 8 * 1024 * 1024;

// Labels of one series, and bytes of one label: more is no exporter's.
inline constexpr std::size_t kMaxLabels = 64;
inline constexpr std::size_t kMaxLabelBytes = 1024;

// The samples of one element. A value may be a number or, as Prometheus writes them, its text
// ("NaN", "+Inf" are left out). `metric` may also be Prometheus' label set with "__name__".
// Errors: malformed, with what is wrong.
Result<std::vector<MetricSample>> parse_series(std::string_view text);

// Who a series is about: the first of the labels that exporters put the node's name in, without a
// port. Empty when there is none.
std::string node_of_labels(const std::map<std::string, std::string>& labels);

// "n1:9100" -> "n1"; "[2001:db8::1]:9100" -> "2001:db8::1".
std::string without_port(std::string_view address);

// Samples of one series (same name and labels) as such an element.
Json series_to_json(std::span<const MetricSample> series);

}  // namespace nvab
