// SPDX-License-Identifier: Apache-2.0
// What the pages ask for, as JSON: a function a call of the API. They read the database and know no
// HTTP. Each reads at most a bounded number of rows. Errors: those of the database.
#pragma once

#include <optional>
#include <string>

#include "common/base/json.hh"
#include "common/base/sqlite.hh"
#include "service/web/filter.hh"

namespace nvab {

// Runs by state and sub-domain over time, what was lost to each, the share of the infrastructure.
// Buckets are hours for ranges up to three days, and days (UTC) for longer ones.
Result<Json> overview_page(Db& db, const Filter& filter);

// Nodes with their exposure: job-hours, times blamed, the rate with its 90 % interval, how many
// times the fleet's, reasons, GPUs, trend. The most suspicious first.
struct NodesQuery {
  bool by_prefix = false;  // sum nodes whose names differ in their last number only: racks, chassis
  std::size_t limit = 200;
};
Result<Json> nodes_page(Db& db, const Filter& filter, const NodesQuery& query);

// The latest run of each context, newest first, by pages.
struct RunsQuery {
  std::string search;  // a job, user, node, GPU UUID, rule, or words of the evidence
  std::string after;   // the cursor that the page before gave
  std::size_t limit = 50;
};
Result<Json> runs_page(Db& db, const Filter& filter, const RunsQuery& query);

// One run with its result, and all runs of the same job. Nothing where there is no such run.
Result<std::optional<Json>> run_page(Db& db, long long run_id);

// Verdicts that share a cause in time and place.
Result<Json> incidents_page(Db& db, const Filter& filter);

// What filters can be set to: the clusters, partitions, accounts and users with most runs.
Result<Json> choices_page(Db& db, const Filter& filter);

}  // namespace nvab
