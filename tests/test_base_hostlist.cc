// SPDX-License-Identifier: Apache-2.0
// Hostlists as Slurm writes and reads them, and hostile ones.
#include "common/base/hostlist.hh"

#include <algorithm>
#include <cstring>

#include "common/base/text.hh"
#include "tests/cmocka.hh"

using nvab::expand_hostlist;
using nvab::fold_hostlist;
using nvab::host_less;

static std::string expanded(std::string_view expression) {
  const auto hosts = expand_hostlist(expression);
  return hosts ? nvab::join(*hosts, " ") : "error: " + hosts.error().message;
}

static void ranges_expand_with_their_padding_in_the_order_given(void**) {
  assert_string_equal(expanded("n[001-003,070],login1").c_str(), "n001 n002 n003 n070 login1");
  assert_string_equal(expanded("b,a").c_str(), "b a");
  assert_string_equal(expanded("n[9-11]").c_str(), "n9 n10 n11");
  assert_string_equal(expanded("n[09-11]").c_str(), "n09 n10 n11");
  assert_string_equal(expanded("r[1-2]n[1-2]-ib").c_str(), "r1n1-ib r1n2-ib r2n1-ib r2n2-ib");
  assert_string_equal(expanded(" a , b,, ").c_str(), "a b");
  assert_string_equal(expanded("").c_str(), "");
}

static void what_is_no_hostlist_is_refused_with_a_sentence(void**) {
  for (const char* bad : {"n[1-3", "n1]", "n[3-1]", "n[a-b]", "n[]", "n[1--2]", "None assigned",
                          "n[1,]", "n[[1]]", "n[0-999999999]", "n[0-99999][0-99999]",
                          "n[99999999999999999999]", "n[0-150000],m[0-150000]"}) {
    const auto hosts = expand_hostlist(bad);
    if (hosts) fail_msg("'%s' was read", bad);
    assert_true(hosts.error().code == nvab::Error::Code::malformed);
    assert_non_null(std::strstr(hosts.error().message.c_str(), "hostlist"));
  }
  assert_false(expand_hostlist(std::string(300, 'a')).has_value());
}

static std::string folded(const std::vector<std::string>& hosts) { return fold_hostlist(hosts); }

static void hosts_fold_into_sorted_ranges(void**) {
  assert_string_equal(folded({"n3", "n1", "n2", "n2"}).c_str(), "n[1-3]");
  assert_string_equal(folded({"n10", "n9", "n8"}).c_str(), "n[8-10]");
  assert_string_equal(folded({"n10", "n09", "n08"}).c_str(), "n[08-10]");
  assert_string_equal(folded({"n001", "n002", "n070", "login1"}).c_str(), "login1,n[001-002,070]");
  assert_string_equal(folded({"a", "b"}).c_str(), "a,b");
  assert_string_equal(folded({}).c_str(), "");
  assert_string_equal(folded({"n1.x", "n2.x"}).c_str(), "n1.x,n2.x");
  assert_string_equal(folded({"n99999999999999999999"}).c_str(), "n99999999999999999999");
}

static void folding_and_expanding_give_the_same_hosts_whatever_the_padding(void**) {
  const std::vector<std::string> hosts{"n5",   "n09",  "n001", "n1",  "n10", "n11", "n100",
                                       "m007", "m008", "m010", "n99", "n",   "n0",  "n00"};
  const auto back = expand_hostlist(fold_hostlist(hosts));
  assert_true(back.has_value());
  std::vector<std::string> wanted = hosts, got = *back;
  std::sort(wanted.begin(), wanted.end());
  std::sort(got.begin(), got.end());
  assert_string_equal(nvab::join(got, " ").c_str(), nvab::join(wanted, " ").c_str());
}

static void numbers_in_names_compare_as_numbers(void**) {
  assert_true(host_less("n2", "n10"));
  assert_false(host_less("n10", "n2"));
  assert_true(host_less("n01", "n1"));
  assert_false(host_less("n1", "n01"));
  assert_true(host_less("r1n2", "r1n10"));
  assert_true(host_less("n", "n1"));
  assert_false(host_less("n1", "n1"));
}

static void sorted_hosts_are_in_order_and_unique(void**) {
  std::vector<std::string> hosts{"n10", "n2", "n10", "m1"};
  nvab::sort_hosts(hosts);
  assert_string_equal(nvab::join(hosts, " ").c_str(), "m1 n2 n10");
}

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(ranges_expand_with_their_padding_in_the_order_given),
      cmocka_unit_test(what_is_no_hostlist_is_refused_with_a_sentence),
      cmocka_unit_test(hosts_fold_into_sorted_ranges),
      cmocka_unit_test(folding_and_expanding_give_the_same_hosts_whatever_the_padding),
      cmocka_unit_test(numbers_in_names_compare_as_numbers),
      cmocka_unit_test(sorted_hosts_are_in_order_and_unique),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
