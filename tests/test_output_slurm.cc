// SPDX-License-Identifier: Apache-2.0
// The verdict in accounting: what is written, what of others stays, and what is refused, with a
// sacct and a sacctmgr that keep their rows in files.
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "common/base/file.hh"
#include "common/base/text.hh"
#include "epilog/connector.hh"
#include "epilog/output/accounting_comment.hh"
#include "tests/cmocka.hh"

using namespace nvab;

namespace {

// A row is a file CLUSTER/ID with the lines raw id, submit time, AdminComment, SystemComment.
// LOWER in the folder: sacctmgr writes small letters, as that of Slurm 22.05.
constexpr std::string_view kSacct = R"(#!/usr/bin/env python3
import os, sys
here = os.path.dirname(sys.argv[0])
options = dict(a.lstrip("-").split("=", 1) for a in sys.argv[1:] if "=" in a)
if os.path.exists(here + "/garbage"): print("sacct: whatever"); sys.exit(0)
out = ""
for name in sorted(os.listdir(here + "/rows")):
    raw, submit, admin, system = open(here + "/rows/" + name).read().split("\n", 3)
    if raw not in options["jobs"].split(","): continue
    fields = {"Cluster": "c1", "JobID": name.split(":")[0], "JobIDRaw": raw, "Submit": submit,
              "AdminComment": admin, "SystemComment": system, "Comment": ""}
    for field in options["format"].split(","): out += fields[field] + options["delimiter"]
    out += "\n"
sys.stdout.write(out)
)";
constexpr std::string_view kSacctmgr = R"(#!/usr/bin/env python3
import os, sys
here = os.path.dirname(sys.argv[0])
open(here + "/calls", "a").write("|".join(sys.argv[1:]) + "\n")
if os.path.exists(here + "/down"): sys.stderr.write("sacctmgr: error: slurmdbd is away\n"); sys.exit(1)
words = dict(a.split("=", 1) for a in sys.argv[1:] if "=" in a)
names = sorted((n for n in os.listdir(here + "/rows") if n.split(":")[0] == words["jobid"]), reverse=True)
if not names: sys.stderr.write("Nothing modified\n"); sys.exit(1)
raw, submit, admin, system = open(here + "/rows/" + names[0]).read().split("\n", 3)
for field, value in words.items():
    value = value.replace('"', "`").replace("'", "`")
    if os.path.exists(here + "/LOWER"): value = value.lower()
    if os.path.exists(here + "/race"): value = "JS1:other"
    if field == "AdminComment": admin = value
    if field == "SystemComment": system = value
open(here + "/rows/" + names[0], "w").write("\n".join([raw, submit, admin, system]))
)";

struct Accounting {
  std::string path = "/tmp/nvab-output-slurm." + std::to_string(::getpid());
  Host host;
  std::unique_ptr<Output> output;

  explicit Accounting(const std::string& field = "system_comment") {
    std::filesystem::remove_all(path);
    assert_true(make_folders(path + "/rows").has_value());
    assert_true(write_file(path + "/sacct", kSacct, 0755).has_value());
    assert_true(write_file(path + "/sacctmgr", kSacctmgr, 0755).has_value());
    for (const OutputComponent* component : output_components()) {
      if (component->spec.name != "slurm") continue;
      auto settings = ComponentSettings::of(
          component->spec, "",
          {{"field", field}, {"sacct", path + "/sacct"}, {"sacctmgr", path + "/sacctmgr"}});
      assert_true(settings.has_value());
      auto opened = component->open(*settings, host);
      assert_true(opened.has_value());
      output = std::move(*opened);
    }
  }
  ~Accounting() { std::filesystem::remove_all(path); }

