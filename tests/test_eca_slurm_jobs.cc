// SPDX-License-Identifier: Apache-2.0
// What accounting of a real Slurm 22.05 printed (nobody's jobs on n1 to n4), and what it means.
#include "epilog/eca/slurm_jobs.hh"

#include <cstring>

#include "common/base/text.hh"
#include "epilog/eca/job_hint.hh"
#include "epilog/eca/node_events.hh"
#include "tests/cmocka.hh"

using namespace nvab;

namespace {

// `exit 137`; a segfault in a task; rank 2 of 4 aborts and srun -K ends the rest.
constexpr char kFailed[] =
    R"(3|3|FAILED|9:0|0:0|2026-12-01T08:18:34|2026-12-01T08:18:34|2026-12-01T08:18:34|525600|n1||65534|65534|nobody||main|50M|billing=1,cpu=1,mem=50M,node=1|None|wrap|/home/nobody|sbatch --parsable --wrap exit 137|nvabtest
3.batch|3.batch|FAILED|9:0||2026-12-01T08:18:34|2026-12-01T08:18:34|2026-12-01T08:18:34||n1|1|||||||cpu=1,mem=50M,node=1||batch|||nvabtest
6|6|FAILED|11:0|0:11|2026-12-01T08:18:34|2026-12-01T08:18:34|2026-12-01T08:18:34|UNLIMITED|n2||65534|65534|nobody||main|50M|billing=1,cpu=1,mem=50M,node=1|None|wrap|/home/nobody|sbatch --parsable --wrap srun sh -c "kill -SEGV \$\$"|nvabtest
6.batch|6.batch|FAILED|11:0||2026-12-01T08:18:34|2026-12-01T08:18:34|2026-12-01T08:18:34||n2|1|||||||cpu=1,mem=50M,node=1||batch|||nvabtest
6.0|6.0|CANCELLED|0:11||2026-12-01T08:18:34|2026-12-01T08:18:34|2026-12-01T08:18:34||n2|1|||||||cpu=1,mem=50M,node=1||sh||srun sh -c kill -SEGV $$|nvabtest
8|8|FAILED|15:0|0:15|2026-12-01T08:18:34|2026-12-01T08:18:34|2026-12-01T08:18:37|UNLIMITED|n[1-2]||65534|65534|nobody||main|200M|billing=4,cpu=4,gres/gpu:h100=8,gres/gpu=8,mem=200M,node=2|None|wrap|/home/nobody|sbatch --parsable -N2 -n4|nvabtest
8.batch|8.batch|FAILED|15:0||2026-12-01T08:18:34|2026-12-01T08:18:34|2026-12-01T08:18:37||n1|1|||||||cpu=3,mem=150M,node=1||batch|||nvabtest
8.0|8.0|CANCELLED|0:15||2026-12-01T08:18:34|2026-12-01T08:18:34|2026-12-01T08:18:37||n[1-2]|4|||||||cpu=4,mem=200M,node=2||sh||srun -K -n4|nvabtest
)";
// Cancelled by root; by the owner before it started; over its time.
constexpr char kEnded[] =
    R"(17|17|CANCELLED by 0|0:0|0:0|2026-12-01T08:18:34|2026-12-01T08:18:35|2026-12-01T08:18:38|525600|n3||65534|65534|nobody||main|50M|billing=1,cpu=1,mem=50M,node=1|None|wrap|/home/nobody|sbatch --parsable --wrap sleep 300|nvabtest
17.batch|17.batch|CANCELLED|0:0||2026-12-01T08:18:35|2026-12-01T08:18:35|2026-12-01T08:18:38||n3|1|||||||cpu=1,mem=50M,node=1||batch|||nvabtest
18|18|TIMEOUT|0:0|0:0|2026-12-01T08:18:34|2026-12-01T08:18:35|2026-12-01T08:18:47||n3||65534|65534|nobody||main|50M|billing=1,cpu=1,mem=50M,node=1|None|wrap|/home/nobody|sbatch --parsable --time=1 --wrap sleep 300|nvabtest
18.batch|18.batch|CANCELLED|0:15||2026-12-01T08:18:35|2026-12-01T08:18:35|2026-12-01T08:18:48||n3|1|||||||cpu=1,mem=50M,node=1||batch|||nvabtest
21|21|CANCELLED by 65534|0:0|0:0|2026-12-01T08:18:35|None|2026-12-01T08:18:38|Partition_Limit|None assigned||65534|65534|nobody||main|50M||JobHeldUser|wrap|/home/nobody|sbatch --parsable -H --wrap exit 1|nvabtest
)";
constexpr char kArray[] =
    R"(11|10_5|FAILED|5:0|0:0|2026-12-01T08:18:34|2026-12-01T08:18:34|2026-12-01T08:18:34|UNLIMITED|n2||65534|65534|nobody||main|50M|billing=1,cpu=1,mem=50M,node=1|None|wrap|/home/nobody|sbatch --parsable --array=5,9|nvabtest
