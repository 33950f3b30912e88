// SPDX-License-Identifier: Apache-2.0
// The component metric.promql: metrics about the job's nodes from a server that speaks PromQL
// (Prometheus, VictoriaMetrics, Thanos, Mimir). One series is in memory at a time; of it only what
// the rules need is delivered, unless everything is wanted.
#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <utility>

#include "common/base/text.hh"
#include "common/engine/extract/series.hh"
#include "epilog/collect_problems.hh"
#include "epilog/connector.hh"
#include "epilog/log/local_nodes.hh"
#include "epilog/metric/metrics_json.hh"
#include "epilog/metric/promql_fetch.hh"
#include "epilog/metric/promql_probe.hh"
#include "epilog/observation_batch.hh"

namespace nvab {
namespace {

// A gauge that changed in the job shows what it was before only with a point before the job.
constexpr Duration kBeforeStart = std::chrono::minutes(5);
// Where no start is known.
constexpr Duration kUnknownStart = std::chrono::hours(1);
// Points that say whether a node or GPU is known at all.
constexpr int kPresencePoints = 20;
// Nodes without any metric that a report names.
constexpr std::size_t kMaxNamedNodes = 20;

struct PromqlOptions {
  std::string connector;
  std::vector<PromqlQuery> queries;
  Duration step{0};
  std::size_t max_points = 0;
};

class PromqlMetrics final : public Collector {
 public:
  PromqlMetrics(PromqlOptions options, HttpBackend backend, Host& host)
      : options_(std::move(options)), backend_(std::move(backend)), host_(host) {}
  Source source() const override { return Source::node_metrics; }
  CollectOutcome collect(const ExecutionContext& context, ObservationSink& sink) override;

 private:
  // One collection.
  struct Round {
    const ExecutionContext& context;
    PromqlWindow window;
    PromqlFetch fetch;
    ObservationBatch batch;
    CollectProblems problems = {};
    std::set<std::string> seen = {};  // nodes
    std::int64_t asked = 0, series = 0, samples = 0;
    std::optional<Error::Code> ended_by = {};  // the trouble after which nothing more was asked
    Json queries = Json::array();
  };

  PromqlWindow window_of(const ExecutionContext& context) const;
  // False: the server is away, further queries would only wait for it again.
  bool ask(const PromqlQuery& query, Round* round);
  void take(const PromqlQuery& query, MetricSeries&& series, bool is_part, Round* round);
  CollectOutcome conclude(Round* round, const BackendUsage& before);

