// SPDX-License-Identifier: Apache-2.0
// See result_store.hh.
#include "common/model/result_store.hh"

#include <map>
#include <optional>
#include <utility>

#include "common/model/result_rollup.hh"
#include "common/model/result_schema.hh"

namespace nvab {
namespace {

long long microseconds(Time time) { return time.time_since_epoch().count(); }

std::optional<long long> microseconds(const std::optional<Time>& time) {
  if (!time) return std::nullopt;
  return microseconds(*time);
}

// 0 for an empty file.
Result<int> version_of(Db& database) {
  auto table = database.prepare(
      "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'schema_version'");
  if (!table) return tl::unexpected<Error>(table.error());
  auto row = table->step();
  if (!row) return tl::unexpected<Error>(row.error());
  if (table->integer(0) == 0) return 0;
  auto version = database.prepare("SELECT max(version) FROM schema_version");
  if (!version) return tl::unexpected<Error>(version.error());
  row = version->step();
  if (!row) return tl::unexpected<Error>(row.error());
  return static_cast<int>(version->integer(0));
}

Error too_new(const std::string& path, int version) {
  return {Error::Code::unsupported, "the database " + path + " has schema " +
                                        std::to_string(version) + ", this program knows up to " +
                                        std::to_string(result_schema_version()) +
                                        "; use a newer nvab, or another file"};
}

// The schema whose sums have to be made of what is there already.
constexpr int kFirstWithSums = 2;
// What of the evidence's text can be searched, in bytes: more than a person would read.
constexpr std::size_t kMaxSearchText = 64 * 1024;

// What a search looks at.
std::string search_text(const Verdict& verdict) {
  std::string text = verdict.root_cause.title + ' ' + verdict.root_cause.rule;
  for (const TimelineItem& item : verdict.timeline) {
    if (text.size() + item.text.size() > kMaxSearchText) break;
    text += ' ' + item.text;
  }
  return text;
}

struct NodeRow {
  bool is_culprit = false, is_excluded = false;
  const DrainAdvice* drain = nullptr;
};

struct RuleRow {
  std::string role;
  long long events = 0;
};

}  // namespace

int result_schema_version() { return static_cast<int>(result_migrations().size()); }

Result<std::unique_ptr<ResultStore>> ResultStore::open(const std::string& path) {
  auto db = Db::open(path, Db::Mode::create);
  if (!db) return tl::unexpected<Error>(db.error());
  std::unique_ptr<ResultStore> store(new ResultStore(std::move(*db)));
  if (auto migrated = store->migrate(); !migrated) {
    return tl::unexpected<Error>(migrated.error());
  }
  return store;
}

Result<void> ResultStore::migrate() {
  auto version = version_of(db_);
  if (!version) return tl::unexpected<Error>(version.error());
  if (*version > result_schema_version()) {
    return tl::unexpected<Error>(too_new(db_.path(), *version));
  }
  if (*version == result_schema_version()) return {};
  auto transaction = Transaction::begin(db_);
  if (!transaction) return tl::unexpected<Error>(transaction.error());
  version = version_of(db_);  // another writer may have been first
  if (!version) return tl::unexpected<Error>(version.error());
  for (int step = *version; step < result_schema_version(); ++step) {
    auto done = db_.execute(std::string(result_migrations()[static_cast<std::size_t>(step)]));
    if (done) {
      done = db_.execute("INSERT INTO schema_version VALUES (" + std::to_string(step + 1) +
                         ", CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER))");
    }
    if (done && step + 1 == kFirstWithSums) done = roll_up(db_, std::nullopt, 1);
    if (!done) return fail("bringing it to schema " + std::to_string(step + 1), done.error());
  }
  return transaction->commit();
}

Result<void> ResultStore::take_back(const ExecutionContext& context) {
  auto find = db_.prepare("SELECT id FROM execution_context WHERE context_key = ?");
  if (!find) return tl::unexpected<Error>(find.error());
  find->bind(1, context.key());
  auto row = find->step();
  if (!row) return tl::unexpected<Error>(row.error());
  if (!*row) return {};
  return roll_up(db_, find->integer(0), -1);
}

Result<long long> ResultStore::add_context(const ExecutionContext& context, Time now) {
  // What the scheduler says later (the final state) replaces what it said first.
  auto insert = db_.prepare(
      "INSERT INTO execution_context (context_key, scheduler, cluster, job_id, attempt, name, user,"
      " account, partition, state, exit_code, submit_us, start_us, end_us, time_limit_s,"
      " node_count, gpus_per_node, first_seen_us)"
      " VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"
      " ON CONFLICT (context_key) DO UPDATE SET state = excluded.state,"
      " exit_code = excluded.exit_code, end_us = excluded.end_us,"
      " node_count = excluded.node_count RETURNING id");
  if (!insert) return tl::unexpected<Error>(insert.error());
  insert->bind(1, context.key());
  insert->bind(2, context.scheduler);
  insert->bind(3, context.cluster);
  insert->bind(4, context.job_id);
  insert->bind(5, context.attempt);
  insert->bind(6, context.name);
  insert->bind(7, context.user);
  insert->bind(8, context.account);
  insert->bind(9, context.partition);
  insert->bind(10, context.state);
  insert->bind(11, context.exit_code ? to_string(*context.exit_code) : std::string());
  insert->bind(12, microseconds(context.submit_time));
  insert->bind(13, microseconds(context.start_time));
  insert->bind(14, microseconds(context.end_time));
  insert->bind(15, context.time_limit_s);
  insert->bind(16, static_cast<long long>(context.nodes.size()));
  insert->bind(17, context.gpus_per_node);
  insert->bind(18, microseconds(now));
  auto row = insert->step();
  if (!row) return tl::unexpected<Error>(row.error());
  const long long id = insert->integer(0);
  auto rest = insert->run();
  if (!rest) return tl::unexpected<Error>(rest.error());
  return id;
}

Result<long long> ResultStore::add_run(long long context_id, const AttributionResult& result,
                                       Time now, std::string_view trigger_id) {
  auto insert = db_.prepare(
      "INSERT INTO attribution_run (context_id, trigger_id, created_us, attributor_id,"
      " terminal_state, domain, sub_domain, outcome, cause, title, rule, confidence, action,"
      " first_failing_rank, victim_ranks, victim_nodes, lost_gpu_hours, evidence_status,"
      " provisional, ruleset, ruleset_version, ruleset_digest, result_json)"
      " VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)");
  if (!insert) return tl::unexpected<Error>(insert.error());
  const Verdict& verdict = result.verdict;
  insert->bind(1, context_id);
  trigger_id.empty() ? insert->bind_null(2) : insert->bind(2, trigger_id);
  insert->bind(3, microseconds(now));
  insert->bind(4, result.attributor_id);
  insert->bind(5, to_string(result.terminal_state));
  insert->bind(6, to_string(result.domain));
  insert->bind(7, to_string(result.sub_domain));
  insert->bind(8, verdict.outcome);
  insert->bind(9, verdict.root_cause.id);
  insert->bind(10, verdict.root_cause.title);
  insert->bind(11, verdict.root_cause.rule);
  insert->bind(12, verdict.root_cause.confidence);
  insert->bind(13, to_string(verdict.advice.action));
  insert->bind(14, verdict.first_failing_rank);
  insert->bind(15, verdict.victims.ranks);
  insert->bind(16, verdict.victims.nodes);
  insert->bind(17, verdict.progress.lost_gpu_hours);
  insert->bind(18, to_string(result.evidence_status));
  insert->bind(19, result.provisional ? 1 : 0);
  insert->bind(20, verdict.ruleset.name);
  insert->bind(21, verdict.ruleset.version);
  insert->bind(22, verdict.ruleset.digest);
  insert->bind(23, to_json(result).dump());
  if (auto done = insert->run(); !done) return tl::unexpected<Error>(done.error());
  return db_.last_row_id();
}

Result<void> ResultStore::set_latest(long long context_id, long long run_id,
                                     const AttributionResult& result, Time now) {
  auto latest = db_.prepare(
      "UPDATE execution_context SET latest_run_id = ?, ended_us = ?, terminal_state = ?,"
      " domain = ?, sub_domain = ?, cause = ?, evidence_status = ?, is_final = ? WHERE id = ?");
  if (!latest) return tl::unexpected<Error>(latest.error());
  latest->bind(1, run_id);
  latest->bind(2, microseconds(result.context.end_time.value_or(now)));
  latest->bind(3, to_string(result.terminal_state));
  latest->bind(4, to_string(result.domain));
  latest->bind(5, to_string(result.sub_domain));
  latest->bind(6, result.verdict.root_cause.id);
  latest->bind(7, to_string(result.evidence_status));
  latest->bind(8, result.provisional ? 0 : 1);
  latest->bind(9, context_id);
  return latest->run();
}

Result<void> ResultStore::add_context_nodes(long long context_id, const ExecutionContext& context) {
  auto clear = db_.prepare("DELETE FROM context_node WHERE context_id = ?");
  if (!clear) return tl::unexpected<Error>(clear.error());
  clear->bind(1, context_id);
  if (auto done = clear->run(); !done) return done;
  auto insert = db_.prepare("INSERT OR IGNORE INTO context_node VALUES (?,?)");
  if (!insert) return tl::unexpected<Error>(insert.error());
  for (const std::string& node : context.nodes) {
    insert->bind(1, context_id);
    insert->bind(2, node);
    if (auto done = insert->run(); !done) return done;
  }
  return {};
}

Result<void> ResultStore::add_text(long long run_id, const Verdict& verdict) {
  auto insert = db_.prepare("INSERT INTO run_text (rowid, text) VALUES (?,?)");
  if (!insert) return tl::unexpected<Error>(insert.error());
  insert->bind(1, run_id);
  insert->bind(2, search_text(verdict));
  return insert->run();
}

Result<void> ResultStore::add_nodes(long long run_id, const Verdict& verdict) {
  std::map<std::string, NodeRow> nodes;
  for (const std::string& node : verdict.culprits.nodes) nodes[node].is_culprit = true;
  for (const std::string& node : verdict.advice.exclude_nodes) nodes[node].is_excluded = true;
  for (const DrainAdvice& drain : verdict.advice.drain) nodes[drain.node].drain = &drain;
  auto insert = db_.prepare("INSERT INTO run_node VALUES (?,?,?,?,?,?)");
  if (!insert) return tl::unexpected<Error>(insert.error());
  for (const auto& [node, row] : nodes) {
    insert->bind(1, run_id);
    insert->bind(2, node);
    insert->bind(3, row.is_culprit ? 1 : 0);
    insert->bind(4, row.is_excluded ? 1 : 0);
    if (row.drain != nullptr) {
      insert->bind(5, row.drain->reason);
      insert->bind(6, row.drain->confidence);
    }
    if (auto done = insert->run(); !done) return done;
  }
  return {};
}

Result<void> ResultStore::add_gpus(long long run_id, const Verdict& verdict) {
  auto insert = db_.prepare("INSERT INTO run_gpu VALUES (?,?,?,?,?)");
  if (!insert) return tl::unexpected<Error>(insert.error());
  for (const GpuRef& gpu : verdict.culprits.gpus) {
    insert->bind(1, run_id);
    insert->bind(2, gpu.node);
    insert->bind(3, gpu.index);
    insert->bind(4, gpu.pci);
    insert->bind(5, gpu.uuid);
    if (auto done = insert->run(); !done) return done;
  }
  return {};
}

Result<void> ResultStore::add_rules(long long run_id, const Verdict& verdict) {
  std::map<std::string, RuleRow> rules;
  for (const TimelineItem& item : verdict.timeline) {
    if (!item.mark.empty()) continue;
    rules[item.rule].role = item.role;
    ++rules[item.rule].events;
  }
  // The timeline is cut; victims are counted in full.
  for (const auto& [rule, count] : verdict.victims.by_rule) {
    RuleRow& row = rules[rule];
    if (row.role.empty()) row.role = "cascade";
    if (row.events < count) row.events = count;
  }
  if (!verdict.root_cause.rule.empty() && rules[verdict.root_cause.rule].role.empty()) {
    rules[verdict.root_cause.rule] = {"root", 1};
  }
  auto insert = db_.prepare("INSERT INTO run_rule VALUES (?,?,?,?,?)");
  if (!insert) return tl::unexpected<Error>(insert.error());
  for (const auto& [rule, row] : rules) {
    insert->bind(1, run_id);
    insert->bind(2, rule);
    insert->bind(3, row.role);
    insert->bind(4, rule == verdict.root_cause.rule ? 1 : 0);
    insert->bind(5, row.events);
    if (auto done = insert->run(); !done) return done;
  }
  return {};
}

Result<ResultStore::Added> ResultStore::add(const AttributionResult& result, Time now,
                                            std::string_view trigger_id) {
  auto transaction = Transaction::begin(db_);
  if (!transaction) return tl::unexpected<Error>(transaction.error());
  if (!trigger_id.empty()) {
    auto seen = db_.prepare("SELECT 1 FROM attribution_run WHERE trigger_id = ?");
    if (!seen) return tl::unexpected<Error>(seen.error());
    seen->bind(1, trigger_id);
    auto row = seen->step();
    if (!row) return tl::unexpected<Error>(row.error());
    if (*row) return Added::already_there;
  }
  if (auto done = add_rows(result, now, trigger_id); !done) return tl::unexpected(done.error());
  if (auto done = transaction->commit(); !done) return tl::unexpected(done.error());
  return Added::stored;
}

Result<void> ResultStore::add_rows(const AttributionResult& result, Time now,
                                   std::string_view trigger_id) {
  if (auto done = take_back(result.context); !done) return done;
  auto context = add_context(result.context, now);
  if (!context) return tl::unexpected<Error>(context.error());
  auto run = add_run(*context, result, now, trigger_id);
  if (!run) return tl::unexpected<Error>(run.error());
  auto done = set_latest(*context, *run, result, now);
  if (done) done = add_context_nodes(*context, result.context);
  if (done) done = add_nodes(*run, result.verdict);
  if (done) done = add_gpus(*run, result.verdict);
  if (done) done = add_rules(*run, result.verdict);
  if (done) done = add_text(*run, result.verdict);
  if (done) done = roll_up(db_, *context, 1);
  return done;
}

}  // namespace nvab
