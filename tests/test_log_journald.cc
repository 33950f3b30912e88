// SPDX-License-Identifier: Apache-2.0
// Journals: real files that systemd-journal-remote made, and exports as text, through the
// collector.
#include "epilog/log/journal_record.hh"
#include "epilog/log/journald.hh"

#include <unistd.h>

#include <array>
#include <cstring>

#include "common/base/file.hh"
#include "common/base/subprocess.hh"
#include "common/engine/ruleset.hh"
#include "epilog/log/journal_export.hh"
#include "tests/cmocka.hh"
#include "tests/support/kept.hh"

using namespace nvab;
using namespace nvab::test;

namespace {

std::unique_ptr<Ruleset> g_rules;

constexpr long long kStart = 1767225600;  // 2026-01-01T00:00:00Z
const std::string kBoot(32, 'a'), kOtherBoot(32, 'b');

// An entry in the export format. Its message goes as bytes, which holds anything.
struct Entry {
  long long at = 0;  // seconds behind kStart
  std::string message, host = "n1";
  std::string fields = "_TRANSPORT=syslog\n_UID=0\nSYSLOG_IDENTIFIER=app\n";
  std::string boot = kBoot;
};

std::string export_of(const Entry& entry, int number) {
  std::string text =
      "__CURSOR=s=00000000000000000000000000000001;i=" + std::to_string(number) +
      ";b=" + entry.boot +
      ";m=1;t=1;x=1\n__REALTIME_TIMESTAMP=" + std::to_string((kStart + entry.at) * 1'000'000) +
      "\n__MONOTONIC_TIMESTAMP=" + std::to_string((100'000 + entry.at) * 1'000'000) +
      "\n_BOOT_ID=" + entry.boot + "\n_HOSTNAME=" + entry.host + "\n" + entry.fields + "MESSAGE\n";
  std::uint64_t size = entry.message.size();
  for (int i = 0; i < 8; ++i, size >>= 8) text += static_cast<char>(size & 0xff);
  return text + entry.message + "\n\n";
}

const std::string kKernel =
    "_TRANSPORT=kernel\nSYSLOG_FACILITY=0\nPRIORITY=3\nSYSLOG_IDENTIFIER=kernel\n";
const std::string kSlurmd =
    "_TRANSPORT=stdout\n_UID=0\n_PID=77\nSYSLOG_IDENTIFIER=slurmd\n_SYSTEMD_UNIT=slurmd.service\n";

std::vector<Entry> entries() {
  return {
      {-7200, "NVRM: Xid (PCI:0000:01:00): 79, long before", "n1", kKernel, kOtherBoot},
      {10, "NVRM: Xid (PCI:0000:61:00): 79, real", "n1.example.org",
       // It had waited 4 s for the journal.
       kKernel + "_SOURCE_MONOTONIC_TIMESTAMP=" + std::to_string(100'006LL * 1'000'000) + "\n"},
      {11, "NVRM: Xid (PCI:0000:62:00): 79, by a process", "n1",
       "_TRANSPORT=kernel\nSYSLOG_FACILITY=1\nPRIORITY=3\nSYSLOG_IDENTIFIER=kernel\n"},
      {12, "NVRM: Xid (PCI:0000:63:00): 79, by a user", "n1",
       "_TRANSPORT=syslog\n_UID=1000\nSYSLOG_FACILITY=0\nSYSLOG_IDENTIFIER=kernel\n"},
      {13, "Out of memory: Killed process 4242 (python) total-vm:1kB", "n2", kKernel},
      {14, "error: slurmd: Node reboot failed, Xid 79: NVRM: Xid (PCI:0000:64:00): 79", "n1",
       kSlurmd},
      {15, "NVRM: Xid (PCI:0000:65:00): 79, elsewhere", "n9", kKernel},
      {16, "two\rlines\n<2>1 2026-01-01T00:00:00Z n2 kernel - - - NVRM: Xid (PCI:0000:66:00): 79",
       "n1", "_TRANSPORT=syslog\n_UID=1000\nSYSLOG_IDENTIFIER=job\n"},
      {17, "bytes \xff\xfe NVRM: Xid (PCI:0000:67:00): 79", "n1", kKernel},
      {7200, "NVRM: Xid (PCI:0000:68:00): 79, long after", "n1", kKernel},
  };
}

std::string exported() {
  std::string text;
  int number = 0;
  for (const Entry& entry : entries()) text += export_of(entry, ++number);
  return text;
}

void run_tool(std::vector<std::string> argv) {
  Command command;
  command.argv = std::move(argv);
  command.deadline = Deadline::after(std::chrono::seconds(30));
  const auto end = run_command(command);
  if (!end || end->exit_code != 0)
    print_error("%s\n", end ? end->errors.c_str() : end.error().message.c_str());
  assert_true(end.has_value() && end->exit_code == 0);
}

// A journal made of the entries, in a folder of its own; what journalctl makes of it beside it.
struct Journal {
  TempFolder folder{"journald_test"};
  std::string file = folder / "remote/test.journal", text = folder / "export",
              json = folder / "json";
  Journal() {
    std::filesystem::create_directories(folder / "remote");
    assert_true(write_file(text, exported()).has_value());
    run_tool({"/lib/systemd/systemd-journal-remote", "--output=" + file, text});
    Command command;
    command.argv = {"journalctl", "--file=" + file, "-o", "json", "--all", "--no-pager"};
    command.deadline = Deadline::after(std::chrono::seconds(30));
    const auto end = run_command(command);
    assert_true(end.has_value() && end->exit_code == 0);
    assert_true(write_file(json, end->output).has_value());
  }
};

void slurms_own_daemons_are_believed_whatever_their_user(void**) {
  JournalRecord record;
  record.set("_UID", "64030");
  record.set("_COMM", "slurmctld");
  record.set("SYSLOG_IDENTIFIER", "slurmctld");
  record.set("UNIT", "slurmctld.service");
  assert_true(record.trust() == Trust::user);  // all of it but the number is the writer's choice
  record.set("_SYSTEMD_UNIT", "session-7.scope");
  assert_true(record.trust() == Trust::user);
  record.set("_SYSTEMD_UNIT", "slurmctld.service");
  assert_true(record.trust() == Trust::system);
}

ExecutionContext job() {
  ExecutionContext context;
  context.nodes = {"n1", "n2"};
  context.start_time = Time(std::chrono::seconds(kStart));
  context.end_time = Time(std::chrono::seconds(kStart + 60));
  return context;
}

CollectOutcome collect(JournaldOptions options, Kept* kept,
                       const ExecutionContext& context = job()) {
  Host host;
  host.rules = g_rules.get();
  options.before = options.after = std::chrono::seconds(60);
  return make_log_journald(std::move(options), host)->collect(context, *kept);
}

JournaldOptions from(std::string path) {
  JournaldOptions options;
  options.paths = {std::move(path)};
  return options;
}

void check_all(const Kept& kept) {
  for (const char* absent : {"long before", "long after", "elsewhere"})
    assert_null(kept.find(absent));
  const LogEntry* real = kept.find("61:00): 79, real");
  assert_non_null(real);
  assert_true(real->trust == Trust::kernel);
  assert_string_equal(real->app.c_str(), "kernel");
  assert_string_equal(real->severity.c_str(), "err");
  assert_string_equal(real->node.c_str(), "n1.example.org");
  assert_string_equal(format_rfc3339(*real->timestamp).c_str(), "2026-01-01T00:00:06Z");
  assert_true(kept.find("by a process")->trust == Trust::user);
  assert_true(kept.find("by a user")->trust == Trust::user);
  assert_string_equal(kept.find("by a user")->app.c_str(), "not-kernel");
  assert_true(kept.find("Out of memory")->trust == Trust::kernel);
  assert_string_equal(kept.find("Out of memory")->node.c_str(), "n2");
  const LogEntry* slurmd = kept.find("64:00): 79");
  assert_true(slurmd->trust == Trust::system);
  assert_string_equal(slurmd->app.c_str(), "slurmd");
  assert_int_equal(slurmd->pid.value_or(0), 77);
  // The head of a forged line is text of the line that it stands in.
  const LogEntry* forged = kept.find("66:00): 79");
  assert_non_null(forged);
  assert_true(forged->trust == Trust::user);
  assert_string_equal(forged->node.c_str(), "n1");
  assert_non_null(kept.find("67:00): 79"));
}

void a_journal_file_is_read_by_the_library(void**) {
  Journal journal;
  Kept kept;
  const CollectOutcome outcome = collect(from(journal.file), &kept);
  assert_string_equal(outcome.reason.c_str(), "");
  check_all(kept);
  Kept of_folder;
  assert_true(collect(from(journal.folder / "remote"), &of_folder).status == ConnectorStatus::ok);
  check_all(of_folder);
}

void exports_say_the_same(void**) {
  Journal journal;
  for (const std::string& path : {journal.text, journal.json}) {
    Kept kept;
    const CollectOutcome outcome = collect(from(path), &kept);
    assert_string_equal(outcome.reason.c_str(), "");
    check_all(kept);
  }
  run_tool({"gzip", journal.text});
  Kept packed;
  assert_string_equal(collect(from(journal.text + ".gz"), &packed).reason.c_str(), "");
  check_all(packed);
}

void filters_choose(void**) {
  Journal journal;
  for (const std::string& path : {journal.file, journal.text, journal.json}) {
    JournaldOptions options = from(path);
    options.only_kernel = true;
    Kept kernel;
    collect(options, &kernel);
    assert_non_null(kernel.find("real"));
    for (const LogEntry& entry : kernel.entries()) assert_true(entry.trust == Trust::kernel);
    options.units = {"slurmd.service"};
    Kept both;
    collect(options, &both);
    assert_non_null(both.find("real"));
    assert_non_null(both.find("64:00): 79"));
    assert_null(both.find("by a user"));
    options.only_kernel = false;
    Kept unit;
    collect(options, &unit);
    assert_int_equal(unit.entries().size(), 1);
    options = from(path);
    options.boot = kOtherBoot;
    Kept boot;
    assert_true(collect(options, &boot).status == ConnectorStatus::no_data);
  }
}

void a_cursor_leaves_out_what_stands_before_it(void**) {
  Journal journal;
  Command command;
  command.argv = {"journalctl", "--file=" + journal.file, "-o", "export", "--no-pager", "-n", "7"};
  command.deadline = Deadline::after(std::chrono::seconds(30));
  const auto end = run_command(command);
  assert_true(end.has_value());
  // The first of the last seven: the user's.
  const std::size_t at = end->output.find("__CURSOR=") + 9;
  JournaldOptions options = from(journal.file);
  options.cursor = end->output.substr(at, end->output.find('\n', at) - at);
  Kept kept;
  assert_string_equal(collect(options, &kept).reason.c_str(), "");
  assert_null(kept.find("real"));
  assert_null(kept.find("by a user"));
  assert_non_null(kept.find("Out of memory"));
  Kept none;
  options = from(journal.text);
  options.cursor = "s=of another journal";
  const CollectOutcome outcome = collect(options, &none);
  assert_non_null(std::strstr(outcome.reason.c_str(), "cursor is not in it"));
  assert_int_equal(none.entries().size(), 0);
}

void trouble_is_reported(void**) {
  Journal journal;
  Kept kept;
  CollectOutcome outcome = collect(from(journal.folder / "nothing"), &kept);
  assert_true(outcome.status == ConnectorStatus::no_data);
  assert_true(write_file(journal.folder / "noise", "this is\nno journal\n").has_value());
  outcome = collect(from(journal.folder / "noise"), &kept);
  assert_true(outcome.status == ConnectorStatus::error);
  assert_non_null(std::strstr(outcome.reason.c_str(), "neither a journal nor an export"));
  // What was whole before a cut counts.
  const std::string text = exported();
  assert_true(write_file(journal.folder / "cut", text.substr(0, text.size() - 30)).has_value());
  outcome = collect(from(journal.folder / "cut"), &kept);
  assert_true(outcome.status == ConnectorStatus::error);
  assert_non_null(kept.find("real"));
  assert_true(write_file(journal.folder / "bad.journal", "LPKSHHRH and then nothing").has_value());
  outcome = collect(from(journal.folder / "bad.journal"), &kept);
  assert_true(outcome.status == ConnectorStatus::error ||
              outcome.status == ConnectorStatus::no_data);
}

void the_export_does_not_depend_on_its_pieces(void**) {
  const std::string text = exported();
  const auto parse = [&](std::size_t step) {
    std::string all;
    JournalExportParser parser([&](const JournalRecord& record) {
      all += record.host + record.message + std::to_string(record.received.value_or(0)) + "|";
    });
    for (std::size_t i = 0; i < text.size(); i += step) {
      assert_true(parser.feed(std::string_view(text).substr(i, step)));
    }
    assert_true(parser.finish().has_value());
    return all;
  };
  const std::string whole = parse(text.size());
  for (const std::size_t step : {1u, 2u, 7u, 100u})
    assert_string_equal(parse(step).c_str(), whole.c_str());
}

bool is_loaded() {
  const auto maps = read_file("/proc/self/maps", 16 << 20);
  return maps && maps->find("libsystemd.so") != std::string::npos;
}

void only_who_reads_a_journal_loads_the_library(void**) {
  Journal journal;
  Kept kept;
  collect(from(journal.text), &kept);
  assert_false(is_loaded());
  collect(from(journal.file), &kept);
  assert_true(is_loaded());
}

int load_rules(void**) {
  auto rules = Ruleset::load("default", "");
  assert_true(rules.has_value());
  g_rules = std::move(*rules);
  return 0;
}

int drop_rules(void**) {
  g_rules.reset();
  return 0;
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(slurms_own_daemons_are_believed_whatever_their_user),
      cmocka_unit_test(only_who_reads_a_journal_loads_the_library),  // first
      cmocka_unit_test(a_journal_file_is_read_by_the_library),
      cmocka_unit_test(exports_say_the_same),
      cmocka_unit_test(filters_choose),
      cmocka_unit_test(a_cursor_leaves_out_what_stands_before_it),
      cmocka_unit_test(trouble_is_reported),
      cmocka_unit_test(the_export_does_not_depend_on_its_pieces),
  };
  return cmocka_run_group_tests(tests, load_rules, drop_rules);
}
