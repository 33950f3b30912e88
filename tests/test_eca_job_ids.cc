// SPDX-License-Identifier: Apache-2.0
// How people name jobs, and what is no name.
#include "epilog/eca/job_ids.hh"

#include <cstring>

#include "common/base/text.hh"
#include "tests/cmocka.hh"

using namespace nvab;

namespace {

std::string expanded(std::string_view text) {
  const auto ids = parse_job_ids(text);
  if (!ids) return "error: " + ids.error().message;
  std::vector<std::string> names;
  for (const SlurmJobId& id : *ids) names.push_back(to_string(id));
  return join(names, " ");
}

void assert_expands(const char* text, const char* wanted) {
  assert_string_equal(expanded(text).c_str(), wanted);
}

void every_kind_of_name_is_read(void**) {
  assert_expands("1234", "1234");
  assert_expands("1,5,7", "1 5 7");
  assert_expands(" 1 5,\n7 ", "1 5 7");
  assert_expands("1234_7", "1234_7");
  assert_expands("1234_[1-3,9]", "1234_1 1234_2 1234_3 1234_9");
  assert_expands("1234_[0-6:3%2]", "1234_0 1234_3 1234_6");
  assert_expands("1234_[1-2].batch,8", "1234_1.batch 1234_2.batch 8");
  assert_expands("1234_*", "1234");
  assert_expands("1234+1", "1234+1");
  assert_expands("1234.0,1234_7.extern,1234+1.3", "1234.0 1234_7.extern 1234+1.3");
}

void a_job_that_is_named_twice_is_asked_once(void**) { assert_expands("5,1,5,1_[1,1]", "5 1 1_1"); }

void what_is_no_name_is_refused_with_its_words(void**) {
  for (const char* wrong : {"x", "12a", "1234_", "1234_x", "1234_[3-1]", "1234_[1-", "1234.", "0",
                            "1234.last", "-5", "1234+", "1234_[1-3", "1234_1_2", "99999999999"}) {
    const auto ids = parse_job_ids(std::string("7,") + wrong);
    if (ids) fail_msg("'%s' is taken for a job", wrong);
    assert_int_equal(ids.error().code, Error::Code::malformed);
  }
  assert_string_equal(expanded("7,12a").c_str(),
                      "error: '12a' names no Slurm job; write 1234, 1234_7, 1234_[1-9], 1234+1 or "
                      "1234.0");
}

void a_hostile_range_does_not_fill_memory(void**) {
  assert_false(parse_job_ids("1_[0-4000000000]").has_value());
  std::string many = "1_[0-60000],2_[0-60000]";
  const auto ids = parse_job_ids(many);
  assert_false(ids.has_value());
  assert_non_null(strstr(ids.error().message.c_str(), "--since"));
}

void single_names_are_as_sacct_prints_them(void**) {
  assert_true(parse_job_id("12_3.batch") == (SlurmJobId{12, 3, {}, "batch"}));
  assert_true(parse_job_id("14+0") == (SlurmJobId{14, {}, 0, ""}));
  assert_false(parse_job_id("12_[3-5]").has_value());
  assert_false(parse_job_id("").has_value());
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(every_kind_of_name_is_read),
      cmocka_unit_test(a_job_that_is_named_twice_is_asked_once),
      cmocka_unit_test(what_is_no_name_is_refused_with_its_words),
      cmocka_unit_test(a_hostile_range_does_not_fill_memory),
      cmocka_unit_test(single_names_are_as_sacct_prints_them),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
