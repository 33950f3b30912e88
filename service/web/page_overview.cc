// SPDX-License-Identifier: Apache-2.0
// The overview: what ended how, when, and what it cost.
#include <fmt/core.h>

#include <map>

#include "service/web/pages.hh"

namespace nvab {
namespace {

// Up to this range hours are counted from the runs themselves; days are summed beforehand.
constexpr Duration kHourlyUpTo = std::chrono::hours(72);
constexpr long long kHourUs = 3'600'000'000, kDayUs = 24 * kHourUs;
constexpr double kHour = 3600.0;

struct Sum {
  long long runs = 0, job_seconds = 0, node_seconds = 0, gpu_seconds = 0;
  void add(const Sum& other) {
    runs += other.runs;
    job_seconds += other.job_seconds;
    node_seconds += other.node_seconds;
    gpu_seconds += other.gpu_seconds;
  }
};

struct Row {
  long long bucket_us = 0;
  std::string state, domain, sub_domain, evidence;
  Sum sum;
};

bool needs_runs(const Filter& filter) {
  if (filter.to - filter.from <= kHourlyUpTo || !filter.node.empty()) return true;
  for (const auto& [column, value] : filter.equal) {
    if (column == "cause") return true;
  }
  return false;
}

std::string sql_of_runs(const Filter& filter, long long bucket_us) {
  return fmt::format(
      "SELECT ended_us / {0} * {0}, terminal_state, domain, sub_domain, evidence_status, count(*), "
      "sum(seconds),"
      " sum(seconds * node_count), sum(seconds * node_count * coalesce(gpus_per_node, 0)) FROM"
      " (SELECT c.*, max(0, coalesce((c.end_us - c.start_us) / 1000000, 0)) AS seconds FROM "
      "execution_context c"
      " WHERE {1}) GROUP BY 1, 2, 3, 4, 5",
      bucket_us, where_contexts(filter).sql());
}

std::string sql_of_days(const Filter& filter) {
  return fmt::format(
      "SELECT day * {}, terminal_state, domain, sub_domain, evidence_status, sum(runs), "
      "sum(job_seconds),"
      " sum(node_seconds), sum(gpu_seconds) FROM run_day WHERE {} GROUP BY 1, 2, 3, 4, 5",
      kDayUs, where_days(filter).sql());
}

Result<std::vector<Row>> read_rows(Db& db, const std::string& sql, const Where& where) {
  auto query = db.prepare(sql);
  if (!query) return tl::unexpected(query.error());
  where.bind(*query);
  std::vector<Row> rows;
  for (;;) {
    const auto more = query->step();
    if (!more) return tl::unexpected(more.error());
    if (!*more) return rows;
    rows.push_back({query->integer(0),
                    query->text(1),
                    query->text(2),
                    query->text(3),
                    query->text(4),
                    {query->integer(5), query->integer(6), query->integer(7), query->integer(8)}});
  }
}

Json sum_json(const Sum& sum) {
  return Json::object()
      .set("runs", Json::of(sum.runs))
      .set("job_hours", Json::of(static_cast<double>(sum.job_seconds) / kHour))
      .set("node_hours", Json::of(static_cast<double>(sum.node_seconds) / kHour))
      .set("gpu_hours", Json::of(static_cast<double>(sum.gpu_seconds) / kHour));
}

Json sums_json(const std::map<std::string, Sum>& sums) {
  Json json = Json::object();
  for (const auto& [name, sum] : sums) json.set(name, sum_json(sum));
  return json;
}

Json series_json(const std::vector<Row>& rows) {
  std::map<long long, std::pair<std::map<std::string, long long>, std::map<std::string, long long>>>
      buckets;
  for (const Row& row : rows) {
    auto& [states, sub_domains] = buckets[row.bucket_us];
    states[row.state] += row.sum.runs;
    if (row.domain != "none") sub_domains[row.sub_domain] += row.sum.runs;
  }
  const auto counts = [](const std::map<std::string, long long>& all) {
    Json json = Json::object();
    for (const auto& [name, runs] : all) json.set(name, Json::of(runs));
    return json;
  };
  Json series = Json::array();
  for (const auto& [bucket_us, both] : buckets) {
    series.push(Json::object()
                    .set("time", Json::of(Time(Duration(bucket_us))))
                    .set("by_state", counts(both.first))
                    .set("by_sub_domain", counts(both.second)));
  }
  return series;
}

Json totals_json(const std::vector<Row>& rows) {
  Sum all, lost, infrastructure;
  std::map<std::string, Sum> by_state, by_domain, by_sub_domain, by_evidence;
  for (const Row& row : rows) {
    all.add(row.sum);
    by_state[row.state].add(row.sum);
    by_evidence[row.evidence].add(row.sum);
    if (row.domain == "none") continue;
    lost.add(row.sum);
    by_domain[row.domain].add(row.sum);
    by_sub_domain[row.sub_domain].add(row.sum);
    if (row.domain == "infrastructure") infrastructure.add(row.sum);
  }
  Json totals = Json::object();
  totals.set("all", sum_json(all)).set("lost", sum_json(lost));
  totals.set("infrastructure", sum_json(infrastructure));
  totals.set("infrastructure_share", lost.runs > 0
                                         ? Json::of(static_cast<double>(infrastructure.runs) /
                                                    static_cast<double>(lost.runs))
                                         : Json());
  // Node-hours between failures that the infrastructure is to blame for.
  totals.set("mean_node_hours_to_failure",
             infrastructure.runs > 0 ? Json::of(static_cast<double>(all.node_seconds) / kHour /
                                                static_cast<double>(infrastructure.runs))
                                     : Json());
  totals.set("by_state", sums_json(by_state)).set("by_domain", sums_json(by_domain));
  totals.set("by_sub_domain", sums_json(by_sub_domain)).set("by_evidence", sums_json(by_evidence));
  return totals;
}

}  // namespace

Result<Json> overview_page(Db& db, const Filter& filter) {
  const bool is_exact = needs_runs(filter);
  const long long bucket_us = filter.to - filter.from <= kHourlyUpTo ? kHourUs : kDayUs;
  const auto rows = is_exact ? read_rows(db, sql_of_runs(filter, bucket_us), where_contexts(filter))
                             : read_rows(db, sql_of_days(filter), where_days(filter));
  if (!rows) return tl::unexpected(rows.error());
  Json page = Json::object();
  page.set("from", Json::of(filter.from)).set("to", Json::of(filter.to));
  page.set("bucket_s", Json::of(bucket_us / 1'000'000));
  page.set("whole_days", Json::of(!is_exact));
  page.set("series", series_json(*rows)).set("totals", totals_json(*rows));
  return page;
}

}  // namespace nvab