11.batch|10_5.batch|FAILED|5:0||2026-12-01T08:18:34|2026-12-01T08:18:34|2026-12-01T08:18:34||n2|1|||||||cpu=1,mem=50M,node=1||batch|||nvabtest
10|10_9|FAILED|9:0|0:0|2026-12-01T08:18:34|2026-12-01T08:18:34|2026-12-01T08:18:34|UNLIMITED|n3||65534|65534|nobody||main|50M|billing=1,cpu=1,mem=50M,node=1|None|wrap|/home/nobody|sbatch --parsable --array=5,9|nvabtest
10.batch|10_9.batch|FAILED|9:0||2026-12-01T08:18:34|2026-12-01T08:18:34|2026-12-01T08:18:34||n3|1|||||||cpu=1,mem=50M,node=1||batch|||nvabtest
)";
// Requeued by hand, then exit 4; lost a node, and waits to start again.
constexpr char kRequeued[] =
    R"(19|19|REQUEUED|0:0|0:0|2026-12-01T08:18:35|2026-12-01T08:18:35|2026-12-01T08:18:38|525600|n3||65534|65534|nobody||main|50M|billing=1,cpu=1,mem=50M,node=1|None|wrap|/home/nobody|sbatch --requeue|nvabtest
19.batch|19.batch|CANCELLED|0:15||2026-12-01T08:18:35|2026-12-01T08:18:35|2026-12-01T08:18:39||n3|1|||||||cpu=1,mem=50M,node=1||batch|||nvabtest
23|23|NODE_FAIL|0:0|0:0|2026-12-01T08:18:52|2026-12-01T08:18:52|2026-12-01T08:19:09|525600|n[1,4]||65534|65534|nobody||main|100M|billing=2,cpu=2,mem=100M,node=2|None|wrap|/home/nobody|sbatch --requeue|nvabtest
23.batch|23.batch|CANCELLED|||2026-12-01T08:18:52|2026-12-01T08:18:52|2026-12-01T08:19:09||n1|1|||||||cpu=1,mem=50M,node=1||batch|||nvabtest
19|19|FAILED|4:0|0:0|2026-12-01T08:18:39|2026-12-01T08:20:40|2026-12-01T08:20:40|UNLIMITED|n1||65534|65534|nobody||main|50M|billing=1,cpu=1,mem=50M,node=1|BeginTime|wrap|/home/nobody|sbatch --requeue|nvabtest
19.batch|19.batch|FAILED|4:0||2026-12-01T08:20:40|2026-12-01T08:20:40|2026-12-01T08:20:40||n1|1|||||||cpu=1,mem=50M,node=1||batch|||nvabtest
23|23|PENDING|0:0|0:0|2026-12-01T08:19:12|Unknown|Unknown|525600|None assigned||65534|65534|nobody||main|100M||BeginTime|wrap|/home/nobody|sbatch --requeue|nvabtest
)";
constexpr char kHet[] =
    R"(14|14+0|FAILED|2:0|0:0|2026-12-01T08:18:34|2026-12-01T08:18:35|2026-12-01T08:18:35|UNLIMITED|n4||65534|65534|nobody||main|50M|billing=1,cpu=1,mem=50M,node=1|None|het.sh|/home/nobody|sbatch het.sh|nvabtest
