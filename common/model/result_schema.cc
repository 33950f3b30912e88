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
    // What pages about many runs ask for: the latest verdict beside its context, and sums by day
    // that result_rollup.cc keeps. What was stored before is brought in from the results
    // themselves.
    R"sql(
ALTER TABLE execution_context ADD COLUMN ended_us INTEGER NOT NULL DEFAULT 0;
ALTER TABLE execution_context ADD COLUMN terminal_state TEXT NOT NULL DEFAULT '';
ALTER TABLE execution_context ADD COLUMN domain TEXT NOT NULL DEFAULT '';
ALTER TABLE execution_context ADD COLUMN sub_domain TEXT NOT NULL DEFAULT '';
ALTER TABLE execution_context ADD COLUMN cause TEXT NOT NULL DEFAULT '';
ALTER TABLE execution_context ADD COLUMN evidence_status TEXT NOT NULL DEFAULT '';
ALTER TABLE execution_context ADD COLUMN is_final INTEGER NOT NULL DEFAULT 0;
UPDATE execution_context SET (ended_us, terminal_state, domain, sub_domain, cause, evidence_status, is_final) =
  (SELECT coalesce(execution_context.end_us, r.created_us), r.terminal_state, r.domain, r.sub_domain, r.cause,
          r.evidence_status, NOT r.provisional
   FROM attribution_run r WHERE r.id = execution_context.latest_run_id)
  WHERE latest_run_id IS NOT NULL;
CREATE INDEX execution_context_by_ended ON execution_context (ended_us);
CREATE INDEX execution_context_by_owner ON execution_context (user, ended_us);
CREATE INDEX execution_context_by_account ON execution_context (account, ended_us);
CREATE INDEX execution_context_by_sub_domain ON execution_context (sub_domain, ended_us);
DROP INDEX execution_context_by_end;
DROP INDEX execution_context_by_user;

CREATE TABLE context_node (
  context_id INTEGER NOT NULL REFERENCES execution_context (id),
  node TEXT NOT NULL,
  PRIMARY KEY (context_id, node)
) WITHOUT ROWID;
CREATE INDEX context_node_by_node ON context_node (node, context_id);
INSERT OR IGNORE INTO context_node
  SELECT c.id, n.value FROM execution_context c JOIN attribution_run r ON r.id = c.latest_run_id,
         json_each(r.result_json, '$.context.nodes') n;
CREATE INDEX run_gpu_by_uuid ON run_gpu (uuid, run_id);

CREATE TABLE run_day (
  day INTEGER NOT NULL,
  cluster TEXT NOT NULL,
  partition TEXT NOT NULL,
  account TEXT NOT NULL,
  user TEXT NOT NULL,
  terminal_state TEXT NOT NULL,
  domain TEXT NOT NULL,
  sub_domain TEXT NOT NULL,
  evidence_status TEXT NOT NULL,
  runs INTEGER NOT NULL,
  job_seconds INTEGER NOT NULL,
  node_seconds INTEGER NOT NULL,
  gpu_seconds INTEGER NOT NULL,
  PRIMARY KEY (day, cluster, partition, account, user, terminal_state, domain, sub_domain, evidence_status)
) WITHOUT ROWID;

CREATE TABLE node_day (
  day INTEGER NOT NULL,
  cluster TEXT NOT NULL,
  node TEXT NOT NULL,
  jobs INTEGER NOT NULL,
  seconds INTEGER NOT NULL,
  blamed INTEGER NOT NULL,
  last_good_us INTEGER,
  last_bad_us INTEGER,
  PRIMARY KEY (day, cluster, node)
) WITHOUT ROWID;
CREATE INDEX node_day_by_node ON node_day (node, day);

CREATE VIRTUAL TABLE run_text USING fts5 (text, content = '');
INSERT INTO run_text (rowid, text)
  SELECT r.id, r.title || ' ' || r.rule || ' ' ||
         coalesce((SELECT group_concat(json_extract(t.value, '$.text'), ' ')
                   FROM json_each(r.result_json, '$.timeline') t), '')
  FROM attribution_run r;
)sql",
};

}  // namespace

std::span<const std::string_view> result_migrations() { return kMigrations; }

}  // namespace nvab
