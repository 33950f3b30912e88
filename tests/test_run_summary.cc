// SPDX-License-Identifier: Apache-2.0
// The exit policy and the summaries of runs.
#include <cstring>
#include <set>

#include "epilog/summary.hh"
#include "tests/cmocka.hh"

using namespace nvab;

namespace {

ContextSummary attributed(Action action, EvidenceStatus evidence = EvidenceStatus::complete) {
  ContextSummary context;
  context.job = "7";
  context.status = ContextStatus::attributed;
  context.action = action;
  context.evidence_status = evidence;
  return context;
}

RunSummary run_of(int attempted, int succeeded, std::vector<ContextSummary> contexts = {}) {
  RunSummary run;
  run.name = "x.toml";
  run.stats.discovered = run.stats.attempted = attempted;
  run.stats.succeeded = succeeded;
  run.contexts = std::move(contexts);
  return run;
}

void nothing_found_and_partial_success_are_success(void**) {
  assert_int_equal(exit_code_of(run_of(0, 0), true), kExitOk);
  assert_int_equal(exit_code_of(run_of(3, 1), false), kExitOk);
}

void attempts_without_any_output_are_a_failure(void**) {
  assert_int_equal(exit_code_of(run_of(3, 0), false), kExitNoOutput);
}

void strict_looks_at_attributed_contexts_only(void**) {
  ContextSummary conflict;
  conflict.status = ContextStatus::conflicted;
  const auto complete = attributed(Action::requeue);
  const auto partial = attributed(Action::requeue, EvidenceStatus::partial);
  assert_int_equal(exit_code_of(run_of(2, 1, {complete, conflict}), true), kExitOk);
  assert_int_equal(exit_code_of(run_of(1, 1, {partial}), true), kExitIncomplete);
  assert_int_equal(exit_code_of(run_of(1, 1, {partial}), false), kExitOk);
}

void a_run_that_did_not_start_has_its_own_code(void**) {
  RunSummary run = run_of(0, 0);
  run.error = "bad";
  assert_int_equal(exit_code_of(run, false), kExitNoOutput);
  run.exit_code = kExitConfiguration;
  assert_int_equal(exit_code_of(run, false), kExitConfiguration);
  assert_int_equal(exit_code_of(std::vector<RunSummary>{run_of(1, 1), run}), kExitConfiguration);
}

void every_action_has_an_exit_code_of_its_own(void**) {
  std::set<int> codes;
  for (int i = 0; i <= static_cast<int>(Action::resubmit_with_more_memory); ++i) {
    const int code = exit_code_of(static_cast<Action>(i));
    assert_true(code >= 10 && code <= 16);
    codes.insert(code);
  }
  assert_int_equal(codes.size(), 7);
}

void of_several_jobs_the_one_with_most_to_do_decides(void**) {
  const std::vector<RunSummary> runs = {
      run_of(2, 2, {attributed(Action::requeue), attributed(Action::fix_before_retry)})};
  assert_int_equal(exit_code_by_action(runs), 15);
  assert_int_equal(exit_code_by_action({run_of(0, 0)}), kExitOk);
  RunSummary failed = run_of(1, 0);
  failed.exit_code = kExitNoOutput;
  assert_int_equal(exit_code_by_action({runs[0], failed}), kExitNoOutput);
}

void summaries_name_conflicts_and_failures(void**) {
  ContextSummary conflict, failure;
  conflict.job = "8";
  conflict.status = ContextStatus::conflicted;
  conflict.attributor_id = "abc";
  failure.job = "9";
  failure.status = ContextStatus::failed;
  failure.reason = "no answer";
  const std::vector<RunSummary> runs = {run_of(2, 0, {conflict, failure}), run_of(1, 1)};
  const std::string text = summaries_to_text(runs);
  assert_non_null(std::strstr(text.c_str(), "job 8: conflicted, session abc is open elsewhere"));
  assert_non_null(std::strstr(text.c_str(), "job 9: failed, no answer"));
  assert_non_null(std::strstr(text.c_str(), "all 2 runs: 3 discovered"));
  const Json json = summaries_to_json(runs);
  const Json first = json.get("runs").at(0).get("last_run_summaries").at(0);
  assert_string_equal(first.get("attributor_id").as_string()->c_str(), "abc");
  assert_false(first.has("sub_domain"));  // a conflict is no verdict
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(nothing_found_and_partial_success_are_success),
      cmocka_unit_test(attempts_without_any_output_are_a_failure),
      cmocka_unit_test(strict_looks_at_attributed_contexts_only),
      cmocka_unit_test(a_run_that_did_not_start_has_its_own_code),
      cmocka_unit_test(every_action_has_an_exit_code_of_its_own),
      cmocka_unit_test(of_several_jobs_the_one_with_most_to_do_decides),
      cmocka_unit_test(summaries_name_conflicts_and_failures),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
