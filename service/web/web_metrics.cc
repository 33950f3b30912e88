// SPDX-License-Identifier: Apache-2.0
// Fleet metrics for alerts. Counts are of the database, so they go on where this process starts
// anew.
#include "service/metrics.hh"
#include "service/web/pages.hh"
#include "service/web/queue_view.hh"
#include "service/web/web.hh"

namespace nvab {
namespace {

// What makes a node suspicious now is what happened lately.
constexpr Duration kSuspicionRange = std::chrono::hours(24 * 30);
// The worst are enough for an alert, and keep the number of series bounded.
constexpr std::size_t kMaxNodes = 50;

Result<void> write_runs(Db& db, std::string* out) {
  auto query = db.prepare(
      "SELECT cluster, domain, sub_domain, sum(runs), sum(node_seconds) FROM run_day GROUP BY 1, "
      "2, 3");
  if (!query) return tl::unexpected(query.error());
  struct Row {
    std::string cluster, domain, sub_domain;
    std::uint64_t runs = 0;
    double node_seconds = 0;
  };
  std::vector<Row> rows;
  for (;;) {
    const auto more = query->step();
    if (!more) return tl::unexpected(more.error());
    if (!*more) break;
    rows.push_back({query->text(0), query->text(1), query->text(2),
                    static_cast<std::uint64_t>(query->integer(3)), query->real(4)});
  }
  MetricFamily runs(out, "nvab_runs", "gauge", "Jobs judged, by what the latest verdict says.");
  for (const Row& row : rows) {
    runs.sample(row.runs,
                {{"cluster", row.cluster}, {"domain", row.domain}, {"sub_domain", row.sub_domain}});
  }
  MetricFamily seconds(out, "nvab_run_node_seconds", "gauge", "Node-seconds of these jobs.");
  for (const Row& row : rows) {
    seconds.sample(
        row.node_seconds,
        {{"cluster", row.cluster}, {"domain", row.domain}, {"sub_domain", row.sub_domain}});
  }
  return {};
}

Result<void> write_nodes(Db& db, Time now, std::string* out) {
  Filter filter;
  filter.from = now - kSuspicionRange;
  filter.to = now;
  const auto page = nodes_page(db, filter, {false, kMaxNodes});
  if (!page) return tl::unexpected(page.error());
  MetricFamily family(
      out, "nvab_node_suspicion", "gauge",
      "How many times the fleet's failure rate a node's is at least (95 %), over 30 days.");
  for (const Json& node : page->get("nodes").elements()) {
    const double times = node.get("times_fleet").as_double().value_or(0);
    if (times <= 0) continue;
    family.sample(times, {{"cluster", node.get("cluster").as_string().value_or("")},
                          {"node", node.get("node").as_string().value_or("")}});
  }
  return {};
}

void write_queue(const std::string& folder, Time now, std::string* out) {
  const auto queue = view_queue(folder);
  MetricFamily(out, "nvab_queue_readable", "gauge", "Whether the queue can be read.")
      .sample(std::uint64_t{queue ? 1U : 0U});
  if (!queue) return;
  MetricFamily entries(out, "nvab_queue_entries", "gauge", "Hand-overs in the queue.");
  entries.sample(static_cast<std::uint64_t>(queue->waiting), {{"state", "new"}});
  entries.sample(static_cast<std::uint64_t>(queue->conflicted), {{"state", "conflicted"}});
  entries.sample(static_cast<std::uint64_t>(queue->dead), {{"state", "dead"}});
  const double age =
      queue->oldest ? static_cast<double>((now - *queue->oldest).count()) / 1e6 : 0.0;
  MetricFamily(out, "nvab_queue_oldest_seconds", "gauge", "How long the oldest one waits.")
      .sample(age < 0 ? 0.0 : age);
}

}  // namespace

Result<std::string> web_metrics(Web& web, Time now) {
  std::string out;
  auto db = web.database().lease();
  MetricFamily(&out, "nvab_database_readable", "gauge", "Whether the result database can be read.")
      .sample(std::uint64_t{db ? 1U : 0U});
  if (db) {
    if (auto done = write_runs(**db, &out); !done) return tl::unexpected(done.error());
    if (auto done = write_nodes(**db, now, &out); !done) return tl::unexpected(done.error());
  }
  if (!web.settings().queue.empty()) write_queue(web.settings().queue, now, &out);
  return out;
}

}  // namespace nvab
