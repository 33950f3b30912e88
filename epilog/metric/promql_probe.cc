// SPDX-License-Identifier: Apache-2.0
// See promql_probe.hh.
#include "epilog/metric/promql_probe.hh"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/base/text.hh"
#include "epilog/metric/promql_answer.hh"

namespace nvab {
namespace {

// Points are placed by the server's clock, the job by the scheduler's.
constexpr double kMaxSkewSeconds = 5;
// Nodes with a wrong clock that are looked at; the first of them are named.
constexpr std::size_t kMaxProbed = 200'000;
constexpr std::size_t kMaxNamed = 5;

// The series of an instant query, the first kMaxProbed of them.
Result<std::vector<MetricSeries>> ask_series(HttpBackend& backend, std::string_view query,
                                             Deadline deadline) {
  HttpRequest request;
  request.method = "POST";
  request.url = "/api/v1/query";
  request.headers = {"Content-Type: application/x-www-form-urlencoded"};
  request.body = "query=" + url_escape(query);
  const auto answer = backend.send(std::move(request), deadline);
  if (!answer) return tl::unexpected(answer.error());
  if (answer->status / 100 != 2) return tl::unexpected(answer_error(backend.url(), *answer));
  std::vector<MetricSeries> all;
  PromqlAnswer parsed([&](MetricSeries&& series) {
    if (all.size() < kMaxProbed) all.push_back(std::move(series));
    return true;
  });
  bool is_given = false;
  const auto read = read_json(
      [&]() -> std::string_view {
        return std::exchange(is_given, true) ? std::string_view() : answer->body;
      },
      parsed);
  if (!read) return fail(backend.url() + ": the answer", read.error());
  if (!parsed.trouble().empty()) {
    return fail(Error::Code::malformed, backend.url() + ": " + parsed.trouble());
  }
  return all;
}

// The first value; nothing where the query gives no series.
Result<std::optional<double>> ask_value(HttpBackend& backend, std::string_view query,
                                        Deadline deadline) {
  const auto all = ask_series(backend, query, deadline);
  if (!all) return tl::unexpected(all.error());
  if (all->empty()) return std::optional<double>();
  return std::optional<double>(all->front().points.front().value);
}

std::string fix_for(const Error& error) {
  switch (error.code) {
    case Error::Code::permission:
      return "set auth to credentials that may query it, and tenant where it has tenants";
    case Error::Code::timeout:
    case Error::Code::unavailable:
      return "see that url is right, that the server runs, and that this host may reach it";
    default:
      return "see that url is the server's own, without /api/v1 behind it";
  }
}

ProbeFinding check_clock(double theirs) {
  const std::string what = "clock of the metrics server";
  const double ours =
      to_unix_seconds(std::chrono::floor<Duration>(std::chrono::system_clock::now()));
  const double skew = theirs - ours;
  if (std::abs(skew) <= kMaxSkewSeconds)
    return probe_ok(what, fmt::format("{:+.1f} s from ours", skew));
  return probe_warning(what, fmt::format("{:+.1f} s from ours", skew),
                       "let both hosts follow the same NTP servers");
}

ProbeFinding check_exporter(HttpBackend& backend, const char* metric, const char* exporter,
                            Deadline deadline) {
  const std::string what = fmt::format("metrics of the {}", exporter);
  const auto count = ask_value(backend, fmt::format("count({})", metric), deadline);
  if (!count) return probe_fault(what, count.error().message, fix_for(count.error()));
  if (*count && **count > 0) {
    return probe_ok(what, fmt::format("{:.0f} series of {}", **count, metric));
  }
  return probe_warning(what, fmt::format("no series of {} now", metric),
                       fmt::format("scrape the {}, or leave its queries out", exporter));
}

// Each node exporter says what its clock shows when it is scraped. Scraping takes its time, too.
ProbeFinding check_nodes(HttpBackend& backend, const std::string& label, Deadline deadline) {
  const std::string what = "clocks of the nodes";
  const auto wrong = ask_series(
      backend,
      fmt::format("abs(node_time_seconds - timestamp(node_time_seconds)) > {}", kMaxSkewSeconds),
      deadline);
  if (!wrong) return probe_fault(what, wrong.error().message, fix_for(wrong.error()));
  if (wrong->empty()) {
    return probe_ok(what, fmt::format("none is known to be off by over {} s", kMaxSkewSeconds));
  }
  std::string names;
  for (std::size_t i = 0; i < std::min(kMaxNamed, wrong->size()); ++i) {
    const MetricSeries& series = (*wrong)[i];
    const auto name = series.labels.find(label);
    names +=
        fmt::format("{}{} by {:.0f} s", names.empty() ? "" : ", ",
                    name == series.labels.end() ? "?" : name->second, series.points.front().value);
  }
  return probe_warning(what, fmt::format("{} nodes are off: {}", wrong->size(), names),
                       "let them follow the same NTP servers; their lines would be put in a wrong "
                       "order");
}

bool wants(const ComponentSettings& settings, std::string_view group) {
  const auto& groups = settings.list("queries");
  return groups.empty() || std::find(groups.begin(), groups.end(), group) != groups.end();
}

}  // namespace

Result<HttpBackend> open_promql_backend(const ComponentSettings& settings, const Host& host) {
  const std::string& tenant = settings.text("tenant");
  if (sanitize(tenant) != tenant || tenant.find('\n') != std::string::npos) {
    return fail(Error::Code::malformed, "tenant wants one line of text");
  }
  auto backend = HttpBackend::open(settings, host);
  if (backend && !tenant.empty()) backend->add_header("X-Scope-OrgID: " + tenant);
  return backend;
}

ProbeFindings probe_promql(const ComponentSettings& settings, Host& host) {
  auto backend = open_promql_backend(settings, host);
  if (!backend) {
    return {probe_fault("open " + settings.full_name(), backend.error().message,
                        "correct its settings, see nvab.conf(5)")};
  }
  const std::string what = "query " + backend->url();
  const auto clock = ask_value(*backend, "vector(time())", host.deadline);
  if (!clock) return {probe_fault(what, clock.error().message, fix_for(clock.error()))};
  ProbeFindings findings = {probe_ok(what, "it answers")};
  if (*clock) findings.push_back(check_clock(**clock));
  if (wants(settings, "dcgm")) {
    findings.push_back(
        check_exporter(*backend, "DCGM_FI_DEV_XID_ERRORS", "DCGM exporter", host.deadline));
  }
  if (wants(settings, "node")) {
    findings.push_back(
        check_exporter(*backend, "node_boot_time_seconds", "node exporter", host.deadline));
    findings.push_back(check_nodes(*backend, settings.text("node_label"), host.deadline));
  }
  return findings;
}

}  // namespace nvab