14.batch|14+0.batch|FAILED|2:0||2026-12-01T08:18:35|2026-12-01T08:18:35|2026-12-01T08:18:35||n4|1|||||||cpu=1,mem=50M,node=1||batch|||nvabtest
14.0|14+0.0|COMPLETED|0:0||2026-12-01T08:18:35|2026-12-01T08:18:35|2026-12-01T08:18:35||n4|1|||||||cpu=1,mem=50M,node=1||sh||srun --het-group=0,1|nvabtest
15|14+1|FAILED|2:0|0:0|2026-12-01T08:18:34|2026-12-01T08:18:35|2026-12-01T08:18:36|UNLIMITED|n2||65534|65534|nobody||main|100M|billing=2,cpu=2,mem=100M,node=1|None|het.sh|/home/nobody|sbatch het.sh|nvabtest
15.0|14+1.0|FAILED|2:0||2026-12-01T08:18:35|2026-12-01T08:18:35|2026-12-01T08:18:35||n2|2|||||||cpu=2,mem=100M,node=1||sh||srun --het-group=0,1|nvabtest
)";
// As it was 0.1 s after the end of a job that ran for less than 5 s.
constexpr char kEarly[] =
    R"(24|24|FAILED|1:0|0:0|2026-12-01T08:38:11|2026-12-01T08:38:11|2026-12-01T08:38:11||n1||0|0|root|||16?|billing=1,cpu=1,mem=50M,node=1|None|allocation|||nvabtest
24.batch|24.batch|FAILED|1:0||2026-12-01T08:38:11|2026-12-01T08:38:11|2026-12-01T08:38:11||n1|1|||||||cpu=1,mem=50M,node=1||batch|||nvabtest
)";

Time at(const char* text) { return *parse_rfc3339(text); }
const Time kLater = at("2026-12-01T12:00:00Z");

std::vector<SacctRow> rows_of(std::string_view text) {
  auto rows = parse_sacct(text, sacct_fields({}), "|");
  if (!rows) fail_msg("%s", rows.error().message.c_str());
  return *rows;
}

std::vector<SlurmRun> runs_of(std::string_view text, Time now = kLater) {
  return runs_from_rows(rows_of(text), now);
}

const SlurmRun& run_called(const std::vector<SlurmRun>& runs, std::string_view id,
                           int attempt = 0) {
  for (const SlurmRun& run : runs) {
    if (run.context.job_id == id && run.context.attempt == attempt) return run;
  }
  fail_msg("no run of %s", std::string(id).c_str());
  return runs.front();
}

void jobs_and_steps_become_contexts(void**) {
  const auto runs = runs_of(kFailed);
  assert_int_equal(runs.size(), 3);
  const ExecutionContext& c = run_called(runs, "8").context;
  assert_string_equal(c.key().c_str(), "nvabtest/8/2026-12-01T08:18:34Z");
  assert_string_equal(c.state.c_str(), "FAILED");
  assert_string_equal(to_string(*c.derived_exit_code).c_str(), "0:15");
  assert_string_equal(c.user.c_str(), "nobody");
  assert_int_equal(*c.uid, 65534);
  assert_int_equal(*c.ntasks, 4);
  assert_int_equal(*c.gpus_per_node, 4);
  assert_string_equal(join(c.nodes, " ").c_str(), "n1 n2");
  assert_int_equal(c.steps.size(), 2);
  assert_string_equal(c.steps[1].id.c_str(), "8.0");
  assert_string_equal(to_string(*c.steps[1].exit_code).c_str(), "0:15");
  assert_true(c.files.is_batch);
  assert_string_equal(c.files.batch_node.c_str(), "n1");
  assert_string_equal(c.files.work_dir.c_str(), "/home/nobody");
  // What waiting jobs waited for is no reason of an end.
  assert_string_equal(c.reason.c_str(), "");
  assert_false(c.time_limit_s.has_value());
  assert_int_equal(*run_called(runs, "3").context.time_limit_s, 525600 * 60);
}

void a_step_that_a_signal_ended_was_not_cancelled(void**) {
  const auto runs = runs_of(kFailed);
  const auto step = context_of_step(run_called(runs, "6"), "0");
  assert_true(step.has_value());
  assert_string_equal(step->job_id.c_str(), "6.0");
  assert_string_equal(step->state.c_str(), "FAILED");
  assert_int_equal(step->exit_code->signal, 11);
  assert_false(context_of_step(run_called(runs, "6"), "7").has_value());
}

