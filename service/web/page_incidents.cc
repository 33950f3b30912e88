// SPDX-License-Identifier: Apache-2.0
// Incidents: what hit several jobs at once. Verdicts belong together when they have the same cause
// on the same cluster within a short time, and share a node or lie in something that jobs share.
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>

#include "service/web/pages.hh"

namespace nvab {
namespace {

// Jobs that one switch or file server fails end within minutes of each other; the watchdogs that
// end them take up to half an hour.
constexpr long long kGapUs = 30LL * 60 * 1'000'000;
// Verdicts looked at: the latest of the range.
constexpr int kMaxVerdicts = 20'000;
constexpr std::size_t kMaxIncidents = 200, kMaxJobsShown = 50;

struct Hit {
  long long run_id = 0, ended_us = 0, nodes = 0;
  std::string cluster, job_id, user, sub_domain, cause, title;
  std::set<std::string> culprits;
};

// What many jobs use at once: they share it though no node is the same.
bool is_shared(const std::string& sub_domain) {
  return sub_domain == "network_fabric" || sub_domain == "storage" || sub_domain == "scheduler" ||
         sub_domain == "external_service";
}

struct Incident {
  std::vector<const Hit*> hits;
  std::set<std::string> nodes;
  long long first_us = 0, last_us = 0;

  bool takes(const Hit& hit) const {
    if (hit.ended_us - last_us > kGapUs) return false;
    if (is_shared(hit.sub_domain)) return true;
    return std::any_of(hit.culprits.begin(), hit.culprits.end(),
                       [&](const std::string& node) { return nodes.count(node) > 0; });
  }
  void take(const Hit& hit) {
    if (hits.empty()) first_us = hit.ended_us;
    last_us = hit.ended_us;
    hits.push_back(&hit);
    nodes.insert(hit.culprits.begin(), hit.culprits.end());
  }
};

Result<std::vector<Hit>> read_hits(Db& db, const Filter& filter) {
  const Where where = where_contexts(filter);
  auto query = db.prepare(fmt::format(
      "SELECT r.id, c.ended_us, c.node_count, c.cluster, c.job_id, c.user, c.sub_domain, c.cause, "
      "r.title,"
      " (SELECT group_concat(node, ' ') FROM run_node n WHERE n.run_id = r.id AND n.is_culprit)"
      " FROM execution_context c JOIN attribution_run r ON r.id = c.latest_run_id"
      " WHERE {} AND c.domain IN ('infrastructure', 'external', 'scheduler') AND c.cause != ''"
      " ORDER BY c.ended_us DESC LIMIT {}",
      where.sql(), kMaxVerdicts));
  if (!query) return tl::unexpected(query.error());
  where.bind(*query);
  std::vector<Hit> hits;
  for (;;) {
    const auto more = query->step();
    if (!more) return tl::unexpected(more.error());
    if (!*more) break;
    Hit hit{query->integer(0), query->integer(1), query->integer(2), query->text(3), query->text(4),
            query->text(5),    query->text(6),    query->text(7),    query->text(8), {}};
    const std::string culprits = query->text(9);
    for (std::size_t at = 0; at < culprits.size();) {
      const std::size_t end = std::min(culprits.find(' ', at), culprits.size());
      hit.culprits.insert(culprits.substr(at, end - at));
      at = end + 1;
    }
    hits.push_back(std::move(hit));
  }
  std::reverse(hits.begin(), hits.end());  // oldest first
  return hits;
}

std::vector<Incident> group(const std::vector<Hit>& hits) {
  std::vector<Incident> incidents;
  // Of each cluster and cause, those that may still grow.
  std::map<std::pair<std::string, std::string>, std::vector<std::size_t>> open;
  for (const Hit& hit : hits) {
    std::vector<std::size_t>& candidates = open[{hit.cluster, hit.cause}];
    std::erase_if(candidates,
                  [&](std::size_t i) { return hit.ended_us - incidents[i].last_us > kGapUs; });
    const auto home = std::find_if(candidates.begin(), candidates.end(),
                                   [&](std::size_t i) { return incidents[i].takes(hit); });
    if (home != candidates.end()) {
      incidents[*home].take(hit);
      continue;
    }
    candidates.push_back(incidents.size());
    incidents.emplace_back().take(hit);
  }
  std::erase_if(incidents, [](const Incident& incident) { return incident.hits.size() < 2; });
  std::sort(incidents.begin(), incidents.end(), [](const Incident& a, const Incident& b) {
    return std::pair(b.last_us, b.hits.front()->run_id) <
           std::pair(a.last_us, a.hits.front()->run_id);
  });
  return incidents;
}

Json incident_json(const Incident& incident) {
  const Hit& first = *incident.hits.front();
  Json json = Json::object();
  json.set("cluster", Json::of(first.cluster)).set("cause", Json::of(first.cause));
  json.set("title", Json::of(first.title)).set("sub_domain", Json::of(first.sub_domain));
  json.set("first", Json::of(Time(Duration(incident.first_us))))
      .set("last", Json::of(Time(Duration(incident.last_us))));
  std::set<std::string> users;
  Json jobs = Json::array();
  for (const Hit* hit : incident.hits) {
    users.insert(hit->user);
    if (jobs.size() >= kMaxJobsShown) continue;
    jobs.push(Json::object()
                  .set("run_id", Json::of(hit->run_id))
                  .set("job_id", Json::of(hit->job_id))
                  .set("user", Json::of(hit->user))
                  .set("nodes", Json::of(hit->nodes))
                  .set("end", Json::of(Time(Duration(hit->ended_us)))));
  }
  json.set("job_count", Json::of(incident.hits.size())).set("user_count", Json::of(users.size()));
  json.set("nodes", json_strings({incident.nodes.begin(), incident.nodes.end()}));
  json.set("jobs", std::move(jobs));
  return json;
}

}  // namespace

Result<Json> incidents_page(Db& db, const Filter& filter) {
  const auto hits = read_hits(db, filter);
  if (!hits) return tl::unexpected(hits.error());
  const std::vector<Incident> incidents = group(*hits);
  Json list = Json::array();
  for (std::size_t i = 0; i < std::min(kMaxIncidents, incidents.size()); ++i)
    list.push(incident_json(incidents[i]));
  Json page = Json::object();
  page.set("from", Json::of(filter.from)).set("to", Json::of(filter.to));
  page.set("total", Json::of(incidents.size())).set("incidents", std::move(list));
  page.set("is_cut", Json::of(hits->size() == kMaxVerdicts));
  return page;
}

}  // namespace nvab