  // `name` is the job id, and ":N" to tell runs of one id apart.
  void row(const std::string& name, int raw, const std::string& submit,
           const std::string& admin = "", const std::string& system = "") const {
    const std::string text = std::to_string(raw) + "\n" + submit + "\n" + admin + "\n" + system;
    assert_true(write_file(path + "/rows/" + name, text).has_value());
  }
  std::string field(const std::string& name, int line) const {
    const std::string text = read_file(path + "/rows/" + name, 100'000).value_or("");
    const auto lines = split(text, '\n');
    return std::string(lines[static_cast<std::size_t>(line)]);
  }
  std::string admin(const std::string& name) const { return field(name, 2); }
  std::string system(const std::string& name) const { return field(name, 3); }
  std::string calls() const { return read_file(path + "/calls", 100'000).value_or(""); }
  void flag(const std::string& name) const {
    assert_true(write_file(path + "/" + name, "x").has_value());
  }
  void put(const AttributionResult& result) const {
    assert_true(output->wants(result));
    const auto done = output->write(result);
    if (!done) fail_msg("%s", done.error().message.c_str());
  }
  Error refused(const AttributionResult& result) const {
    const auto done = output->write(result);
    assert_false(done.has_value());
    return done.error();
  }
};

constexpr char kSubmit[] = "2026-03-01T10:00:00";
constexpr char kLater[] = "2026-03-01T10:05:00";
constexpr char kJobstats[] =
    "JS1:H4sIAJzAZGUC/6vmUlBQKs7MS09VslIw1AFySlKLS5Ssqrlqa2u5AABfYrxJIwAAAA==";

AttributionResult result_of(const std::string& job, std::vector<long long> raw_ids) {
  AttributionResult result;
  result.context.scheduler = "slurm";
  result.context.job_id = job;
  result.context.cluster = "c1";
  result.context.submit_time = parse_rfc3339("2026-03-01T10:00:00Z");
  result.context.files.raw_ids = std::move(raw_ids);
  result.terminal_state = TerminalState::failed;
  result.sub_domain = SubDomain::gpu_hardware;
  result.domain = Domain::infrastructure;
  result.verdict.root_cause.id = "xid_79_fell_off_bus";
  result.verdict.root_cause.confidence = 0.97;
  result.verdict.advice.action = Action::requeue_exclude_nodes;
  result.verdict.advice.exclude_nodes = {"n1", "n2", "n4"};
  result.verdict.advice.drain = {{"n2", "nvab:…", 0.97}};
  result.verdict.first_failing_rank = 11;
  return result;
}

constexpr char kPart[] =
    "NVAB1:state=failed,sub=gpu_hardware,cause=xid_79_fell_off_bus,confidence=97,"
    "action=requeue_exclude_nodes,rank=11,evidence=complete,drain=n2,exclude=n[1-2,4]";

// ---- the text -----------------------------------------------------------------------------------

void a_part_says_the_verdict_in_short_and_stays_bounded(void**) {
  AttributionResult result = result_of("7", {7});
  assert_string_equal(comment_part(result).c_str(), kPart);
  result.verdict.root_cause.id = "hostile;id|with \"all\"";
  for (int i = 0; i < 2000; ++i) {
    result.verdict.advice.exclude_nodes.push_back("node" + std::to_string(i * 7));
  }
  const std::string part = comment_part(result);
  assert_true(part.size() <= kMaxCommentPart);
  assert_non_null(std::strstr(part.c_str(), "cause=hostile_id_with__all_,"));
  assert_non_null(std::strstr(part.c_str(), ",exclude_count=2003"));
}

void merging_replaces_our_part_and_nothing_else(void**) {
  const auto merged = [](const char* comment) { return merge_comment(comment, "NVAB1:new"); };
  assert_string_equal(merged("").c_str(), "NVAB1:new");
  assert_string_equal(merged("JS1:x==").c_str(), "JS1:x==;NVAB1:new");
  assert_string_equal(merged("JS1:x==;").c_str(), "JS1:x==;NVAB1:new");
  assert_string_equal(merged("NVAB1:old").c_str(), "NVAB1:new");
  assert_string_equal(merged("JS1:x;NVAB1:old;note").c_str(), "JS1:x;NVAB1:new;note");
  assert_string_equal(merged("nvab1:old;JS1:x;NVAB1:older").c_str(), "NVAB1:new;JS1:x");
  assert_string_equal(merged("a note on NVAB1: it works").c_str(),
                      "a note on NVAB1: it works;NVAB1:new");
  assert_string_equal(foreign_part("JS1:x;NVAB1:old;note").c_str(), "JS1:x;note");
  assert_string_equal(std::string(own_part("JS1:x; nvab1:old ;note")).c_str(), "nvab1:old");
}

// ---- the call -----------------------------------------------------------------------------------

void the_verdict_arrives_once_however_often_it_is_written(void**) {
  const Accounting accounting;
  accounting.row("7", 7, kSubmit);
  accounting.put(result_of("7", {7}));
  assert_string_equal(accounting.system("7").c_str(), kPart);
  assert_string_equal(accounting.admin("7").c_str(), "");
  const std::string calls = accounting.calls();
  assert_string_equal(
      calls.c_str(),
      (std::string("-i|modify|job|where|jobid=7|cluster=c1|set|SystemComment=") + kPart + "\n")
          .c_str());
  accounting.put(result_of("7", {7}));
  assert_string_equal(accounting.calls().c_str(), calls.c_str());
  AttributionResult other = result_of("7", {7});
  other.verdict.first_failing_rank = 3;
  accounting.put(other);
  assert_non_null(std::strstr(accounting.system("7").c_str(), "rank=3,"));
  assert_null(std::strstr(accounting.system("7").c_str() + 1, "NVAB1"));
}

void what_jobstats_wrote_survives_to_the_byte(void**) {
  const Accounting accounting("admin_comment");
  accounting.row("7", 7, kSubmit, kJobstats);
  accounting.put(result_of("7", {7}));
  assert_string_equal(accounting.admin("7").c_str(),
                      (std::string(kJobstats) + ";" + kPart).c_str());
  // The field that told whether capitals are kept is as it was.
  assert_string_equal(accounting.system("7").c_str(), "");
  accounting.put(result_of("7", {7}));
  assert_string_equal(accounting.admin("7").c_str(),
                      (std::string(kJobstats) + ";" + kPart).c_str());
}

void where_sacctmgr_writes_small_letters_it_survives_too(void**) {
  const Accounting accounting("admin_comment");
  accounting.flag("LOWER");
  accounting.row("7", 7, kSubmit, kJobstats);
  const Error error = accounting.refused(result_of("7", {7}));
  assert_int_equal(error.code, Error::Code::unsupported);
  assert_non_null(std::strstr(error.message.c_str(), "AdminComment of job 7 stays as it is"));
  assert_non_null(std::strstr(error.message.c_str(), "capital letters"));
  assert_string_equal(accounting.admin("7").c_str(), kJobstats);
  assert_string_equal(accounting.system("7").c_str(), "");
  // Where there is nothing of others, small letters do.
  accounting.row("8", 8, kSubmit, "note");
  accounting.put(result_of("8", {8}));
  assert_string_equal(accounting.admin("8").c_str(), ("note;" + lower(kPart)).c_str());
  const std::string calls = accounting.calls();
  accounting.put(result_of("8", {8}));
  assert_string_equal(accounting.calls().c_str(), calls.c_str());
}

void text_that_sacctmgr_would_spoil_is_left_alone(void**) {
  const Accounting accounting("admin_comment");
  accounting.row("7", 7, kSubmit, R"({"auto_resume": "requeue"})");
  const Error error = accounting.refused(result_of("7", {7}));
  assert_int_equal(error.code, Error::Code::unsupported);
  assert_non_null(std::strstr(error.message.c_str(), "quotes"));
  // The other field is taken, so that it cannot tell whether capitals are kept.
  accounting.row("8", 8, kSubmit, kJobstats, "theirs");
  assert_int_equal(accounting.refused(result_of("8", {8})).code, Error::Code::unsupported);
  assert_string_equal(accounting.calls().c_str(), "");
  accounting.row("9", 9, kSubmit, std::string(kMaxComment, 'x'));
  assert_int_equal(accounting.refused(result_of("9", {9})).code, Error::Code::unsupported);
}

void only_this_run_of_the_job_is_written(void**) {
  const Accounting accounting;
  accounting.row("7:a", 7, kSubmit);
  accounting.row("7:b", 7, kLater);
  const Error error = accounting.refused(result_of("7", {7}));
  assert_int_equal(error.code, Error::Code::unsupported);
  assert_non_null(std::strstr(error.message.c_str(), "submitted after 2026-03-01T10:00:00 UTC"));
  AttributionResult second = result_of("7", {7});
  second.context.submit_time = parse_rfc3339("2026-03-01T10:05:00Z");
  accounting.put(second);
  assert_string_equal(accounting.system("7:a").c_str(), "");
  assert_string_equal(accounting.system("7:b").c_str(), kPart);
  second.context.submit_time = parse_rfc3339("2026-03-01T10:06:00Z");
  const Error unknown = accounting.refused(second);
  assert_int_equal(unknown.code, Error::Code::not_found);
  assert_non_null(std::strstr(unknown.message.c_str(), "does not show the job yet"));
}

void tasks_and_components_are_named_one_by_one(void**) {
  const Accounting accounting;
  // The last task of an array has the array's own raw id, and a new row may not show the array.
  accounting.row("64_1", 65, kSubmit);
  accounting.row("64_2", 64, kSubmit);
  AttributionResult task = result_of("64_2", {64});
  task.context.files.array_job_id = 64;
  task.context.files.array_task_id = 2;
  accounting.put(task);
  assert_string_equal(accounting.system("64_1").c_str(), "");
  assert_string_equal(accounting.system("64_2").c_str(), kPart);
  accounting.row("3+0", 3, kSubmit);
  accounting.row("3+1", 4, "2026-03-01T10:00:01", "", "theirs");
  accounting.put(result_of("3", {3, 4}));
  assert_string_equal(accounting.system("3+0").c_str(), kPart);
  assert_string_equal(accounting.system("3+1").c_str(), (std::string("theirs;") + kPart).c_str());
}

void trouble_is_a_sentence_and_may_pass(void**) {
  const Accounting accounting;
  accounting.row("7", 7, kSubmit);
  accounting.flag("race");
  assert_int_equal(accounting.refused(result_of("7", {7})).code, Error::Code::conflict);
  accounting.flag("down");
  const Error down = accounting.refused(result_of("7", {7}));
  assert_int_equal(down.code, Error::Code::unavailable);
  assert_non_null(std::strstr(down.message.c_str(), "slurmdbd is away"));
  accounting.flag("garbage");
  assert_int_equal(accounting.refused(result_of("7", {7})).code, Error::Code::malformed);
  std::filesystem::remove(accounting.path + "/sacct");
  assert_int_equal(accounting.refused(result_of("7", {7})).code, Error::Code::not_found);
}

void what_is_no_finished_slurm_job_is_not_written(void**) {
  const Accounting accounting;
  AttributionResult result = result_of("7", {7});
  assert_true(accounting.output->wants(result));
  result.provisional = true;
  assert_false(accounting.output->wants(result));
  assert_false(accounting.output->wants(result_of("7.0", {7})));
  assert_false(accounting.output->wants(result_of("7", {})));
  result = result_of("7", {7});
  result.context.scheduler = "static";
  assert_false(accounting.output->wants(result));
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(a_part_says_the_verdict_in_short_and_stays_bounded),
      cmocka_unit_test(merging_replaces_our_part_and_nothing_else),
      cmocka_unit_test(the_verdict_arrives_once_however_often_it_is_written),
      cmocka_unit_test(what_jobstats_wrote_survives_to_the_byte),
      cmocka_unit_test(where_sacctmgr_writes_small_letters_it_survives_too),
      cmocka_unit_test(text_that_sacctmgr_would_spoil_is_left_alone),
      cmocka_unit_test(only_this_run_of_the_job_is_written),
      cmocka_unit_test(tasks_and_components_are_named_one_by_one),
      cmocka_unit_test(trouble_is_a_sentence_and_may_pass),
      cmocka_unit_test(what_is_no_finished_slurm_job_is_not_written),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