void who_cancelled_is_told_and_why_a_job_never_started(void**) {
  const auto runs = runs_of(kEnded);
  const ExecutionContext& by_root = run_called(runs, "17").context;
  assert_string_equal(by_root.state.c_str(), "CANCELLED");
  assert_string_equal(by_root.cancelled_by.c_str(), "0");
  const ExecutionContext& waiting = run_called(runs, "21").context;
  assert_string_equal(waiting.cancelled_by.c_str(), "65534");
  assert_string_equal(waiting.reason.c_str(), "JobHeldUser");
  assert_false(waiting.start_time.has_value());
  assert_true(waiting.nodes.empty());
  assert_string_equal(run_called(runs, "18").context.state.c_str(), "TIMEOUT");
}

void array_tasks_have_their_own_names_and_raw_ids(void**) {
  const auto runs = runs_of(kArray);
  const ExecutionContext& five = run_called(runs, "10_5").context;
  assert_string_equal(join(five.other_ids, " ").c_str(), "11");
  assert_true(five.is_called("11.batch"));
  assert_int_equal(*five.files.array_job_id, 10);
  assert_int_equal(*five.files.array_task_id, 5);
  assert_string_equal(five.steps[0].id.c_str(), "10_5.batch");
  // Log lines about job 10 are about task 9, which has the array's own id.
  assert_false(five.is_called("10"));
  assert_true(run_called(runs, "10_9").context.is_called("10"));
}

void each_requeue_is_an_attempt_with_a_key_of_its_own(void**) {
  const auto runs = runs_of(kRequeued);
  assert_int_equal(runs.size(), 4);
  const SlurmRun& first = run_called(runs, "19", 0);
  const SlurmRun& second = run_called(runs, "19", 1);
  assert_string_equal(first.context.state.c_str(), "REQUEUED");
  assert_string_equal(second.context.state.c_str(), "FAILED");
  assert_string_not_equal(first.context.key().c_str(), second.context.key().c_str());
  assert_int_equal(first.context.steps.size(), 1);
  assert_int_equal(second.context.steps[0].exit_code->code, 4);
  assert_int_equal(first.older, 0);
  // Its output files are the second run's from then on.
  assert_true(first.context.files.next_run == second.context.start_time);
  assert_false(second.context.files.next_run.has_value());
  assert_true(run_called(runs, "23", 1).is_pending());
  assert_false(run_called(runs, "23", 0).context.files.next_run.has_value());
}

void an_id_that_is_used_again_is_another_job(void**) {
  std::string text(kFailed);
  const std::size_t end = text.find('\n') + 1;
  std::string old = text.substr(0, end);
  old.replace(old.find("2026-12-01"), 10, "2024-05-05");
  old.replace(old.find("|2026-12-01T08:18:34|2026-12-01"), 31, "|2024-05-05T08:18:34|2024-05-05");
  const auto runs = runs_of(old + text);
  assert_int_equal(runs.size(), 4);
  int of_three = 0;
  for (const SlurmRun& run : runs) {
    if (run.context.job_id != "3") continue;
    ++of_three;
    const bool is_old = run.context.submit_time < at("2025-01-01T00:00:00Z");
    assert_int_equal(run.older, is_old ? 1 : 0);
    assert_int_equal(run.context.attempt, 0);
  }
  assert_int_equal(of_three, 2);
}

void rows_that_were_asked_for_twice_count_once(void**) {
  const auto runs = runs_of(std::string(kFailed) + kFailed);
  assert_int_equal(runs.size(), 3);
  assert_int_equal(run_called(runs, "6").context.steps.size(), 2);
}

void a_job_that_went_on_without_a_node_is_one_run(void**) {
  constexpr char kResized[] =
      R"(31|31|RESIZING|0:0|0:0|2026-12-01T09:00:00|2026-12-01T09:00:01|2026-12-01T09:05:00|60|n[1-3]||65534|65534|nobody||main|50M||None|wrap|/home/nobody|sbatch -k|nvabtest
31|31|FAILED|1:0|0:0|2026-12-01T09:05:00|2026-12-01T09:05:00|2026-12-01T09:10:00|60|n[1-2]||65534|65534|nobody||main|50M||None|wrap|/home/nobody|sbatch -k|nvabtest
)";
  const auto runs = runs_of(kResized);
  assert_int_equal(runs.size(), 1);
  const ExecutionContext& c = runs[0].context;
  assert_string_equal(c.key().c_str(), "nvabtest/31/2026-12-01T09:00:00Z");
  assert_string_equal(c.state.c_str(), "FAILED");
  assert_string_equal(join(c.nodes, " ").c_str(), "n1 n2 n3");
  assert_true(c.start_time == at("2026-12-01T09:00:01Z"));
}

