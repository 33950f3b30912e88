// SPDX-License-Identifier: Apache-2.0
// The pickle reader: data comes out as written, anything that is more than data is refused.
#include "common/base/file.hh"
#include "epilog/log/pickle.hh"
#include "tests/cmocka.hh"

#include <cstring>

using nvab::Error;
using nvab::parse_pickle;

namespace {

std::string bytes(const char* text, std::size_t size) { return std::string(text, size); }
#define PICKLE(literal) bytes(literal, sizeof(literal) - 1)

std::string data_file(const std::string& name) {
  return *nvab::read_file(nvab::test::source_path("tests/fuzz/corpus/nccl_dump/" + name), 1 << 20);
}

void scalars_come_out_as_json(void**) {
  // [None, True, False, 7, 300, -2, -1 (LONG1), 2.5, "hé"]
  const auto value =
      parse_pickle(PICKLE("\x80\x02](N\x88\x89K\x07M\x2c\x01J\xfe\xff\xff\xff\x8a\x01\xff"
                          "G\x40\x04\x00\x00\x00\x00\x00\x00X\x03\x00\x00\x00h\xc3\xa9"
                          "e."));
  assert_true(value.has_value());
  assert_string_equal(value->dump().c_str(), "[null,true,false,7,300,-2,-1,2.5,\"hé\"]");
}

void containers_nest_and_keys_become_text(void**) {
  // {"a": (1, 2), 5: {}}
  const auto value =
      parse_pickle(PICKLE("\x80\x02}(X\x01\x00\x00\x00"
                          "aK\x01K\x02\x86K\x05}u."));
  assert_true(value.has_value());
  assert_string_equal(value->dump().c_str(), "{\"a\":[1,2],\"5\":{}}");
}

void a_remembered_value_can_be_used_again(void**) {
  // x = []; [x, x] with x finished before it is recalled
  const auto value =
      parse_pickle(PICKLE("\x80\x02](]q\x01K\x09"
                          "ah\x01"
                          "e."));
  assert_false(value.has_value());  // recalled while it is still open
  const auto tuple =
      parse_pickle(PICKLE("\x80\x02]q\x00(]q\x01K\x09"
                          "a\x85h\x01"
                          "e."));
  assert_true(tuple.has_value());
  assert_string_equal(tuple->dump().c_str(), "[[[9]],[9]]");
}

void an_earlier_container_is_recalled_while_another_stands_at_its_place(void**) {
  // [[x=[1]], [x]]
  const auto value =
      parse_pickle(PICKLE("\x80\x02](]]q\x01K\x01"
                          "aa]h\x01"
                          "ae."));
  assert_true(value.has_value());
  assert_string_equal(value->dump().c_str(), "[[[1]],[[1]]]");
}

void a_container_cannot_hold_itself(void**) {
  const auto value = parse_pickle(data_file("holds_itself"));
  assert_false(value.has_value());
  assert_non_null(strstr(value.error().message.c_str(), "holds itself"));
  // Nor by way of a finished container that is filled again.
  assert_false(parse_pickle(PICKLE("\x80\x02]q\x00]q\x01"
                                   "ah\x01h\x00"
                                   "a."))
                   .has_value());
}

void a_call_is_refused_and_not_made(void**) {
  const auto value = parse_pickle(data_file("calls_a_function"));
  assert_false(value.has_value());
  assert_int_equal(value.error().code, Error::Code::unsupported);
  assert_non_null(strstr(value.error().message.c_str(), "0x63"));  // GLOBAL
}

void every_cut_of_a_pickle_is_an_error(void**) {
  const std::string whole = data_file("nccl_trace_rank_0");
  assert_true(parse_pickle(whole).has_value());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    assert_false(parse_pickle(whole.substr(0, size)).has_value());
  }
}

void nesting_beyond_the_limit_is_refused(void**) {
  const int depth = nvab::kMaxJsonDepth + 2;
  std::string deep = PICKLE("\x80\x02");
  deep.append(static_cast<std::size_t>(depth), ']');
  deep.append(static_cast<std::size_t>(depth) - 1, 'a');
  assert_false(parse_pickle(deep + ".").has_value());
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(scalars_come_out_as_json),
      cmocka_unit_test(containers_nest_and_keys_become_text),
      cmocka_unit_test(a_remembered_value_can_be_used_again),
      cmocka_unit_test(an_earlier_container_is_recalled_while_another_stands_at_its_place),
      cmocka_unit_test(a_container_cannot_hold_itself),
      cmocka_unit_test(a_call_is_refused_and_not_made),
      cmocka_unit_test(every_cut_of_a_pickle_is_an_error),
      cmocka_unit_test(nesting_beyond_the_limit_is_refused),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
