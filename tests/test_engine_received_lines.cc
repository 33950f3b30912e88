// SPDX-License-Identifier: Apache-2.0
// Lines that a log server dated: their time, their blocks, and who wrote them.
#include <algorithm>
#include <cstring>

#include "common/engine/extract/stream_reader.hh"
#include "tests/cmocka.hh"

using namespace nvab;

namespace {

Time at(const char* text) { return *parse_rfc3339(text); }

std::string dated(std::string_view line, const char* received) {
  const LineHead head = parse_head(line, Source::syslog, {});
  return format_rfc3339(resolve_received(head, at(received)));
}

void what_a_stamp_leaves_open_the_server_knows(void**) {
  const char* received = "2026-01-01T00:30:05Z";
  const std::pair<const char*, const char*> cases[] = {
      {"no stamp", "2026-01-01T00:30:05Z"},
      {"2026-01-01T00:30:04.5Z n1 kernel: x", "2026-01-01T00:30:04.500Z"},
      {"2025-12-29T19:00:04+05:30 n1 kernel: x", "2026-01-01T00:30:05Z"},  // days off
      {"2026-01-01 05:30:03 n1 kernel: x", "2026-01-01T00:30:03Z"},
      {"Dec 31 19:30:01 n1 kernel: x", "2026-01-01T00:30:01Z"},
      {"Jan  1 00:30:05 n1 kernel: x", "2026-01-01T00:30:05Z"},
      {"Jan  1 06:15:02 n1 kernel: x", "2026-01-01T00:30:02Z"},
      {"[  123.456789] x", "2026-01-01T00:30:05Z"},
  };
  for (const auto& [line, wanted] : cases) {
    const std::string got = dated(line, received);
    if (got != wanted) fail_msg("%s: %s, not %s", line, got.c_str(), wanted);
  }
}

// Lines of a program without a stamp, as a shipper sends them, and one that holds several.
void lines_get_their_time_from_the_server_and_blocks_stay_whole(void**) {
  const auto rules = Ruleset::load("default", "");
  assert_true(rules.has_value());
  StreamInfo info;
  info.name = "{job=\"x\"}";
  info.node = "n1";
  std::vector<LogEntry> entries;
  StreamReader reader(**rules, info,
                      [&](LogEntry&& entry) { entries.push_back(std::move(entry)); });
  reader.feed("starting\n", at("2026-03-01T10:00:00Z"));
  reader.feed("Traceback (most recent call last):\n", at("2026-03-01T10:10:00Z"));
  reader.feed("  File \"/app/train.py\", line 3, in <module>\n    main()\n",
              at("2026-03-01T10:10:00Z"));
  reader.feed("ValueError: bad shape\n", at("2026-03-01T10:10:01Z"));
  const StreamCoverage coverage = reader.finish();
  assert_true(*coverage.first == at("2026-03-01T10:00:00Z"));
  assert_true(*coverage.last == at("2026-03-01T10:10:01Z"));
  assert_true(*coverage.gap_start == at("2026-03-01T10:00:00Z"));
  assert_int_equal(coverage.lines, 5);
  const auto block = std::find_if(entries.begin(), entries.end(), [](const LogEntry& entry) {
    return entry.message.find("ValueError") != std::string::npos;
  });
  assert_true(block != entries.end());
  assert_true(*block->timestamp == at("2026-03-01T10:10:00Z"));
  assert_true(block->time_quality == TimeQuality::exact);
  assert_non_null(std::strstr(block->message.c_str(), "Traceback"));
  assert_string_equal(block->node.c_str(), "n1");
}

void lines_of_open_telemetry_name_their_node_beside_the_text(void**) {
  const auto line = unwrap_json(
      R"({"body":"NVRM: Xid","severity":"err","attributes":{"hostname":"n7","appname":"kernel"},"resources":{}})");
  assert_true(line.has_value());
  assert_string_equal(line->node.c_str(), "n7");
  assert_string_equal(line->app.c_str(), "kernel");
  assert_string_equal(line->message.c_str(), "NVRM: Xid");
  const auto other = unwrap_json(
      R"({"body":{"stringValue":"text here"},"resources":{"host.name":"n8","service.name":"sshd"}})");
  assert_string_equal(other->node.c_str(), "n8");
  assert_string_equal(other->app.c_str(), "sshd");
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(what_a_stamp_leaves_open_the_server_knows),
      cmocka_unit_test(lines_get_their_time_from_the_server_and_blocks_stay_whole),
      cmocka_unit_test(lines_of_open_telemetry_name_their_node_beside_the_text),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
