// SPDX-License-Identifier: Apache-2.0
// Which nodes are lemons: rates with their uncertainty, not counts.
#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "service/web/pages.hh"
#include "service/web/rate.hh"

namespace nvab {
namespace {

constexpr long long kDayUs = 86'400'000'000;
// Points of a trend: enough for a line as wide as a word.
constexpr long long kTrendPoints = 12;
// Runs of one node whose reasons are counted.
constexpr int kMaxReasonRuns = 1000;

struct NodeSum {
  std::string cluster, name;
  std::vector<std::string> members;
  long long jobs = 0, seconds = 0, blamed = 0, last_good_us = 0, last_bad_us = 0;
  std::vector<long long> trend = std::vector<long long>(kTrendPoints, 0);
  Rate rate;
  double hours() const { return static_cast<double>(seconds) / 3600; }
};

// "rack7-node12" is of "rack7-node*".
std::string prefix_of(const std::string& node) {
  const std::size_t end = node.find_last_not_of("0123456789");
  return end == std::string::npos || end + 1 == node.size() ? node : node.substr(0, end + 1) + "*";
}

using Sums = std::map<std::pair<std::string, std::string>, NodeSum>;

Where where_nodes(const Filter& filter) {
  Where where;
  where.add("day >= ?", microseconds_of(filter.from) / kDayUs);
  where.add("day <= ?", (microseconds_of(filter.to) - 1) / kDayUs);
  if (!filter.node.empty()) where.add("node = ?", filter.node);
  for (const auto& [column, value] : filter.equal) {
    if (column == "cluster") where.add("cluster = ?", value);
  }
  return where;
}

Result<Sums> read_sums(Db& db, const Filter& filter, bool by_prefix) {
  const Where where = where_nodes(filter);
  auto query = db.prepare(
      "SELECT cluster, node, day, jobs, seconds, blamed, last_good_us, last_bad_us FROM node_day "
      "WHERE " +
      where.sql());
  if (!query) return tl::unexpected(query.error());
  where.bind(*query);
  const long long first = microseconds_of(filter.from) / kDayUs;
  const long long days = std::max(1LL, (microseconds_of(filter.to) - 1) / kDayUs - first + 1);
  Sums sums;
  for (;;) {
    const auto more = query->step();
    if (!more) return tl::unexpected(more.error());
    if (!*more) return sums;
    const std::string node = query->text(1);
    NodeSum& sum = sums[{query->text(0), by_prefix ? prefix_of(node) : node}];
    if (sum.members.empty() || sum.members.back() != node) sum.members.push_back(node);
    sum.jobs += query->integer(3);
    sum.seconds += query->integer(4);
    sum.blamed += query->integer(5);
    sum.last_good_us = std::max(sum.last_good_us, query->integer(6));
    sum.last_bad_us = std::max(sum.last_bad_us, query->integer(7));
    const long long point = (query->integer(2) - first) * kTrendPoints / days;
    sum.trend[static_cast<std::size_t>(std::clamp(point, 0LL, kTrendPoints - 1))] +=
        query->integer(5);
  }
}

// The most suspicious first: by what the rate is at least, then by what it is.
std::vector<NodeSum> rank(Sums sums, Rate* fleet) {
  long long blamed = 0, seconds = 0;
  std::vector<NodeSum> nodes;
  for (auto& [key, sum] : sums) {
    std::tie(sum.cluster, sum.name) = key;
    sum.rate = failure_rate(sum.blamed, sum.hours());
    blamed += sum.blamed;
    seconds += sum.seconds;
    std::sort(sum.members.begin(), sum.members.end());
    sum.members.erase(std::unique(sum.members.begin(), sum.members.end()), sum.members.end());
    nodes.push_back(std::move(sum));
  }
  *fleet = failure_rate(blamed, static_cast<double>(seconds) / 3600);
  std::sort(nodes.begin(), nodes.end(), [](const NodeSum& a, const NodeSum& b) {
    return std::tie(b.rate.low, b.rate.value, a.cluster, a.name) <
           std::tie(a.rate.low, a.rate.value, b.cluster, b.name);
  });
  return nodes;
}

Json time_or_null(long long us) { return us > 0 ? Json::of(Time(Duration(us))) : Json(); }

// Why a node was blamed, and for which of its GPUs.
Result<void> add_reasons(Db& db, const Filter& filter, const NodeSum& node, Json* out) {
  auto query = db.prepare(fmt::format(
      "SELECT c.sub_domain, c.cause, r.title, count(*), max(c.ended_us), g.gpu_index, g.uuid FROM"
      " (SELECT run_id FROM run_node WHERE node = ? AND is_culprit ORDER BY run_id DESC LIMIT {}) n"
      " JOIN attribution_run r ON r.id = n.run_id JOIN execution_context c ON c.id = r.context_id"
      " LEFT JOIN run_gpu g ON g.run_id = n.run_id AND g.node = ?"
      " WHERE c.latest_run_id = r.id AND c.is_final AND c.domain = 'infrastructure' AND c.ended_us "
      ">= ? AND c.ended_us < ?"
      " AND c.cluster = ? GROUP BY c.cause, g.gpu_index, g.uuid ORDER BY 4 DESC LIMIT 20",
      kMaxReasonRuns));
  if (!query) return tl::unexpected(query.error());
  Json reasons = Json::array();
  for (const std::string& member : node.members) {
    query->bind(1, member).bind(2, member);
    query->bind(3, microseconds_of(filter.from))
        .bind(4, microseconds_of(filter.to))
        .bind(5, node.cluster);
    for (;;) {
      const auto more = query->step();
      if (!more) return tl::unexpected(more.error());
      if (!*more) break;
      reasons.push(Json::object()
                       .set("node", Json::of(member))
                       .set("sub_domain", Json::of(query->text(0)))
                       .set("cause", Json::of(query->text(1)))
                       .set("title", Json::of(query->text(2)))
                       .set("runs", Json::of(query->integer(3)))
                       .set("last", time_or_null(query->integer(4)))
                       .set("gpu", json_or_null(query->maybe_integer(5)))
                       .set("uuid", Json::of(query->text(6))));
    }
  }
  out->set("reasons", std::move(reasons));
  return {};
}

Json node_json(const NodeSum& node, const Rate& fleet) {
  Json json = Json::object();
  json.set("cluster", Json::of(node.cluster)).set("node", Json::of(node.name));
  json.set("nodes", Json::of(node.members.size()));
  json.set("jobs", Json::of(node.jobs)).set("job_hours", Json::of(node.hours()));
  json.set("blamed", Json::of(node.blamed));
  constexpr double kPer = 1000;
  json.set("per_1000_hours", Json::of(node.rate.value * kPer));
  json.set("low", Json::of(node.rate.low * kPer)).set("high", Json::of(node.rate.high * kPer));
  json.set("times_fleet", fleet.value > 0 ? Json::of(node.rate.low / fleet.value) : Json());
  json.set("last_good", time_or_null(node.last_good_us))
      .set("last_bad", time_or_null(node.last_bad_us));
  Json trend = Json::array();
  for (const long long count : node.trend) trend.push(Json::of(count));
  json.set("trend", std::move(trend));
  return json;
}

}  // namespace

Result<Json> nodes_page(Db& db, const Filter& filter, const NodesQuery& query) {
  auto sums = read_sums(db, filter, query.by_prefix);
  if (!sums) return tl::unexpected(sums.error());
  Rate fleet;
  const std::vector<NodeSum> nodes = rank(std::move(*sums), &fleet);
  Json list = Json::array();
  for (std::size_t i = 0; i < std::min(query.limit, nodes.size()); ++i) {
    Json json = node_json(nodes[i], fleet);
    if (nodes[i].blamed > 0) {
      if (auto done = add_reasons(db, filter, nodes[i], &json); !done)
        return tl::unexpected(done.error());
    } else {
      json.set("reasons", Json::array());
    }
    list.push(std::move(json));
  }
  Json page = Json::object();
  page.set("from", Json::of(filter.from)).set("to", Json::of(filter.to));
  page.set("fleet_per_1000_hours", Json::of(fleet.value * 1000));
  page.set("total", Json::of(nodes.size())).set("nodes", std::move(list));
  return page;
}

}  // namespace nvab
