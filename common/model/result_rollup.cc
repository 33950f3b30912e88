// SPDX-License-Identifier: Apache-2.0
// See result_rollup.hh. Whatever a statement reads it reads from the context's own rows, so that
// what was added can be taken back exactly.
#include "common/model/result_rollup.hh"

#include <fmt/core.h>

#include <string>

namespace nvab {
namespace {

// A job that never started took no time.
constexpr const char* kRuns = R"sql(
INSERT INTO run_day (day, cluster, partition, account, user, terminal_state, domain, sub_domain, evidence_status,
                     runs, job_seconds, node_seconds, gpu_seconds)
  SELECT ended_us / 86400000000, cluster, partition, account, user, terminal_state, domain, sub_domain,
         evidence_status, sum(?1), sum(?1 * seconds), sum(?1 * seconds * node_count),
         sum(?1 * seconds * node_count * coalesce(gpus_per_node, 0))
  FROM (SELECT *, max(0, coalesce((end_us - start_us) / 1000000, 0)) AS seconds FROM execution_context c
        WHERE is_final AND {})
  GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9
  ON CONFLICT DO UPDATE SET runs = runs + excluded.runs, job_seconds = job_seconds + excluded.job_seconds,
    node_seconds = node_seconds + excluded.node_seconds, gpu_seconds = gpu_seconds + excluded.gpu_seconds
)sql";

// A node is blamed when it is the culprit of an infrastructure failure, and good when a job on it
// completed.
constexpr const char* kNodes = R"sql(
INSERT INTO node_day (day, cluster, node, jobs, seconds, blamed, last_good_us, last_bad_us)
  SELECT c.ended_us / 86400000000, c.cluster, n.node, sum(?1),
         sum(?1 * max(0, coalesce((c.end_us - c.start_us) / 1000000, 0))),
         sum(?1 * (c.domain = 'infrastructure' AND coalesce(b.is_culprit, 0))),
         max(CASE WHEN c.terminal_state = 'completed' THEN c.ended_us END),
         max(CASE WHEN c.domain = 'infrastructure' AND b.is_culprit THEN c.ended_us END)
  FROM execution_context c JOIN context_node n ON n.context_id = c.id
       LEFT JOIN run_node b ON b.run_id = c.latest_run_id AND b.node = n.node
  WHERE c.is_final AND {}
  GROUP BY 1, 2, 3
  ON CONFLICT DO UPDATE SET jobs = jobs + excluded.jobs, seconds = seconds + excluded.seconds,
    blamed = blamed + excluded.blamed,
    last_good_us = max(coalesce(last_good_us, excluded.last_good_us), coalesce(excluded.last_good_us, last_good_us)),
    last_bad_us = max(coalesce(last_bad_us, excluded.last_bad_us), coalesce(excluded.last_bad_us, last_bad_us))
)sql";

}  // namespace

Result<void> roll_up(Db& database, std::optional<long long> context_id, int sign) {
  for (const char* sql : {kRuns, kNodes}) {
    // Two statements rather than one with an OR, which would look at every context.
    auto statement =
        database.prepare(fmt::format(fmt::runtime(sql), context_id ? "c.id = ?2" : "1"));
    if (!statement) return tl::unexpected(statement.error());
    statement->bind(1, sign);
    if (context_id) statement->bind(2, *context_id);
    if (auto done = statement->run(); !done) return done;
  }
  return {};
}

}  // namespace nvab
