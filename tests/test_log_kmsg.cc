// SPDX-License-Identifier: Apache-2.0
// The kernel's ring: its records, when they were written, and whom to believe.
#include "epilog/log/kmsg.hh"

#include <unistd.h>

#include <array>
#include <cstring>

#include "common/base/file.hh"
#include "common/engine/ruleset.hh"
#include "epilog/queue/node.hh"
#include "tests/cmocka.hh"
#include "tests/support/kept.hh"

using namespace nvab;
using namespace nvab::test;

namespace {

constexpr Time kNow = Time(std::chrono::seconds(1767225600));  // 2026-01-01T00:00:00Z
constexpr Duration kUptime = std::chrono::seconds(1000);

KernelRecord record_at(std::uint64_t sequence, int seconds, std::string text, int facility = 0) {
  KernelRecord record;
  record.sequence = sequence;
  record.uptime = std::chrono::seconds(seconds);
  record.facility = facility;
  record.text = std::move(text);
  return record;
}

std::string time_text(Time time) { return format_rfc3339(time); }

void a_record_is_read_in_all_its_parts(void**) {
  const auto record =
      parse_kernel_record("11,339,5140900,c,caller=T1;it said \\x22NVRM\\x5c\\xc3\\xa9");
  assert_true(record.has_value());
  assert_int_equal(record->sequence, 339);
  assert_int_equal(record->severity, 3);
  assert_int_equal(record->facility, 1);
  assert_int_equal(record->uptime.count(), 5140900);
  assert_string_equal(record->text.c_str(), "it said \"NVRM\\\xc3\xa9");
  assert_false(record->is_of_kernel());
  assert_true(parse_kernel_record("6,1,2,-;x")->is_of_kernel());
  for (const char* bad : {"", ";", " SUBSYSTEM=pci", "x,1,2,-;t", "6,1;t", "6,-1,2,-;t", "6,1,2"}) {
    assert_false(parse_kernel_record(bad).has_value());
  }
}

void the_kernels_clock_becomes_time_of_day(void**) {
  const KernelClock clock{kNow, kUptime, Duration{0}};
  const auto times = times_of({record_at(1, 0, "boot"), record_at(2, 999, "late")}, clock);
  assert_string_equal(time_text(times[0]).c_str(), "2025-12-31T23:43:20Z");
  assert_string_equal(time_text(times[1]).c_str(), "2025-12-31T23:59:59Z");
}

void sleep_is_no_time_of_the_kernels_clock(void**) {
  // Awake 400 s, asleep 3600 s, awake 600 s more.
  const KernelClock clock{kNow, kUptime, std::chrono::seconds(3600)};
  const std::vector<KernelRecord> told = {
      record_at(1, 100, "before"), record_at(2, 400, "Timekeeping suspended for 3600.000 seconds"),
      record_at(3, 401, "after")};
  auto times = times_of(told, clock);
  assert_string_equal(time_text(times[2]).c_str(), "2025-12-31T23:50:01Z");
  assert_string_equal(time_text(times[0]).c_str(), "2025-12-31T22:45:00Z");
  // The same where the kernel only says that it woke.
  times = times_of({record_at(1, 100, "before"), record_at(2, 400, "PM: suspend exit"),
                    record_at(3, 401, "after")},
                   clock);
  assert_string_equal(time_text(times[2]).c_str(), "2025-12-31T23:50:01Z");
  assert_string_equal(time_text(times[0]).c_str(), "2025-12-31T22:45:00Z");
  // A process cannot move the clock.
  times = times_of({record_at(1, 100, "before"),
                    record_at(2, 400, "Timekeeping suspended for 3600.000 seconds", 1)},
                   {kNow, kUptime, Duration{0}});
  assert_string_equal(time_text(times[0]).c_str(), "2025-12-31T23:45:00Z");
}

std::unique_ptr<Ruleset> g_rules;

ExecutionContext job_here() {
  ExecutionContext job;
  std::array<char, 256> name = {};
  assert_int_equal(::gethostname(name.data(), name.size() - 1), 0);
  job.nodes = {name.data()};
  job.start_time = kNow - std::chrono::seconds(500);
  job.end_time = kNow - std::chrono::seconds(100);
  return job;
}

CollectOutcome collect(const std::string& path, const ExecutionContext& job, Kept* kept) {
  Host host;
  host.rules = g_rules.get();
  KmsgOptions options;
  options.path = path;
  options.before = options.after = std::chrono::seconds(60);
  options.clock = KernelClock{kNow, kUptime, Duration{0}};
  return make_log_kmsg(options, host)->collect(job, *kept);
}

const char kRing[] =
    "6,10,1000000,-;Linux version 6.1\n"
    "3,11,430000000,-;NVRM: Xid (PCI:0000:11:00): 48, too early\n"
    "3,20,700000000,-;NVRM: Xid (PCI:0000:61:00): 79, pid=77, GPU has fallen off the bus.\n"
    " SUBSYSTEM=pci\n"
    " DEVICE=+pci:0000:61:00.0\n"
    "11,21,701000000,-;NVRM: Xid (PCI:0000:62:00): 79, pid=78, forged\n"
    "11,22,702000000,-;two\\x0a<3>1 2026-01-01T00:00:00Z n1 kernel - - - NVRM: Xid (PCI:0:63): "
    "79\n";

void only_the_kernels_own_lines_have_its_trust(void**) {
  TempFolder folder("kmsg_test");
  assert_true(write_file(folder / "kmsg", kRing).has_value());
  const ExecutionContext job = job_here();
  Kept kept;
  const CollectOutcome outcome = collect(folder / "kmsg", job, &kept);
  assert_string_equal(outcome.reason.c_str(), "");
  assert_true(outcome.status == ConnectorStatus::ok);
  assert_null(kept.find("too early"));
  const LogEntry* real = kept.find("fallen off the bus");
  assert_non_null(real);
  assert_true(real->trust == Trust::kernel);
  assert_string_equal(real->app.c_str(), "kernel");
  assert_string_equal(real->severity.c_str(), "err");
  assert_string_equal(real->node.c_str(), job.nodes[0].c_str());
  assert_int_equal(real->origin.line, 20);  // the kernel's number
  assert_string_equal(time_text(*real->timestamp).c_str(), "2025-12-31T23:55:00Z");
  const LogEntry* forged = kept.find("forged");
  assert_non_null(forged);
  assert_true(forged->trust == Trust::user);
  assert_string_equal(forged->app.c_str(), "kmsg");
  for (const LogEntry& entry : kept.entries()) {
    assert_true(entry.origin.line == 20 || entry.trust == Trust::user);
  }
  // Numbers 12 to 19 are missing.
  assert_int_equal(outcome.details.get("lost").as_int().value_or(-1), 8);
}

void what_is_not_there_is_said(void**) {
  TempFolder folder("kmsg_test");
  Kept kept;
  ExecutionContext job = job_here();
  CollectOutcome outcome = collect(folder / "nothing", job, &kept);
  assert_true(outcome.status == ConnectorStatus::unavailable);
  assert_true(write_file(folder / "kmsg", "6,500,999000000,-;so late\n").has_value());
  outcome = collect(folder / "kmsg", job, &kept);
  assert_true(outcome.status == ConnectorStatus::no_data);
  assert_non_null(std::strstr(outcome.reason.c_str(), "overwritten"));
  job.nodes = {"elsewhere"};
  outcome = collect(folder / "kmsg", job, &kept);
  assert_true(outcome.status == ConnectorStatus::no_data);
  assert_int_equal(kept.entries().size(), 0);
}

void a_node_hands_the_same_lines_on(void**) {
  TempFolder folder("kmsg_test");
  assert_true(write_file(folder / "kmsg", kRing).has_value());
  const auto ring = read_kernel_ring(folder / "kmsg", {});
  assert_true(ring.has_value());
  const std::string lines =
      kernel_lines(*ring, "n1", {kNow, kUptime, Duration{0}}, kNow - std::chrono::seconds(500));
  assert_string_equal(
      lines.c_str(),
      "2025-12-31T23:55:00Z n1 kernel: NVRM: Xid (PCI:0000:61:00): 79, pid=77, GPU has fallen off "
      "the bus.\n"
      "2025-12-31T23:55:01Z n1 kmsg: NVRM: Xid (PCI:0000:62:00): 79, pid=78, forged\n"
      "2025-12-31T23:55:02Z n1 kmsg: two <3>1 2026-01-01T00:00:00Z n1 kernel - - - NVRM: Xid "
      "(PCI:0:63): 79\n");
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
      cmocka_unit_test(a_record_is_read_in_all_its_parts),
      cmocka_unit_test(the_kernels_clock_becomes_time_of_day),
      cmocka_unit_test(sleep_is_no_time_of_the_kernels_clock),
      cmocka_unit_test(only_the_kernels_own_lines_have_its_trust),
      cmocka_unit_test(what_is_not_there_is_said),
      cmocka_unit_test(a_node_hands_the_same_lines_on),
  };
  return cmocka_run_group_tests(tests, load_rules, drop_rules);
}
