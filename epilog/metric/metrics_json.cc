// SPDX-License-Identifier: Apache-2.0
// See metrics_json.hh.
#include "epilog/metric/metrics_json.hh"

#include <fmt/core.h>

#include <cmath>
#include <optional>
#include <utility>

#include "common/base/text.hh"

namespace nvab {
namespace {

// DCGM exporter says Hostname; kube-prometheus and most scrape configurations say node, nodename or
// instance; the node exporter's own pod would be "pod", which names no node.
constexpr std::string_view kNodeLabels[] = {"Hostname", "hostname",        "node",    "nodename",
                                            "host",     "kubernetes_node", "instance"};

std::optional<double> number_of(const Json& value) {
  std::optional<double> number = value.as_double();
  if (!number) {
    if (const auto text = value.as_string()) number = parse_double(*text);
  }
  if (number && !std::isfinite(*number)) number.reset();
  return number;
}

// Times of Prometheus are between 1970 and the year 9999.
constexpr double kMaxUnixSeconds = 253402300799.0;

Result<void> read_labels(const Json& labels, MetricSample* sample) {
  bool fits = true;
  labels.each([&](std::string_view key, const Json& value) {
    const auto text = value.as_string();
    if (!text || key.size() + text->size() > kMaxLabelBytes ||
        sample->labels.size() >= kMaxLabels) {
      fits = false;
    } else if (key == "__name__") {
      sample->name = *text;
    } else {
      sample->labels.emplace(key, *text);
    }
  });
  if (!fits) return fail(Error::Code::malformed, "its labels are not short texts");
  return {};
}

}  // namespace

std::string without_port(std::string_view address) {
  if (address.starts_with('[')) {
    const std::size_t end = address.find(']');
    return std::string(address.substr(1, end == std::string_view::npos ? end : end - 1));
  }
  const std::size_t colon = address.find(':');
  const bool is_one =
      colon != std::string_view::npos && address.find(':', colon + 1) == address.npos;
  return std::string(is_one ? address.substr(0, colon) : address);
}

std::string node_of_labels(const std::map<std::string, std::string>& labels) {
  for (const std::string_view name : kNodeLabels) {
    const auto found = labels.find(std::string(name));
    if (found != labels.end() && !found->second.empty()) return without_port(found->second);
  }
  return {};
}

Result<std::vector<MetricSample>> parse_series(std::string_view text) {
  auto series = Json::parse(text);
  if (!series) return tl::unexpected<Error>(series.error());
  MetricSample sample;
  const Json metric = series->get("metric");
  if (const auto name = metric.as_string()) sample.name = *name;
  for (const Json& labels : {metric, series->get("labels")}) {
    if (!labels.is_object()) continue;
    if (auto read = read_labels(labels, &sample); !read) {
      return tl::unexpected<Error>(read.error());
    }
  }
  if (sample.name.empty()) return fail(Error::Code::malformed, "a series has no name");
  const Json values = series->get("values");
  if (!values.is_array()) {
    return fail(Error::Code::malformed, fmt::format("series {} has no values", sample.name));
  }
  const auto node = series->get("node").as_string();
  sample.node = node ? *node : node_of_labels(sample.labels);
  std::vector<MetricSample> samples;
  const std::size_t count = values.size();
  samples.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const Json pair = values.at(i);
    const auto time = number_of(pair.at(0));
    if (!time || *time < 0 || *time > kMaxUnixSeconds) {
      return fail(Error::Code::malformed,
                  fmt::format("series {}: value {} is not [unix seconds, number]", sample.name, i));
    }
    const auto value = number_of(pair.at(1));
    if (!value) continue;  // NaN: the exporter had nothing to say
    // Rounded: what series_to_json wrote must read back as the same microsecond.
    sample.timestamp = Time(Duration(std::llround(*time * 1e6)));
    sample.value = *value;
    samples.push_back(sample);
  }
  return samples;
}

Json series_to_json(std::span<const MetricSample> series) {
  Json labels = Json::object();
  Json values = Json::array();
  for (const auto& [key, value] : series.front().labels) labels.set(key, Json::of(value));
  for (const MetricSample& sample : series) {
    Json pair = Json::array();
    pair.push(Json::of(to_unix_seconds(sample.timestamp))).push(Json::of(sample.value));
    values.push(std::move(pair));
  }
  Json element = Json::object();
  element.set("metric", Json::of(series.front().name));
  element.set("labels", std::move(labels));
  // Only where the labels do not say it.
  const std::string& node = series.front().node;
  if (node != node_of_labels(series.front().labels)) element.set("node", Json::of(node));
  element.set("values", std::move(values));
  return element;
}

}  // namespace nvab