void a_het_job_is_one_context_with_components(void**) {
  const auto runs = runs_of(kHet);
  assert_int_equal(runs.size(), 1);
  const ExecutionContext& c = runs[0].context;
  assert_string_equal(c.job_id.c_str(), "14");
  assert_string_equal(join(c.nodes, " ").c_str(), "n2 n4");
  assert_string_equal(join(c.other_ids, " ").c_str(), "14 15");
  assert_int_equal(*c.ntasks, 3);
  assert_int_equal(c.steps.size(), 5);
  assert_string_equal(c.steps[0].id.c_str(), "14+0");
  assert_string_equal(c.steps[1].id.c_str(), "14+1");
  assert_true(c.end_time == at("2026-12-01T08:18:36Z"));
  // Both were given the script's code: the one with the script leads, the other followed.
  assert_string_equal(c.steps[1].reason.c_str(), "ended with 14+0");
  const auto step = context_of_step(runs[0], "0");
  assert_string_equal(step->state.c_str(), "FAILED");
  assert_int_equal(step->exit_code->code, 2);
  assert_string_equal(join(step->nodes, " ").c_str(), "n2 n4");
}

void the_component_that_lost_a_node_leads(void**) {
  std::string text(kHet);
  const std::size_t second = text.find("15|14+1|FAILED|2:0");
  text.replace(second, 18, "15|14+1|NODE_FAIL|0:0");
  const auto runs = runs_of(text);
  const ExecutionContext& c = runs[0].context;
  assert_string_equal(c.state.c_str(), "NODE_FAIL");
  assert_string_equal(to_string(*c.exit_code).c_str(), "0:0");
  assert_string_equal(c.steps[0].reason.c_str(), "ended with 14+1");
  assert_string_equal(c.steps[1].reason.c_str(), "");
}

void a_fresh_row_has_no_identity_yet(void**) {
  const auto early = runs_of(kEarly, at("2026-12-01T08:38:11.400Z"));
  assert_true(early[0].lacks_identity);
  assert_false(early[0].is_settled());
  assert_string_equal(early[0].context.user.c_str(), "");
  assert_string_equal(early[0].context.name.c_str(), "");
  // Or files of root would be read for it.
  assert_false(early[0].context.uid.has_value());
  // A job that root did submit under that name stays so.
  assert_false(runs_of(kEarly)[0].lacks_identity);
  assert_int_equal(*runs_of(kEarly)[0].context.uid, 0);
}

void a_step_that_has_only_its_jobs_state_is_waited_for(void**) {
  const auto early = runs_of(kEnded, at("2026-12-01T08:18:39.100Z"));
  assert_string_equal(run_called(early, "17").waits_for.c_str(), "the end of step 17.batch");
  assert_true(run_called(early, "21").is_settled());
  for (const SlurmRun& run : runs_of(kEnded)) assert_true(run.is_settled());
}

void a_running_job_is_provisional_and_settled(void**) {
  constexpr char kRunning[] =
      R"(18|18|RUNNING|0:0|0:0|2026-12-01T08:18:34|2026-12-01T08:18:35|Unknown|1|n3||65534|65534|nobody||main|50M||None|wrap|/home/nobody|sbatch|nvabtest
18.batch|18.batch|RUNNING|0:0||2026-12-01T08:18:35|2026-12-01T08:18:35|Unknown||n3|1|||||||||batch|||nvabtest
)";
  const auto runs = runs_of(kRunning, at("2026-12-01T08:18:40Z"));
  assert_true(runs[0].context.is_running());
  assert_true(runs[0].is_settled());
  assert_false(runs[0].context.end_time.has_value());
}

void tasks_of_an_array_that_wait_are_left_out(void**) {
  constexpr char kWaiting[] =
      R"(10|10_[5-9]|PENDING|0:0|0:0|2026-12-01T08:18:34|Unknown|Unknown|1|None assigned||65534|65534|nobody||main|50M||Resources|wrap|/home/nobody|sbatch|nvabtest
)";
  assert_true(rows_of(kWaiting).empty());
}

