// SPDX-License-Identifier: Apache-2.0
// Names of output files as Slurm 22.05.8 really made them, and where submit lines give them.
#include "epilog/log/output_pattern.hh"

#include "tests/cmocka.hh"

using namespace nvab;

namespace {

PatternValues array_task() {
  PatternValues v;
  v.job_id = v.array_job_id.emplace(64);
  v.array_task_id = 3;
  v.job_name = "arr";
  v.user = "nobody";
  v.node = "vm.example.org";
  return v;
}

PatternValues plain_job() {
  PatternValues v = array_task();
  v.array_job_id.reset();
  v.array_task_id.reset();
  return v;
}

void assert_expands(const char* pattern, const PatternValues& values, const char* wanted) {
  assert_string_equal(expand_output_pattern(pattern, values).c_str(), wanted);
}

void patterns_expand_as_slurm_did_it(void**) {
  assert_expands("p_%x-%j-%N-%n-%s-%t-%J-%u-%6j-%b-%A-%a-%%", array_task(),
                 "p_arr-64-vm-0-batch-0-64-nobody-000064-%b-64-3-%");
}

void outside_of_arrays_they_have_odd_numbers(void**) {
  assert_expands("%A_%a.out", plain_job(), "64_4294967294.out");
}

void a_backslash_switches_expansion_off(void**) {
  assert_expands("/out/a\\%j-%x.log", plain_job(), "/out/a%j-%x.log");
}

void what_is_not_known_stays(void**) {
  assert_expands("%q-%7q-%", plain_job(), "%q-%7q-%");
  assert_expands("%3", plain_job(), "%3");
  assert_expands("%99999999999999999999j", plain_job(), "0000000064");
  assert_expands("%20j", plain_job(), "0000000064");
  assert_string_equal(expand_output_pattern("%b", array_task(), true).c_str(), "3");
}

void tasks_and_nodes_of_steps_have_files_of_their_own(void**) {
  PatternValues v = plain_job();
  v.step = "2";
  v.task = 7;
  v.node_number = 1;
  v.node = "n2";
  assert_expands("%J-%s-%3t-%n-%N", v, "64.2-2-007-1-n2");
  assert_true(names_the_task("rank-%3t.out"));
  assert_true(names_the_node("%N.out"));
  assert_true(names_the_job("/x/%8A_%a"));
  assert_false(names_the_job("/x/%%j-%x-%t"));
  assert_false(names_the_job("/x/\\%j"));
  assert_false(names_the_task("100%"));
}

void submit_lines_give_patterns_up_to_the_script(void**) {
  const auto check = [](const char* line, const char* output, const char* error,
                        const char* script) {
    const OutputPatterns got = patterns_of_command(line);
    assert_string_equal(got.output.c_str(), output);
    assert_string_equal(got.error.c_str(), error);
    assert_string_equal(script_of_command(line).c_str(), script);
  };
  check("sbatch -o x-%j.out job.sh -o no", "x-%j.out", "", "job.sh");
  check("/usr/bin/sbatch --parsable -N 2 --output=/a/b -e/c run.sbatch 5", "/a/b", "/c",
        "run.sbatch");
  check("sbatch --error e.log --time 5 --output o.log -n4 ./j", "o.log", "e.log", "./j");
  check("sbatch --wrap exit 3 -o no", "", "", "");
  check("sbatch", "", "", "");
  check("sbatch -o", "", "", "");
  check("srun -l -n 4 -o rank-%t.out prog -e no", "rank-%t.out", "", "prog");
}

void scripts_give_patterns_at_their_head(void**) {
  const OutputPatterns got = patterns_of_script(
      "#!/bin/bash\n"
      "# a comment with --output=no\n"
      "#SBATCH -J x   # and --output=no\n"
      "##SBATCH --output=no\n"
      "#SBATCH --output=\"out put/%j.log\" --time=5\n"
      "\n"
      "#SBATCH -e 'e.log'\n"
      "cd /tmp\n"
      "#SBATCH --output=late\n");
  assert_string_equal(got.output.c_str(), "out put/%j.log");
  assert_string_equal(got.error.c_str(), "e.log");
  assert_string_equal(patterns_of_script("\x7f"
                                         "ELF\x01\x02")
                          .output.c_str(),
                      "");
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(patterns_expand_as_slurm_did_it),
      cmocka_unit_test(outside_of_arrays_they_have_odd_numbers),
      cmocka_unit_test(a_backslash_switches_expansion_off),
      cmocka_unit_test(what_is_not_known_stays),
      cmocka_unit_test(tasks_and_nodes_of_steps_have_files_of_their_own),
      cmocka_unit_test(submit_lines_give_patterns_up_to_the_script),
      cmocka_unit_test(scripts_give_patterns_at_their_head),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
