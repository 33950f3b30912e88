// SPDX-License-Identifier: Apache-2.0
// Lines that are JSON objects, as loggers, container runtimes and the journal write them.
#include <string>

#include "common/engine/extract/dialect.hh"
#include "tests/cmocka.hh"

using namespace nvab;

namespace {

std::string word(const char* name, const std::string& value) {
  return value.empty() ? "" : std::string(" ") + name + "=" + value;
}

// "2026-03-01T10:59:58Z node=n1 rank=3 | text", or "-" when it is no such line.
std::string describe(const char* line) {
  const auto json = unwrap_json(line);
  if (!json) return "-";
  std::string out = json->time ? format_rfc3339(*json->time) : "untimed";
  out += word("node", json->node) + word("app", json->app) + word("sev", json->severity);
  if (json->rank) out += " rank=" + std::to_string(*json->rank);
  if (json->pid) out += " pid=" + std::to_string(*json->pid);
  return out + (json->is_kernel ? " kernel" : "") + " | " + json->message;
}

struct Row {
  const char* line;
  const char* wanted;
};

constexpr Row kRows[] = {
    {R"({"message": "text"})", "untimed | text"},
    {R"(  {"msg": "text", "time": "2026-03-01T10:59:58Z", "level": "error", "rank": 3} )",
     "2026-03-01T10:59:58Z sev=err rank=3 | text"},
    {R"({"log":"text\n","stream":"stderr","time":"2026-03-01T10:59:58.5Z"})",
     "2026-03-01T10:59:58.500Z | text"},
    {R"({"ts": 1772362798.25, "body": {"stringValue": "text"}, "host": {"name": "n1"}})",
     "2026-03-01T10:59:58.250Z node=n1 | text"},
    {R"({"timestamp": 1772362798123, "message": "ms"})", "2026-03-01T10:59:58.123Z | ms"},
    {R"({"timestamp": 1772362798123456789, "message": "ns"})", "2026-03-01T10:59:58.123456Z | ns"},
    {R"({"__REALTIME_TIMESTAMP":"1772362798000000","_TRANSPORT":"kernel","_HOSTNAME":"n1",)"
     R"("PRIORITY":"3","MESSAGE":"oops"})",
     "2026-03-01T10:59:58Z node=n1 app=kernel sev=err kernel | oops"},
    {R"({"_SOURCE_REALTIME_TIMESTAMP":"1772362797000000","__REALTIME_TIMESTAMP":"1772362798000000",)"
     R"("SYSLOG_IDENTIFIER":"sshd","_PID":"77","MESSAGE":"x"})",
     "2026-03-01T10:59:57Z app=sshd pid=77 | x"},
    {R"({"MESSAGE":[78,86,255,82,77]})", "untimed | NV\xEF\xBF\xBDRM"},
    {R"({"MESSAGE":[78,86,256]})", "-"},
    {R"({"MESSAGE":[29,8,22]})", "-"},  // found by fuzzing: nothing is left of control characters
    {R"({"log":"\n"})", "-"},
    {R"({"message": "a\u001b[31mred\u001b[0m"})", "untimed | ared"},
    {R"({"message": "", "msg": "second"})", "untimed | second"},
    {R"({"message": {"nested": 1}})", "-"},
    {R"({"message": "text", "rank": -1, "pid": "no"})", "untimed | text"},
    {R"({"message": "text", "time": "soon"})", "untimed | text"},
    {R"({"message": "text", "level": 99})", "untimed | text"},
    {R"({"step": 3, "loss": 1.5})", "-"},
    {R"({"message": "cut)", "-"},
    {R"(["message", "text"])", "-"},
    {R"({'message': 'Python'})", "-"},
    {"{}", "-"},
    {"", "-"},
};

}  // namespace

static void objects_give_their_text_and_what_stands_beside_it(void**) {
  int wrong = 0;
  for (const Row& row : kRows) {
    const std::string got = describe(row.line);
    if (got == row.wanted) continue;
    print_error("line: %s\n got: %s\nwant: %s\n", row.line, got.c_str(), row.wanted);
    ++wrong;
  }
  assert_int_equal(wrong, 0);
}

static void deep_nesting_is_no_message(void**) {
  const std::string deep = "{\"message\": " + std::string(100'000, '[') + "}";
  assert_false(unwrap_json(deep).has_value());
}

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(objects_give_their_text_and_what_stands_beside_it),
      cmocka_unit_test(deep_nesting_is_no_message),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