void a_name_cannot_pretend_to_be_rows(void**) {
  std::string row(kFailed, strchr(kFailed, '\n') + 1 - kFailed);
  const std::string delimiter = "<secret>";
  std::string secret;
  for (const char c : row) secret += c == '|' ? delimiter : std::string(1, c);
  const std::string forged = "x|/home|sbatch|nvabtest\n9|9|FAILED|1:0";
  secret.replace(secret.find("wrap"), 4, forged);
  const auto rows = parse_sacct(secret, sacct_fields({}), delimiter);
  assert_true(rows.has_value());
  assert_int_equal(rows->size(), 1);
  assert_string_equal((*rows)[0].name.c_str(), forged.c_str());
  assert_string_equal((*rows)[0].cluster.c_str(), "nvabtest");
}

void what_is_no_row_is_said(void**) {
  for (const char* wrong :
       {"sacct: something else\n", "3|3|FAILED\n", "x|y|z", "||||||||||||||||||||||\n"}) {
    const auto rows = parse_sacct(wrong, sacct_fields({}), "|");
    if (rows) fail_msg("'%s' is taken for rows", wrong);
    assert_int_equal(rows.error().code, Error::Code::malformed);
  }
  const std::string cut(kFailed, sizeof kFailed - 20);
  assert_false(parse_sacct(cut, sacct_fields({}), "|").has_value());
}

void fields_of_newer_slurm_are_used_where_they_are(void**) {
  const auto fields = sacct_fields(parse_field_list("JobID   StdOut\nFailedNode  Restarts\n"));
  const std::string names = join(fields, ",");
  for (const char* name : {"StdOut", "FailedNode", "Restarts"}) {
    assert_non_null(strstr(names.c_str(), name));
  }
  assert_null(strstr(names.c_str(), "StdErr"));
  constexpr char kNewer[] =
      R"(31|31|NODE_FAIL|0:0|0:0|2026-12-01T09:00:00|2026-12-01T09:00:01|2026-12-01T09:05:00|60|n[1-3]||65534|65534|nobody||main|50M||2|n3|None|wrap|/home/nobody|sbatch|/out/%x-%j.log|nvabtest
)";
  const auto rows = parse_sacct(kNewer, fields, "|");
  assert_true(rows.has_value());
  const auto runs = runs_from_rows(*rows, kLater);
  assert_int_equal(runs[0].context.attempt, 2);
  assert_string_equal(runs[0].context.node_events[0].node.c_str(), "n3");
  assert_string_equal(runs[0].context.files.stdout_pattern.c_str(), "/out/%x-%j.log");
}

JobHint hint_from(const char* text) {
  const auto json = Json::parse(text);
  assert_true(json.has_value());
  auto hint = job_hint_from(*json);
  if (!hint) fail_msg("%s", hint.error().message.c_str());
  return *hint;
}

void a_hand_over_knows_raw_codes_and_who_it_was(void**) {
  const JobHint hint = hint_from(
      R"({"v":1,"trigger_id":"3.epilogctld.c.1.2","hook":"epilogctld","host":"c",
      "time":"2026-12-01T08:18:34.5Z","job":{"job_id":3,"name":"good","user":"nobody","uid":65534,
      "gid":65534,"exit_code":"137:0","derived_exit_code":"0:0","work_dir":"/home/nobody",
      "stdin":"/dev/null","stdout":"/home/nobody/%x.out","node_list":"n1"}})");
  SlurmRun run = run_called(runs_of(kFailed), "3");
  apply_hint(hint, true, &run.context);
  assert_int_equal(run.context.exit_code->code, 137);
  assert_string_equal(run.context.name.c_str(), "good");
  assert_string_equal(run.context.files.stdout_pattern.c_str(), "/home/nobody/%x.out");
  assert_true(run.context.files.is_batch);
  // One that contradicts what is settled is about something else; success is no news of a failure.
  SlurmRun other = run_called(runs_of(kFailed), "6");
  apply_hint(hint, true, &other.context);
  assert_int_equal(other.context.exit_code->code, 11);
  JobHint early = hint;
  early.exit_code = ExitCode{};
  apply_hint(early, false, &run.context);
  assert_int_equal(run.context.exit_code->code, 137);
}

