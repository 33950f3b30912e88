// SPDX-License-Identifier: Apache-2.0
// See metrics.hh.
#include "service/metrics.hh"

#include <fmt/core.h>

#include <algorithm>

#include "common/base/text.hh"

namespace nvab {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;

std::string escape_label(std::string_view value) {
  std::string out;
  for (const char c : sanitize(value)) {
    if (c == '\\' || c == '"') out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace

MetricFamily::MetricFamily(std::string* out, std::string_view name, std::string_view type,
                           std::string_view help)
    : out_(out), name_(name) {
  *out_ += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
}

void MetricFamily::sample(std::string_view suffix, std::string_view value,
                          std::initializer_list<Label> labels) {
  *out_ += name_;
  *out_ += suffix;
  char separator = '{';
  for (const auto& [key, text] : labels) {
    *out_ += fmt::format("{}{}=\"{}\"", separator, key, escape_label(text));
    separator = ',';
  }
  if (separator == ',') *out_ += '}';
  *out_ += ' ';
  *out_ += value;
  *out_ += '\n';
}

void MetricFamily::sample(double value, std::initializer_list<Label> labels) {
  sample("", fmt::format("{}", value), labels);
}

void MetricFamily::sample(std::uint64_t value, std::initializer_list<Label> labels) {
  sample("", std::to_string(value), labels);
}

RequestMetrics::RequestMetrics(const Router& router) : router_(router) {
  for (std::size_t i = 0; i <= router.routes().size(); ++i)
    rows_.push_back(std::make_unique<Row>());
}

std::string_view RequestMetrics::name_of(std::size_t row) const {
  return row < router_.routes().size() ? router_.routes()[row].spec.operation : "none";
}

void RequestMetrics::count(const Route* route, int status, Duration took, std::uint64_t bytes_in,
                           std::uint64_t bytes_out) {
  Row& row = *rows_[route != nullptr ? router_.index_of(*route) : router_.routes().size()];
  row.by_status[static_cast<std::size_t>(std::clamp(status, 0, kMaxStatus - 1))].fetch_add(
      1, kRelaxed);
  const double seconds = to_seconds(took);
  const auto* const bound = std::lower_bound(kLatencyBounds.begin(), kLatencyBounds.end(), seconds);
  row.by_latency[static_cast<std::size_t>(bound - kLatencyBounds.begin())].fetch_add(1, kRelaxed);
  row.microseconds.fetch_add(static_cast<std::uint64_t>(took.count()), kRelaxed);
  row.bytes_in.fetch_add(bytes_in, kRelaxed);
  row.bytes_out.fetch_add(bytes_out, kRelaxed);
}

void RequestMetrics::write(std::string* out) const {
  MetricFamily requests(out, "nvab_http_requests_total", "counter",
                        "Requests by call and status; status 0: the client was gone first.");
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    for (int status = 0; status < kMaxStatus; ++status) {
      const auto count = rows_[r]->by_status[static_cast<std::size_t>(status)].load(kRelaxed);
      if (count == 0) continue;
      requests.sample(count, {{"operation", name_of(r)}, {"status", std::to_string(status)}});
    }
  }
  MetricFamily received(out, "nvab_http_request_bytes_total", "counter",
                        "Bytes of bodies received.");
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    received.sample(rows_[r]->bytes_in.load(kRelaxed), {{"operation", name_of(r)}});
  }
  MetricFamily sent(out, "nvab_http_response_bytes_total", "counter", "Bytes of bodies sent.");
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    sent.sample(rows_[r]->bytes_out.load(kRelaxed), {{"operation", name_of(r)}});
  }
  MetricFamily latency(out, "nvab_http_request_seconds", "histogram",
                       "From the first line of a request to the end of its answer.");
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    const std::string_view name = name_of(r);
    std::uint64_t below = 0;
    for (std::size_t i = 0; i < kLatencyBounds.size(); ++i) {
      below += rows_[r]->by_latency[i].load(kRelaxed);
      latency.sample("_bucket", std::to_string(below),
                     {{"operation", name}, {"le", fmt::format("{}", kLatencyBounds[i])}});
    }
    below += rows_[r]->by_latency.back().load(kRelaxed);
    latency.sample("_bucket", std::to_string(below), {{"operation", name}, {"le", "+Inf"}});
    const double sum = static_cast<double>(rows_[r]->microseconds.load(kRelaxed)) / 1e6;
    latency.sample("_sum", fmt::format("{}", sum), {{"operation", name}});
    latency.sample("_count", std::to_string(below), {{"operation", name}});
  }
}

}  // namespace nvab