  PromqlOptions options_;
  HttpBackend backend_;
  Host& host_;
};

PromqlWindow PromqlMetrics::window_of(const ExecutionContext& context) const {
  const Time now = std::chrono::floor<Duration>(std::chrono::system_clock::now());
  PromqlWindow window;
  window.end = std::min(now, context.end_time ? *context.end_time + kScrapeDelay : now);
  window.start = context.start_time.value_or(window.end - kUnknownStart) - kBeforeStart;
  window.start = std::min(window.start, window.end - options_.step);
  window.step = options_.step;
  return window;
}

void PromqlMetrics::take(const PromqlQuery& query, MetricSeries&& series, bool is_part,
                         Round* round) {
  std::string name;
  if (const auto label = series.labels.find(query.node_label); label != series.labels.end()) {
    name = without_port(label->second);
  } else {
    name = node_of_labels(series.labels);
  }
  const std::string_view node = node_called(round->context, name);
  // The expression may match a little more than the job's nodes.
  if (node.empty()) return;
  series.labels.erase(std::string(kNameLabel));
  series.node = node;
  round->seen.emplace(node);
  ++round->series;
  std::vector<MetricPoint> points;
  if (query.is_presence) {
    // Its labels say which GPU is where; its values come with the other query.
    const bool is_gpu = series.labels.contains("UUID") || series.labels.contains("pci_bus_id");
    if (is_gpu) points.push_back(series.points.front());
  } else if (host_.all_lines) {
    points = std::move(series.points);
  } else {
    points = needed_points(*host_.rules, series, round->context, is_part);
  }
  round->samples += static_cast<std::int64_t>(points.size());
  for (const MetricPoint& point : points) round->batch.add(series.sample(point));
}

bool PromqlMetrics::ask(const PromqlQuery& query, Round* round) {
  // What no rule looks at is of use only where everything is wanted.
  const bool whole = host_.all_lines || query.is_presence;
  if (query.text.empty() && !whole) return true;
  if (query.is_presence && host_.all_lines) return true;
  PromqlWindow window = round->window;
  if (query.is_presence) {
    window.step = std::max(window.step, (window.end - window.start) / kPresencePoints);
  }
  const std::int64_t before = round->series;
  auto done = round->fetch.run(
      query, round->context.nodes, window, whole, host_.deadline,
      [&](MetricSeries&& series, bool is_part) { take(query, std::move(series), is_part, round); });
  round->asked += 1;
  // Texts of the many that found nothing would make every result long.
  if (!done || round->series > before) {
    Json entry = Json::object();
    entry.set("metric", Json::of(query.name));
    entry.set("query", Json::of(whole ? query.whole : query.text));
    entry.set("series", Json::of(round->series - before));
    if (!done) entry.set("error", Json::of(done.error().message));
    round->queries.push(std::move(entry));
  }
  if (done) return true;
  const Error::Code code = done.error().code;
  round->problems.add(query.name, std::move(done.error()));
  const bool ends = code == Error::Code::unavailable || code == Error::Code::permission ||
                    code == Error::Code::timeout || code == Error::Code::not_found;
  if (ends) round->ended_by = code;
  return !ends;
}

CollectOutcome PromqlMetrics::conclude(Round* round, const BackendUsage& before) {
  for (const std::string& warning : round->fetch.warnings()) {
    round->problems.add("partial answer", {Error::Code::internal, warning});
  }
  CollectOutcome outcome = round->problems.outcome(!round->seen.empty(), "metric");
  if (round->ended_by) outcome.status = connector_status(*round->ended_by);
  if (outcome.status == ConnectorStatus::no_data) {
    outcome.reason =
        fmt::format("{} knows no metric of the job's nodes in the job's time", backend_.url());
  }
  Json& details = outcome.details;
  details.set("window_start", Json::of(format_rfc3339(round->window.start)));
  details.set("window_end", Json::of(format_rfc3339(round->window.end)));
  details.set("step_seconds",
              Json::of(to_seconds(promql_step(round->window.end - round->window.start,
                                              options_.step, options_.max_points))));
  details.set("requests",
              Json::of(static_cast<std::int64_t>(backend_.usage().requests - before.requests)));
  details.set("bytes", Json::of(static_cast<std::int64_t>(backend_.usage().bytes - before.bytes)));
  details.set("series", Json::of(round->series));
  details.set("samples", Json::of(round->samples));
  details.set("asked", Json::of(round->asked));
  details.set("queries", std::move(round->queries));
  Json missing = Json::array();
  std::size_t count = 0;
  for (const std::string& node : round->context.nodes) {
    if (!round->seen.contains(node) && ++count <= kMaxNamedNodes) missing.push(Json::of(node));
  }
  details.set("nodes_without_metrics", Json::of(static_cast<std::int64_t>(count)));
  if (count > 0) details.set("nodes_without_metrics_first", std::move(missing));
  return outcome;
}

CollectOutcome PromqlMetrics::collect(const ExecutionContext& context, ObservationSink& sink) {
  CollectOutcome outcome;
  if (context.nodes.empty()) {
    outcome.status = ConnectorStatus::no_data;
    outcome.reason = "the job had no nodes";
    return outcome;
  }
  const RulesetName* filter = host_.all_lines ? nullptr : &host_.rules->name();
  const BackendUsage before = backend_.usage();
  Round round{context, window_of(context), PromqlFetch(backend_, options_.max_points),
              ObservationBatch(Source::node_metrics, options_.connector, filter, sink)};
  for (const PromqlQuery& query : options_.queries) {
    if (host_.deadline.passed()) {
      round.problems.add(query.name, {Error::Code::timeout, "the time for asking was over"});
      round.ended_by = Error::Code::timeout;
      break;
    }
    if (!ask(query, &round)) break;
  }
  round.batch.flush();
  return conclude(&round, before);
}

constexpr ParamSpec kOwnParams[] = {
    {.name = "tenant", .help = "Sent as X-Scope-OrgID (Mimir, Cortex)"},
    {.name = "queries",
     .type = ParamType::list,
     .help = "Which of the shipped queries are asked (default: all)",
     .choices = "dcgm|nvlink|throttle|power|node|memory|filesystem|network|infiniband"},
    {.name = "extra",
     .type = ParamType::list,
     .help = "Further queries: EXPRESSION or NAME = EXPRESSION, with =~\"${nodes}\" in it"},
    {.name = "matchers", .help = "Put into each shipped query, e.g. cluster=\"a\""},
    {.name = "node_label",
     .fallback = "instance",
     .help = "Label that names the node in the node exporter's metrics"},
    {.name = "dcgm_label", .fallback = "Hostname", .help = "The same in the DCGM exporter's"},
    {.name = "amd_label", .fallback = "hostname", .help = "The same in AMD's exporters'"},
    {.name = "node_suffix",
     .fallback = "([.][^:]*)?(:[0-9]+)?",
     .help = "Regular expression for what follows a node's name in those labels"},
    {.name = "step",
     .type = ParamType::duration,
     .fallback = "15s",
     .help = "Time between two points: how often the server scrapes"},
    {.name = "max_points",
     .type = ParamType::integer,
     .fallback = "11000",
     .help = "Points of a series that the server gives; the step grows with it",
     .low = 2,
     .high = static_cast<long long>(kMaxAskedPoints)},
};
constexpr auto kParams = with_backend_params(kOwnParams);

Result<std::unique_ptr<Collector>> open_metric_promql(const ComponentSettings& settings,
                                                      Host& host) {
  PromqlSettings wanted;
  wanted.groups = settings.list("queries");
  wanted.extra = settings.list("extra");
  wanted.matchers = settings.text("matchers");
  wanted.node_label = settings.text("node_label");
  wanted.dcgm_label = settings.text("dcgm_label");
  wanted.amd_label = settings.text("amd_label");
  wanted.suffix = settings.text("node_suffix");
  auto queries = promql_queries(wanted, *host.rules);
  if (!queries) return tl::unexpected<Error>(queries.error());
  auto backend = open_promql_backend(settings, host);
  if (!backend) return tl::unexpected<Error>(backend.error());
  PromqlOptions options;
  options.connector = settings.full_name();
  options.queries = std::move(*queries);
  options.step = std::max<Duration>(settings.duration("step"), std::chrono::seconds(1));
  options.max_points = static_cast<std::size_t>(settings.integer("max_points"));
  return std::make_unique<PromqlMetrics>(std::move(options), std::move(*backend), host);
}

}  // namespace

extern const CollectorComponent metric_promql;
constinit const CollectorComponent metric_promql = {
    .spec = {.framework = "metric",
             .name = "promql",
             .help = "Metrics from Prometheus and what speaks PromQL",
             .params = kParams},
    .query = nullptr,
    .open = open_metric_promql,
    .probe = probe_promql,
};

}  // namespace nvab
