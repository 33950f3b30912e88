// SPDX-License-Identifier: Apache-2.0
// NCCL dumps: both encodings, the pairing of group names and numbers, and the way back to JSON.
#include "common/base/file.hh"
#include "epilog/log/nccl_dump.hh"
#include "tests/cmocka.hh"

#include <cstring>

using namespace nvab;

namespace {

FlightDump read_dump(const std::string& name) {
  const auto bytes = read_file(test::source_path("tests/fuzz/corpus/nccl_dump/" + name), 1 << 20);
  return *parse_nccl_dump(name, *bytes);
}

void the_rank_ends_the_file_name(void**) {
  assert_int_equal(*rank_of_dump("/tmp/nccl_trace_rank_12"), 12);
  assert_int_equal(*rank_of_dump("x/_dump_3.json"), 3);
  assert_false(rank_of_dump("fault_injection.log").has_value());
  assert_false(rank_of_dump("dump_").has_value());
  assert_false(rank_of_dump("dump_99999999999999999999").has_value());
}

void a_pickled_dump_says_what_the_rank_was_in(void**) {
  const FlightDump dump = read_dump("nccl_trace_rank_0");
  assert_int_equal(dump.rank, 0);
  assert_int_equal(dump.groups.size(), 2);
  assert_string_equal(dump.groups[0].id.c_str(), "0");
  assert_string_equal(dump.groups[0].description.c_str(), "default_pg");
  assert_int_equal(dump.groups[0].ranks.size(), 4);
  assert_int_equal(dump.groups[0].last_enqueued, 42);
  assert_int_equal(dump.groups[0].last_completed, 41);
  assert_int_equal(dump.entries.size(), 3);
  const CollectiveRecord& last = dump.entries[2];
  assert_string_equal(last.op.c_str(), "nccl:all_reduce");
  assert_string_equal(last.state.c_str(), "scheduled");
  assert_int_equal(last.sequence, 42);
  assert_int_equal(last.sizes.size(), 2);
  assert_int_equal(last.sizes[0], 1024);
  assert_false(last.started.has_value());
  assert_string_equal(format_rfc3339(*last.created).c_str(), "2026-09-21T14:13:20.102Z");
}

void a_point_to_point_record_counts_by_its_own_sequence(void**) {
  const FlightDump dump = read_dump("nccl_trace_rank_0");
  assert_true(dump.entries[1].is_p2p);
  assert_int_equal(dump.entries[1].sequence, 9);
}

void group_numbers_are_paired_with_names_in_order_of_creation(void**) {
  // The dump has no entry at all that would tie number 3 to group 7.
  const FlightDump dump = read_dump("nccl_trace_rank_3.json");
  assert_int_equal(dump.groups[1].last_enqueued, 9);
  assert_int_equal(dump.groups[1].last_started, -1);
  assert_string_equal(dump.groups[1].id.c_str(), "7");
}

void an_entry_that_contradicts_the_order_wins(void**) {
  const auto dump = parse_nccl_dump(
      "d_0.json",
      R"({"pg_config":{"a":{"name":"a","ranks":[0,1]},"b":{"name":"b","ranks":"[0]"}},
          "pg_status":{"0":{"last_enqueued_collective":5},"1":{"last_enqueued_collective":6}},
          "entries":[{"pg_id":0,"process_group":["b","x"],"collective_seq_id":5}]})");
  assert_true(dump.has_value());
  assert_int_equal(dump->groups[0].last_enqueued, -1);  // nothing is said about a
  assert_int_equal(dump->groups[1].last_enqueued, 5);
}

void a_dump_goes_to_json_and_back(void**) {
  for (const char* name : {"nccl_trace_rank_0", "nccl_trace_rank_3.json"}) {
    const FlightDump dump = read_dump(name);
    const std::string text = dump_to_json(dump).dump();
    const auto again = parse_nccl_dump(name, text);
    assert_true(again.has_value());
    assert_string_equal(dump_to_json(*again).dump().c_str(), text.c_str());
    assert_int_equal(again->groups[0].last_enqueued, dump.groups[0].last_enqueued);
    assert_int_equal(again->entries.size(), dump.entries.size());
  }
}

void what_is_no_dump_is_refused_with_a_sentence(void**) {
  assert_false(parse_nccl_dump("x_1", "hello").has_value());
  const auto other = parse_nccl_dump("x_1.json", "{\"a\":1}");
  assert_false(other.has_value());
  assert_non_null(strstr(other.error().message.c_str(), "neither pg_config nor entries"));
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(the_rank_ends_the_file_name),
      cmocka_unit_test(a_pickled_dump_says_what_the_rank_was_in),
      cmocka_unit_test(a_point_to_point_record_counts_by_its_own_sequence),
      cmocka_unit_test(group_numbers_are_paired_with_names_in_order_of_creation),
      cmocka_unit_test(an_entry_that_contradicts_the_order_wins),
      cmocka_unit_test(a_dump_goes_to_json_and_back),
      cmocka_unit_test(what_is_no_dump_is_refused_with_a_sentence),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