void a_hand_over_of_nonsense_is_refused_or_ignored(void**) {
  for (const char* wrong : {"[]", "{}", R"({"v":2,"job":{"job_id":3}})", R"({"v":1,"job":{}})",
                            R"({"v":1,"job":{"job_id":"3"}})", R"({"v":1,"job":{"job_id":-3}})"}) {
    assert_false(job_hint_from(*Json::parse(wrong)).has_value());
  }
  const JobHint hint = hint_from(
      R"({"v":1,"job":{"job_id":3,"uid":"root","exit_code":"x","node_list":"n[9-1]","gid":-1,
      "array_task_id":4294967294,"attribution":"evil","time":5}})");
  assert_false(hint.uid.has_value());
  assert_false(hint.gid.has_value());
  assert_false(hint.exit_code.has_value());
  assert_false(hint.array_task_id.has_value());
  assert_true(hint.nodes.empty());
  assert_string_equal(hint.attribution.c_str(), "");
}

void which_node_failed_comes_from_its_events(void**) {
  const auto events = parse_node_events(
      "nvabtest|2026-12-01T08:18:17|Unknown|||Cluster Registered TRES\n"
      "nvabtest|2026-12-01T08:19:09|Unknown|DOWN*|n4|Not responding\n"
      "nvabtest|2026-12-01T08:19:20|2026-12-01T08:30:00|DRAIN|n1|NHC: gpu|3 lost\n"
      "other|2026-12-01T08:19:09|Unknown|DOWN*|n4|Not responding\n"
      "nvabtest|2026-12-01T07:00:00|2026-12-01T07:10:00|DOWN*|n4|Not responding\n"
      "garbage\n");
  assert_int_equal(events.size(), 4);
  ExecutionContext c = run_called(runs_of(kRequeued), "23").context;
  assert_true(wants_node_events(c));
  add_node_events(events, &c);
  assert_int_equal(c.node_events.size(), 2);
  assert_string_equal(c.node_events[0].node.c_str(), "n4");
  assert_string_equal(c.node_events[1].reason.c_str(), "NHC: gpu|3 lost");

  // A node that told how the script ended went down afterwards: not why this job failed.
  std::string text(kRequeued);
  ExecutionContext told = run_called(runs_of(text), "19", 1).context;
  told.nodes = {"n4"};
  told.files.batch_node = "n4";
  told.end_time = at("2026-12-01T08:19:00Z");
  told.start_time = at("2026-12-01T08:18:50Z");
  add_node_events(events, &told);
  assert_true(told.node_events.empty());
  told.state = "COMPLETED";
  assert_false(wants_node_events(told));
}

void events_are_asked_for_once_around_all_jobs(void**) {
  const auto runs = runs_of(kRequeued);
  std::vector<const ExecutionContext*> contexts;
  for (const SlurmRun& run : runs) contexts.push_back(&run.context);
  assert_string_equal(join(node_event_options(contexts), " ").c_str(),
                      "nodes=n[1,3-4] start=2026-12-01T08:08:35 end=2026-12-01T08:30:40 "
                      "format=Cluster,TimeStart,TimeEnd,State,NodeName,Reason");
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(jobs_and_steps_become_contexts),
      cmocka_unit_test(a_step_that_a_signal_ended_was_not_cancelled),
      cmocka_unit_test(who_cancelled_is_told_and_why_a_job_never_started),
      cmocka_unit_test(array_tasks_have_their_own_names_and_raw_ids),
      cmocka_unit_test(each_requeue_is_an_attempt_with_a_key_of_its_own),
      cmocka_unit_test(an_id_that_is_used_again_is_another_job),
      cmocka_unit_test(rows_that_were_asked_for_twice_count_once),
      cmocka_unit_test(a_job_that_went_on_without_a_node_is_one_run),
      cmocka_unit_test(a_het_job_is_one_context_with_components),
      cmocka_unit_test(the_component_that_lost_a_node_leads),
      cmocka_unit_test(a_fresh_row_has_no_identity_yet),
      cmocka_unit_test(a_step_that_has_only_its_jobs_state_is_waited_for),
      cmocka_unit_test(a_running_job_is_provisional_and_settled),
      cmocka_unit_test(tasks_of_an_array_that_wait_are_left_out),
      cmocka_unit_test(a_name_cannot_pretend_to_be_rows),
      cmocka_unit_test(what_is_no_row_is_said),
      cmocka_unit_test(fields_of_newer_slurm_are_used_where_they_are),
      cmocka_unit_test(a_hand_over_knows_raw_codes_and_who_it_was),
      cmocka_unit_test(a_hand_over_of_nonsense_is_refused_or_ignored),
      cmocka_unit_test(which_node_failed_comes_from_its_events),
      cmocka_unit_test(events_are_asked_for_once_around_all_jobs),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
