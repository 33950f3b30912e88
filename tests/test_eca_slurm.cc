// SPDX-License-Identifier: Apache-2.0
// Questions to accounting, with a sacct that lags, hangs, fails, lies, and counts its calls.
#include "epilog/eca/slurm.hh"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstring>

#include "common/base/file.hh"
#include "common/base/text.hh"
#include "epilog/connector.hh"
#include "tests/cmocka.hh"

using namespace nvab;

namespace {

// A folder with a program called sacct, gone with the object.
class FakeSacct {
 public:
  // `body` is shell; it sees $jobs, $d (the folder), $call (from 1), and rows() for "|"-separated
  // rows on its standard input.
  explicit FakeSacct(const std::string& body) {
    char name[] = "/tmp/nvab-sacct-XXXXXX";
    folder_ = mkdtemp(name);
    write("sacct", R"(#!/bin/sh
d=${0%/*}
for a in "$@"; do case $a in
  --helpformat) echo "JobID JobIDRaw State"; exit ;;
  --delimiter=*) delimiter=${a#*=} ;;
  --jobs=*) jobs=${a#*=} ;;
esac; done
echo "$@" >>"$d/calls"
call=$(wc -l <"$d/calls")
rows() { sed "s/|/$delimiter/g"; }
)" + body);
  }
  ~FakeSacct() {
    const auto names = list_folder(folder_);
    for (const std::string& name : *names) unlink((folder_ + "/" + name).c_str());
    rmdir(folder_.c_str());
  }
  FakeSacct(const FakeSacct&) = delete;
  FakeSacct& operator=(const FakeSacct&) = delete;

  void write(const std::string& name, const std::string& text) const {
    assert_true(write_file(folder_ + "/" + name, text, 0755).has_value());
  }
  std::vector<std::string> calls() const {
    const auto text = read_file(folder_ + "/calls", 10'000'000);
    std::vector<std::string> lines;
    if (!text) return lines;
    for (const std::string_view line : split(trim(*text), '\n')) lines.emplace_back(line);
    return lines;
  }
  SlurmAccess access() const {
    SlurmAccess access;
    access.sacct = folder_ + "/sacct";
    access.node_events = false;
    access.call_timeout = std::chrono::seconds(5);
    return access;
  }
  const std::string& folder() const { return folder_; }

 private:
  std::string folder_;
};

// One row with this state and these times.
std::string row(const std::string& id, const std::string& state, const std::string& exit = "1:0",
                const std::string& end = "2026-12-01T08:10:00") {
  return id + "|" + id + "|" + state + "|" + exit +
         "|0:0|2026-12-01T08:00:00|2026-12-01T08:00:01|" + end +
         "|60|n1||4242|4242|ada||main|50M||None|train|/home/ada|sbatch x.sh|c1\n";
}

std::string print(const std::string& rows) { return "rows <<'END'\n" + rows + "END\n"; }

SlurmQuestion ask(std::string_view ids) {
  SlurmQuestion question;
  question.ids = *parse_job_ids(ids);
  return question;
}

JobHint hint_of(std::uint32_t id) {
  JobHint hint;
  hint.job_id = id;
  hint.time = parse_rfc3339("2026-12-01T08:10:00.2Z");
  hint.uid = 4242;
  hint.user = "ada";
  return hint;
}

SlurmAnswer must_look(SlurmAccounting& accounting, const SlurmQuestion& question) {
  auto answer = accounting.look(question, {});
  if (!answer) fail_msg("%s", answer.error().message.c_str());
  return *answer;
}

void jobs_are_found_and_those_that_are_not_are_named(void**) {
  const FakeSacct fake(print(row("5", "FAILED") + row("7", "COMPLETED", "0:0")));
  SlurmAccounting accounting(fake.access());
  const SlurmAnswer answer = must_look(accounting, ask("5,7,9"));
  assert_int_equal(answer.runs.size(), 2);
  assert_string_equal(answer.runs[0].context.job_id.c_str(), "5");
  assert_int_equal(answer.unknown.size(), 1);
  assert_string_equal(to_string(answer.unknown[0]).c_str(), "9");
  assert_true(answer.is_settled());
  const std::string call = fake.calls().at(0);
  for (const char* option : {"--duplicates", "--parsable2", "--allusers", "--jobs=5,7,9"}) {
    assert_non_null(strstr(call.c_str(), option));
  }
}

void five_hundred_jobs_cost_one_call(void**) {
  const FakeSacct fake("exit 0\n");
  SlurmAccounting accounting(fake.access());
  must_look(accounting, ask("1_[1-1001]"));
  assert_int_equal(fake.calls().size(), 3);
  assert_int_equal(accounting.calls(), 3);
}

void delimiters_are_new_in_each_call(void**) {
  const FakeSacct fake("echo \"$delimiter\" >>\"$d/delimiters\"\n");
  SlurmAccounting accounting(fake.access());
  must_look(accounting, ask("1"));
  must_look(accounting, ask("1"));
  const auto text = *read_file(fake.folder() + "/delimiters", 1000);
  const auto lines = split(trim(text), '\n');
  assert_int_equal(lines.size(), 2);
  assert_true(lines[0].size() > 8);
  assert_true(lines[0] != lines[1]);
}

void the_other_components_of_a_het_job_are_asked_for(void**) {
  std::string second = row("15", "FAILED");
  second.replace(0, 5, "15|14+1");
  std::string first = row("14", "FAILED");
  first.replace(0, 5, "14|14+0");
  const FakeSacct fake("case $jobs in 15) " + print(second) + ";; 14) " + print(first + second) +
                       ";; esac\n");
  SlurmAccounting accounting(fake.access());
  const SlurmAnswer answer = must_look(accounting, ask("15"));
  assert_int_equal(fake.calls().size(), 2);
  assert_int_equal(answer.runs.size(), 1);
  assert_int_equal(answer.runs[0].raw_ids.size(), 2);
  assert_true(answer.unknown.empty());
}

void accounting_that_lags_is_waited_for(void**) {
  const FakeSacct fake("if [ $call -lt 3 ]; then " + print(row("5", "RUNNING", "0:0", "Unknown")) +
                       "else " + print(row("5", "FAILED", "9:0")) + "fi\n");
  SlurmAccounting accounting(fake.access());
  SlurmQuestion question;
  question.hints = {hint_of(5)};
  question.hints[0].exit_code = ExitCode{137, 0};
  const SlurmAnswer early = must_look(accounting, question);
  assert_false(early.is_settled());
  assert_string_equal(early.runs[0].waits_for.c_str(), "the end of the job");
  const auto answer = accounting.wait_for(question, std::chrono::seconds(20), {});
  assert_true(answer->is_settled());
  assert_int_equal(fake.calls().size(), 3);
  assert_string_equal(answer->runs[0].context.state.c_str(), "FAILED");
  assert_int_equal(answer->runs[0].context.exit_code->code, 137);
}

void the_wait_is_bounded(void**) {
  const FakeSacct fake(print(row("5", "RUNNING", "0:0", "Unknown")));
  SlurmAccounting accounting(fake.access());
  SlurmQuestion question;
  question.hints = {hint_of(5), hint_of(6)};
  const auto begin = std::chrono::steady_clock::now();
  const auto answer = accounting.wait_for(question, std::chrono::milliseconds(500), {});
  const auto took = std::chrono::steady_clock::now() - begin;
  assert_true(took >= std::chrono::milliseconds(500));
  assert_true(took < std::chrono::seconds(4));
  assert_false(answer->is_settled());
  assert_true(answer->of_hint[0].has_value());
  assert_false(answer->of_hint[1].has_value());
}

void a_job_that_runs_is_not_waited_for(void**) {
  const FakeSacct fake(print(row("5", "RUNNING", "0:0", "Unknown")));
  SlurmAccounting accounting(fake.access());
  const auto answer = accounting.wait_for(ask("5"), std::chrono::seconds(20), {});
  assert_int_equal(fake.calls().size(), 1);
  assert_true(answer->runs[0].context.is_running());
}

void a_hint_is_about_the_run_that_was_there(void**) {
  std::string first = row("5", "REQUEUED", "0:0", "2026-12-01T08:05:00");
  std::string second = row("5", "FAILED");
  second.replace(second.find("08:00:00"), 8, "08:05:01");
  second.replace(second.find("08:00:01"), 8, "08:07:00");
  const FakeSacct fake(print(first + second));
  SlurmAccounting accounting(fake.access());
  SlurmQuestion question;
  question.hints = {hint_of(5), hint_of(5), hint_of(5), hint_of(5)};
  question.hints[0].time = parse_rfc3339("2026-12-01T08:05:00.3Z");
  question.hints[2].time.reset();
  question.hints[3].submit_time = parse_rfc3339("2026-12-01T08:00:00Z");
  const SlurmAnswer answer = must_look(accounting, question);
  assert_int_equal(answer.runs.size(), 2);
  assert_int_equal(*answer.of_hint[0], 0);
  assert_int_equal(*answer.of_hint[1], 1);
  assert_int_equal(*answer.of_hint[2], 1);
  assert_int_equal(*answer.of_hint[3], 0);
}

void a_run_that_waits_is_left_out_beside_one_that_ran(void**) {
  std::string first = row("5", "NODE_FAIL", "0:0", "2026-12-01T08:05:00");
  std::string waiting = row("5", "PENDING", "0:0", "Unknown");
  waiting.replace(waiting.find("08:00:00"), 8, "08:05:01");
  const FakeSacct fake(print(first + waiting + row("6", "PENDING", "0:0", "Unknown")));
  SlurmAccounting accounting(fake.access());
  const SlurmAnswer answer = must_look(accounting, ask("5,6"));
  assert_int_equal(answer.runs.size(), 2);
  assert_string_equal(answer.runs[0].context.state.c_str(), "NODE_FAIL");
  assert_string_equal(answer.runs[1].context.job_id.c_str(), "6");
}

void owner_and_name_come_from_the_hand_over_when_accounting_has_none(void**) {
  // Fresh: its end is now.
  const FakeSacct fake(R"(now=$(date -u +%FT%T)
echo "5|5|FAILED|1:0|0:0|$now|$now|$now||n1||0|0|root|||16?||None|allocation|||c1" | rows
)");
  SlurmAccounting accounting(fake.access());
  const SlurmAnswer plain = must_look(accounting, ask("5"));
  assert_true(plain.runs[0].lacks_identity);
  assert_false(plain.runs[0].context.uid.has_value());
  SlurmQuestion question;
  question.hints = {hint_of(5)};
  question.hints[0].time.reset();
  const SlurmAnswer answer = must_look(accounting, question);
  assert_true(answer.is_settled());
  assert_string_equal(answer.runs[0].context.user.c_str(), "ada");
  assert_int_equal(*answer.runs[0].context.uid, 4242);
}

void trouble_with_accounting_is_a_sentence(void**) {
  const FakeSacct down(
      "echo 'sacct: error: Problem talking to the database: Connection refused' >&2; exit 1\n");
  SlurmAccounting of_down(down.access());
  const auto refused = of_down.look(ask("5"), {});
  assert_int_equal(refused.error().code, Error::Code::unavailable);
  assert_non_null(strstr(refused.error().message.c_str(), "Connection refused"));

  const FakeSacct hung("sleep 60\n");
  SlurmAccess access = hung.access();
  access.call_timeout = std::chrono::milliseconds(300);
  SlurmAccounting of_hung(access);
  const auto late = of_hung.look(ask("5"), {});
  assert_int_equal(late.error().code, Error::Code::timeout);
  assert_non_null(strstr(late.error().message.c_str(), "slurmdbd may hang"));

  const FakeSacct garbled("echo 'what ever'\n");
  SlurmAccounting of_garbled(garbled.access());
  assert_int_equal(of_garbled.look(ask("5"), {}).error().code, Error::Code::malformed);

  access.sacct = "/no/such/sacct";
  SlurmAccounting of_none(access);
  const auto none = of_none.look(ask("5"), {});
  assert_int_equal(none.error().code, Error::Code::not_found);
  assert_non_null(strstr(none.error().message.c_str(), "is not installed here"));
}

void node_events_are_asked_for_when_they_may_tell(void**) {
  const FakeSacct fake(print(row("5", "NODE_FAIL", "0:0") + row("7", "COMPLETED", "0:0")));
  fake.write("sacctmgr",
             "#!/bin/sh\necho \"$@\" >\"${0%/*}/asked\"\n"
             "echo 'c1|2026-12-01T08:10:00|Unknown|DOWN*|n1|Not responding'\n");
  SlurmAccess access = fake.access();
  access.sacctmgr = fake.folder() + "/sacctmgr";
  access.node_events = true;
  SlurmAccounting accounting(access);
  const SlurmAnswer answer = must_look(accounting, ask("5,7"));
  assert_string_equal(answer.runs[0].context.node_events.at(0).reason.c_str(), "Not responding");
  assert_true(answer.runs[1].context.node_events.empty());
  assert_non_null(strstr(read_file(fake.folder() + "/asked", 1000)->c_str(), "nodes=n1"));

  // A sacctmgr that fails costs its events only.
  fake.write("sacctmgr", "#!/bin/sh\nexit 1\n");
  assert_int_equal(must_look(accounting, ask("5")).runs.size(), 1);
}

void jobs_of_a_time_are_those_that_ended_in_it(void**) {
  const std::string rows = row("5", "FAILED") + row("6", "COMPLETED", "0:0") +
                           row("7", "TIMEOUT", "0:0", "2026-12-01T07:00:00") +
                           row("8", "RUNNING", "0:0", "Unknown") +
                           row("9", "CANCELLED by 4242", "0:0");
  const FakeSacct fake(print(rows));
  SlurmAccounting accounting(fake.access());
  SlurmSelection selection;
  selection.since = parse_rfc3339("2026-12-01T08:00:00Z");
  selection.until = parse_rfc3339("2026-12-01T09:00:00Z");
  selection.users = {"ada", "bob"};
  selection.states = {"FAILED", "TIMEOUT"};
  auto question = accounting.select(selection, {});
  assert_true(question.has_value());
  assert_int_equal(question->ids.size(), 1);
  const std::string call = fake.calls().at(0);
  assert_non_null(strstr(call.c_str(), "--starttime=2026-12-01T08:00:00"));
  assert_non_null(strstr(call.c_str(), "--user=ada,bob"));
  const SlurmAnswer answer = must_look(accounting, *question);
  assert_int_equal(answer.runs.size(), 1);
  assert_string_equal(answer.runs[0].context.job_id.c_str(), "5");
  selection.states.clear();
  assert_int_equal(accounting.select(selection, {})->ids.size(), 3);
}

Result<std::unique_ptr<ContextSource>> open(
    const std::vector<std::pair<std::string, std::string>>& values) {
  for (const EcaComponent* component : eca_components()) {
    if (component->spec.name != "slurm") continue;
    static Host host;
    const auto settings = ComponentSettings::of(component->spec, "", values);
    if (!settings) fail_msg("%s", settings.error().message.c_str());
    return component->open(*settings, host);
  }
  return tl::unexpected(Error{Error::Code::internal, "no eca.slurm"});
}

void the_component_finds_contexts_and_steps(void**) {
  std::string step = row("5", "CANCELLED", "0:11");
  step.replace(0, 3, "5.0|5.0");
  const FakeSacct fake(print(row("5", "FAILED") + step + row("6", "COMPLETED", "0:0")));
  const std::string sacct = fake.folder() + "/sacct";
  auto source = open({{"sacct", sacct}, {"ids", "5.0,6"}, {"node_events", "false"}});
  const auto contexts = (*source)->discover();
  assert_int_equal(contexts->size(), 2);
  assert_string_equal((*contexts)[0].job_id.c_str(), "5.0");
  assert_string_equal((*contexts)[0].state.c_str(), "FAILED");
  assert_string_equal((*contexts)[1].job_id.c_str(), "6");

  source = open({{"sacct", sacct}, {"ids", "77"}});
  assert_int_equal((*source)->discover().error().code, Error::Code::not_found);
  source = open({{"sacct", sacct}, {"since", "2026-12-01"}, {"failed", "true"}});
  assert_int_equal((*source)->discover()->size(), 1);
}

void questions_that_make_no_sense_are_refused(void**) {
  for (const auto& wrong : std::vector<std::vector<std::pair<std::string, std::string>>>{
           {},
           {{"ids", "x"}},
           {{"ids", "5"}, {"since", "2h"}},
           {{"since", "yesterday"}},
           {{"ids", "5"}, {"call_timeout_seconds", "0"}}}) {
    const auto source = open(wrong);
    assert_false(source.has_value());
    assert_int_equal(source.error().code, Error::Code::malformed);
  }
}

void slurm_conf_is_handed_on(void**) {
  const FakeSacct fake("echo \"$SLURM_CONF ${HOME:-none}\" >>\"$d/seen\"\n");
  setenv("SLURM_CONF", "/ours/slurm.conf", 1);
  SlurmAccounting inherited(fake.access());
  must_look(inherited, ask("1"));
  SlurmAccess access = fake.access();
  access.conf = "/given/slurm.conf";
  SlurmAccounting given(access);
  must_look(given, ask("1"));
  assert_string_equal(read_file(fake.folder() + "/seen", 1000)->c_str(),
                      "/ours/slurm.conf none\n/given/slurm.conf none\n");
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(jobs_are_found_and_those_that_are_not_are_named),
      cmocka_unit_test(five_hundred_jobs_cost_one_call),
      cmocka_unit_test(delimiters_are_new_in_each_call),
      cmocka_unit_test(the_other_components_of_a_het_job_are_asked_for),
      cmocka_unit_test(accounting_that_lags_is_waited_for),
      cmocka_unit_test(the_wait_is_bounded),
      cmocka_unit_test(a_job_that_runs_is_not_waited_for),
      cmocka_unit_test(a_hint_is_about_the_run_that_was_there),
      cmocka_unit_test(a_run_that_waits_is_left_out_beside_one_that_ran),
      cmocka_unit_test(owner_and_name_come_from_the_hand_over_when_accounting_has_none),
      cmocka_unit_test(trouble_with_accounting_is_a_sentence),
      cmocka_unit_test(node_events_are_asked_for_when_they_may_tell),
      cmocka_unit_test(jobs_of_a_time_are_those_that_ended_in_it),
      cmocka_unit_test(the_component_finds_contexts_and_steps),
      cmocka_unit_test(questions_that_make_no_sense_are_refused),
      cmocka_unit_test(slurm_conf_is_handed_on),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
