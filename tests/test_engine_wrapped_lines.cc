// SPDX-License-Identifier: Apache-2.0
// Lines that came through other hands: cut by a container runtime, escaped by rsyslog, labelled by
// pdsh, exported from the journal. The rules see what the program wrote.
#include <string>
#include <vector>

#include "common/engine/extract/journal_export.hh"
#include "common/engine/extract/stream_reader.hh"
#include "tests/cmocka.hh"

using namespace nvab;

namespace {

constexpr const char* kPack = R"(
[pack]
name = "t"
[[rule]]
id = "gpu.xid"
role = "cascade"
match = 'NVRM: Xid \(PCI:(?<pci>[0-9a-f:.]+)\): (?<xid>\d+)'
[[rule]]
id = "app.lost"
role = "cascade"
match = 'connection to rank (?<rank>\d+) was lost'
)";

const Ruleset& rules() {
  static const std::unique_ptr<Ruleset> ruleset = [] {
    const Pack packs[] = {*parse_pack("t.toml", kPack)};
    return std::move(*Ruleset::build("t", packs));
  }();
  return *ruleset;
}

ExecutionContext job() {
  ExecutionContext context;
  context.nodes = {"gn13", "gn14"};
  context.start_time = parse_rfc3339("2026-03-01T10:00:00Z");
  context.end_time = parse_rfc3339("2026-03-01T11:00:00Z");
  return context;
}

// "node time app | message" of each entry that the rules want, as a file of that text is read.
std::vector<std::string> read(Source source, const std::string& text, std::size_t piece) {
  std::vector<std::string> out;
  StreamReader reader(
      rules(), probe_stream("x.log", source, text, "", job()), [&](LogEntry&& entry) {
        const std::string time = entry.timestamp ? format_rfc3339(*entry.timestamp) : "-";
        out.push_back(entry.node + ' ' + time + ' ' + entry.app + " | " + entry.message);
      });
  for (std::size_t at = 0; at < text.size(); at += piece) reader.feed(text.substr(at, piece));
  reader.finish();
  return out;
}

void expect(Source source, const std::string& text, const std::vector<std::string>& wanted) {
  for (const std::size_t piece : {text.size(), std::size_t{1}, std::size_t{7}}) {
    const std::vector<std::string> got = read(source, text, piece);
    for (const std::string& line : got) {
      if (got != wanted) print_error("got:  %s\n", line.c_str());
    }
    for (const std::string& line : wanted) {
      if (got != wanted) print_error("want: %s\n", line.c_str());
    }
    assert_true(got == wanted);
  }
}

std::string data_field(const std::string& name, const std::string& value) {
  std::string out = name + '\n';
  for (int i = 0; i < 8; ++i) out += static_cast<char>(value.size() >> (8 * i) & 0xFF);
  return out + value + '\n';
}

std::string record(const std::string& fields, const std::string& message_field) {
  return "__CURSOR=s=1;i=2\n__REALTIME_TIMESTAMP=1772362798000000\n__MONOTONIC_TIMESTAMP=77\n" +
         fields + message_field + "_BOOT_ID=ab=cd\n\n";
}

constexpr const char* kKernel =
    "_TRANSPORT=kernel\nSYSLOG_IDENTIFIER=kernel\n_HOSTNAME=gn13\nPRIORITY=3\n";
constexpr const char* kXid = "NVRM: Xid (PCI:0000:61:00): 79, GPU has fallen off the bus.";

}  // namespace

static void parts_of_a_container_line_are_joined(void**) {
  // The rule's literal is cut in two, and another stream writes in between.
  expect(Source::applog,
         "2026-03-01T10:59:58Z stdout P the connec\n"
         "2026-03-01T10:59:58Z stderr F hello\n"
         "2026-03-01T10:59:58Z stdout P tion to ra\n"
         "2026-03-01T10:59:59Z stdout F nk 3 was lost\n"
         "2026-03-01T10:59:59Z stdout F a line of its own\n",
         {" 2026-03-01T10:59:58Z  | the connection to rank 3 was lost"});
}

static void a_container_line_that_never_ends_is_kept(void**) {
  expect(Source::applog, "2026-03-01T10:59:58Z stdout P connection to rank 3 was lost\n",
         {" 2026-03-01T10:59:58Z  | connection to rank 3 was lost"});
}

static void json_behind_a_container_stamp_is_unwrapped(void**) {
  expect(Source::applog,
         "2026-03-01T10:59:58Z stderr F {\"msg\": \"connection to rank 3 was lost\"}\n",
         {" 2026-03-01T10:59:58Z  | connection to rank 3 was lost"});
}

static void rsyslog_escapes_are_undone(void**) {
  expect(Source::syslog,
         "2026-03-01T10:59:58Z gn13 app[7]: first#012#011connection to rank 3 was lost\n"
         "2026-03-01T10:59:58Z gn13 app[7]: slot #017, connection to rank 4 was lost\n",
         {"gn13 2026-03-01T10:59:58Z app | first\n\tconnection to rank 3 was lost",
          "gn13 2026-03-01T10:59:58Z app | slot #017, connection to rank 4 was lost"});
}

