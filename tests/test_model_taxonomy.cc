// SPDX-License-Identifier: Apache-2.0
// The closed lists: each word both ways, each outcome on the table, each end of a job.
#include "common/model/taxonomy.hh"

#include <set>
#include <string>

#include "tests/cmocka.hh"

using namespace nvab;

static std::string words_of_terminal_states() {
  std::string words;
  for (int i = 0; i <= static_cast<int>(TerminalState::unknown); ++i) {
    const auto value = static_cast<TerminalState>(i);
    assert_true(terminal_state_from(to_string(value)) == value);
    words += std::string(to_string(value)) + " ";
  }
  return words;
}

static void every_word_reads_back_as_its_value(void**) {
  assert_string_equal(
      words_of_terminal_states().c_str(),
      "completed failed timeout cancelled preempted node_failure out_of_memory unknown ");
  std::string words;
  for (int i = 0; i <= static_cast<int>(SubDomain::unknown); ++i) {
    const auto value = static_cast<SubDomain>(i);
    assert_true(sub_domain_from(to_string(value)) == value);
    words += std::string(to_string(value)) + " ";
  }
  assert_string_equal(words.c_str(),
                      "user_code user_config user_data framework gpu_oom host_memory "
                      "gpu_hardware gpu_memory gpu_driver nvlink network_fabric storage host_os "
                      "host_hardware scheduler external_service user_cancel time_limit none "
                      "unknown ");
  words.clear();
  for (int i = 0; i <= static_cast<int>(Action::resubmit_with_more_memory); ++i) {
    const auto value = static_cast<Action>(i);
    assert_true(action_from(to_string(value)) == value);
    words += std::string(to_string(value)) + " ";
  }
  assert_string_equal(words.c_str(),
                      "investigate none_needed requeue requeue_exclude_nodes fix_before_retry "
                      "resubmit_with_more_time resubmit_with_more_memory ");
  words.clear();
  for (int i = 0; i <= static_cast<int>(EvidenceStatus::insufficient); ++i) {
    const auto value = static_cast<EvidenceStatus>(i);
    assert_true(evidence_status_from(to_string(value)) == value);
    words += std::string(to_string(value)) + " ";
  }
  assert_string_equal(words.c_str(), "complete partial insufficient ");
}

static void every_sub_domain_has_its_domain(void**) {
  std::string words;
  for (int i = 0; i <= static_cast<int>(SubDomain::unknown); ++i) {
    words += std::string(to_string(domain_of(static_cast<SubDomain>(i)))) + " ";
  }
  assert_string_equal(words.c_str(),
                      "workload workload workload workload workload workload "
                      "infrastructure infrastructure infrastructure infrastructure infrastructure "
                      "infrastructure infrastructure infrastructure "
                      "scheduler external user time_limit none unknown ");
}

static void every_outcome_is_listed_once_and_found(void**) {
  std::set<std::string_view> seen;
  std::set<SubDomain> reached;
  for (const OutcomeRow& row : outcomes()) {
    assert_true(seen.insert(row.outcome).second);
    assert_ptr_equal(find_outcome(row.outcome), &row);
    assert_false(row.meaning.empty());
    reached.insert(row.sub_domain);
  }
  assert_null(find_outcome(""));
  assert_null(find_outcome("no_such_outcome"));
  // A sub-domain that no outcome leads to could never be answered.
  assert_int_equal(reached.size(), static_cast<int>(SubDomain::unknown) + 1);
}

static void blame_and_advice_of_every_outcome_agree(void**) {
  for (const OutcomeRow& row : outcomes()) {
    // Nodes are avoided where a node is at fault, and only there.
    assert_int_equal(row.blames_node, row.action == Action::requeue_exclude_nodes);
    const Domain domain = domain_of(row.sub_domain);
    if (row.blames_node) assert_true(domain == Domain::infrastructure);
    if (domain == Domain::user || domain == Domain::none) {
      assert_true(row.action == Action::none_needed);
    }
    if (row.action == Action::resubmit_with_more_time) {
      assert_true(row.sub_domain == SubDomain::time_limit);
    }
  }
}

static void the_schedulers_word_is_how_it_ended(void**) {
  struct Row {
    const char* state;
    TerminalState wanted;
  };
  const Row rows[] = {
      {"COMPLETED", TerminalState::completed},    {"FAILED", TerminalState::failed},
      {"TIMEOUT", TerminalState::timeout},        {"DEADLINE", TerminalState::timeout},
      {"CANCELLED", TerminalState::cancelled},    {"CANCELLED by 1000", TerminalState::cancelled},
      {"PREEMPTED", TerminalState::preempted},    {"NODE_FAIL", TerminalState::node_failure},
      {"BOOT_FAIL", TerminalState::node_failure}, {"OUT_OF_MEMORY", TerminalState::out_of_memory},
      {"RUNNING", TerminalState::unknown},        {"", TerminalState::unknown}};
  for (const Row& row : rows) {
    assert_true(terminal_state(row.state, "") == row.wanted);
    assert_true(terminal_state(row.state, "gpu_lost") == row.wanted);
  }
}

static void the_evidence_corrects_the_schedulers_word_where_it_must(void**) {
  assert_true(terminal_state("FAILED", "job_out_of_memory") == TerminalState::out_of_memory);
  assert_true(terminal_state("FAILED", "gpu_out_of_memory") == TerminalState::failed);
  assert_true(terminal_state("COMPLETED", "job_out_of_memory") == TerminalState::completed);
  assert_true(terminal_state("FAILED", "teardown_failure") == TerminalState::completed);
  assert_true(terminal_state("CANCELLED", "preempted") == TerminalState::preempted);
}

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(every_word_reads_back_as_its_value),
      cmocka_unit_test(every_sub_domain_has_its_domain),
      cmocka_unit_test(every_outcome_is_listed_once_and_found),
      cmocka_unit_test(blame_and_advice_of_every_outcome_agree),
      cmocka_unit_test(the_schedulers_word_is_how_it_ended),
      cmocka_unit_test(the_evidence_corrects_the_schedulers_word_where_it_must),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
