// SPDX-License-Identifier: Apache-2.0
// Results in SQLite: one context a job and attempt, one attribution_run each time it was asked
// about, and rows by node, GPU, rule and day for fast pages. The schema is in nvab-result(5).
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "common/base/sqlite.hh"
#include "common/model/result.hh"

namespace nvab {

// The schema that this program writes. Older ones are brought forward when a writer opens them.
int result_schema_version();

class ResultStore {
 public:
  // Creates the file where there is none, and brings an older schema forward, in one transaction.
  // Other writers are waited for. Errors: unsupported (written by a newer version), and those of
  // Db::open.
  static Result<std::unique_ptr<ResultStore>> open(const std::string& path);

  enum class Added { stored, already_there };
  // Stores the result as a new run of its context, all rows or none. A `trigger_id` (a hand-off;
  // empty: none) that has a run already adds nothing.
  Result<Added> add(const AttributionResult& result, Time now, std::string_view trigger_id = {});

  Db& database() { return db_; }

 private:
  explicit ResultStore(Db db) : db_(std::move(db)) {}
  Result<void> migrate();
  Result<void> add_rows(const AttributionResult& result, Time now, std::string_view trigger_id);
  // Before the context changes: what it counted for in the sums.
  Result<void> take_back(const ExecutionContext& context);
  Result<long long> add_context(const ExecutionContext& context, Time now);
  Result<long long> add_run(long long context_id, const AttributionResult& result, Time now,
                            std::string_view trigger_id);
  Result<void> set_latest(long long context_id, long long run_id, const AttributionResult& result,
                          Time now);
  Result<void> add_context_nodes(long long context_id, const ExecutionContext& context);
  Result<void> add_nodes(long long run_id, const Verdict& verdict);
  Result<void> add_gpus(long long run_id, const Verdict& verdict);
  Result<void> add_rules(long long run_id, const Verdict& verdict);
  Result<void> add_text(long long run_id, const Verdict& verdict);

  Db db_;
};

}  // namespace nvab