static void labels_of_pdsh_name_the_node(void**) {
  expect(Source::syslog,
         "gn13: [Sun Mar  1 10:59:58 2026] NVRM: Xid (PCI:0000:61:00): 79, x\n"
         "gn14.example.org: [Sun Mar  1 10:59:58 2026] eth0: link up\n"
         "gn14.example.org: [Sun Mar  1 10:59:59 2026] NVRM: Xid (PCI:0000:61:00): 13, x\n",
         {"gn13 2026-03-01T10:59:58Z kernel | NVRM: Xid (PCI:0000:61:00): 79, x",
          "gn14.example.org 2026-03-01T10:59:59Z kernel | NVRM: Xid (PCI:0000:61:00): 13, x"});
  expect(Source::applog,
         "gn13: connection to rank 3 was lost\ngn14: connection to rank 4 was lost\n",
         {"gn13 -  | connection to rank 3 was lost", "gn14 -  | connection to rank 4 was lost"});
}

static void uptimes_of_several_nodes_are_no_times(void**) {
  expect(Source::syslog,
         "gn13: [ 4711.123456] NVRM: Xid (PCI:0000:61:00): 79, x\n"
         "gn14: [77711.123456] NVRM: Xid (PCI:0000:61:00): 13, x\n",
         {"gn13 - kernel | NVRM: Xid (PCI:0000:61:00): 79, x",
          "gn14 - kernel | NVRM: Xid (PCI:0000:61:00): 13, x"});
}

static void a_word_and_a_colon_is_no_label(void**) {
  expect(
      Source::applog,
      "error: connection to rank 3 was lost\nerror: connection to rank 4 was lost\n",
      {" -  | error: connection to rank 3 was lost", " -  | error: connection to rank 4 was lost"});
}

static void the_journal_as_json_may_write_messages_as_numbers(void**) {
  std::string numbers;
  for (const char c : std::string(kXid))
    numbers += (numbers.empty() ? "" : ",") + std::to_string(c);
  expect(Source::syslog,
         "{\"__REALTIME_TIMESTAMP\":\"1772362798000000\",\"_TRANSPORT\":\"kernel\",\"_HOSTNAME\":"
         "\"gn13\","
         "\"MESSAGE\":[" +
             numbers + "]}\n",
         {std::string("gn13 2026-03-01T10:59:58Z kernel | ") + kXid});
}

static void exported_records_become_lines(void**) {
  const std::string text =
      record(kKernel, std::string("MESSAGE=") + kXid + "\n") +
      record("_TRANSPORT=syslog\nSYSLOG_IDENTIFIER=kernel\n_COMM=logger\n_PID=7\n_HOSTNAME=gn14\n",
             data_field("MESSAGE", "connection\nconnection to rank 3 was lost\n\nMESSAGE=x")) +
      record("_TRANSPORT=journal\nSYSLOG_IDENTIFIER=my app[2]\n_HOSTNAME=gn14\n",
             data_field("COREDUMP", std::string(300, '\n')) +
                 "MESSAGE=connection to rank 4 was lost\n");
  expect(
      Source::syslog, text,
      {std::string("gn13 2026-03-01T10:59:58Z kernel | ") + kXid,
       "gn14 2026-03-01T10:59:58Z logger | connection\nconnection to rank 3 was lost\n\nMESSAGE=x",
       "gn14 2026-03-01T10:59:58Z my_app_2] | connection to rank 4 was lost"});
}

static void an_export_may_begin_and_end_anywhere(void**) {
  const std::string one = record(kKernel, std::string("MESSAGE=") + kXid + "\n");
  JournalExport journal(Source::applog);
  std::string lines(journal.feed("OF_A_FIELD=x\nMESSAGE=half a record\n\n" + one));
  lines += journal.feed(one.substr(0, one.size() - 1));
  lines += journal.finish();
  const std::string line = std::string("2026-03-01T10:59:58Z ") + kXid + '\n';
  assert_string_equal(lines.c_str(), (line + line).c_str());
  // A length that nothing can have.
  JournalExport broken(Source::syslog);
  broken.feed("__CURSOR=x\nMESSAGE\n" + std::string(8, '\xff') + "NVRM");
  assert_true(broken.finish().empty());
}

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(parts_of_a_container_line_are_joined),
      cmocka_unit_test(a_container_line_that_never_ends_is_kept),
      cmocka_unit_test(json_behind_a_container_stamp_is_unwrapped),
      cmocka_unit_test(rsyslog_escapes_are_undone),
      cmocka_unit_test(labels_of_pdsh_name_the_node),
      cmocka_unit_test(uptimes_of_several_nodes_are_no_times),
      cmocka_unit_test(a_word_and_a_colon_is_no_label),
      cmocka_unit_test(the_journal_as_json_may_write_messages_as_numbers),
      cmocka_unit_test(exported_records_become_lines),
      cmocka_unit_test(an_export_may_begin_and_end_anywhere),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
