// SPDX-License-Identifier: Apache-2.0
// See result_schema.hh. Times are microseconds since 1970, so that they sort and compare.
#include "common/model/result_schema.hh"

namespace nvab {
namespace {

constexpr std::string_view kMigrations[] = {
    R"sql(
CREATE TABLE schema_version (
  version INTEGER PRIMARY KEY,
  applied_us INTEGER NOT NULL
);

CREATE TABLE execution_context (
  id INTEGER PRIMARY KEY,
  context_key TEXT NOT NULL UNIQUE,
  scheduler TEXT NOT NULL,
  cluster TEXT NOT NULL,
  job_id TEXT NOT NULL,
  attempt INTEGER NOT NULL,
  name TEXT NOT NULL,
  user TEXT NOT NULL,
  account TEXT NOT NULL,
  partition TEXT NOT NULL,
  state TEXT NOT NULL,
  exit_code TEXT NOT NULL,
  submit_us INTEGER,
  start_us INTEGER,
  end_us INTEGER,
  time_limit_s INTEGER,
  node_count INTEGER NOT NULL,
  gpus_per_node INTEGER,
  first_seen_us INTEGER NOT NULL,
  latest_run_id INTEGER
);
CREATE INDEX execution_context_by_end ON execution_context (end_us);
CREATE INDEX execution_context_by_job ON execution_context (job_id);
CREATE INDEX execution_context_by_user ON execution_context (user, end_us);

CREATE TABLE attribution_run (
  id INTEGER PRIMARY KEY,
  context_id INTEGER NOT NULL REFERENCES execution_context (id),
  trigger_id TEXT UNIQUE,
  created_us INTEGER NOT NULL,
  attributor_id TEXT NOT NULL,
  terminal_state TEXT NOT NULL,
  domain TEXT NOT NULL,
  sub_domain TEXT NOT NULL,
  outcome TEXT NOT NULL,
  cause TEXT NOT NULL,
  title TEXT NOT NULL,
  rule TEXT NOT NULL,
  confidence REAL NOT NULL,
  action TEXT NOT NULL,
  first_failing_rank INTEGER,
  victim_ranks INTEGER NOT NULL,
  victim_nodes INTEGER NOT NULL,
  lost_gpu_hours REAL,
  evidence_status TEXT NOT NULL,
  provisional INTEGER NOT NULL,
  ruleset TEXT NOT NULL,
  ruleset_version TEXT NOT NULL,
  ruleset_digest TEXT NOT NULL,
  result_json TEXT NOT NULL
);
CREATE INDEX attribution_run_by_context ON attribution_run (context_id, id);
CREATE INDEX attribution_run_by_time ON attribution_run (created_us);
CREATE INDEX attribution_run_by_sub_domain ON attribution_run (sub_domain, created_us);

CREATE TABLE run_node (
  run_id INTEGER NOT NULL REFERENCES attribution_run (id),
  node TEXT NOT NULL,
  is_culprit INTEGER NOT NULL,
  is_excluded INTEGER NOT NULL,
  drain_reason TEXT,
  drain_confidence REAL,
  PRIMARY KEY (run_id, node)
) WITHOUT ROWID;
CREATE INDEX run_node_by_node ON run_node (node, run_id);

CREATE TABLE run_gpu (
  run_id INTEGER NOT NULL REFERENCES attribution_run (id),
  node TEXT NOT NULL,
  gpu_index INTEGER,
  pci TEXT NOT NULL,
  uuid TEXT NOT NULL
);
CREATE INDEX run_gpu_by_run ON run_gpu (run_id);
CREATE INDEX run_gpu_by_node ON run_gpu (node, run_id);

CREATE TABLE run_rule (
  run_id INTEGER NOT NULL REFERENCES attribution_run (id),
  rule TEXT NOT NULL,
  role TEXT NOT NULL,
  is_root INTEGER NOT NULL,
  events INTEGER NOT NULL,
  PRIMARY KEY (run_id, rule)
) WITHOUT ROWID;
CREATE INDEX run_rule_by_rule ON run_rule (rule, run_id);
)sql",
};

}  // namespace

std::span<const std::string_view> result_migrations() { return kMigrations; }

}  // namespace nvab
