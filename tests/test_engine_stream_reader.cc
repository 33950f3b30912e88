// SPDX-License-Identifier: Apache-2.0
// Streams to entries: selection, blocks, times, coverage; and the same whatever the chunks.
#include "common/engine/extract/stream_reader.hh"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "common/base/text.hh"
#include "tests/cmocka.hh"

using namespace nvab;

namespace {

constexpr const char* kPack = R"(
[pack]
name = "t"
[[rule]]
id = "py.value"
role = "cascade"
match = '^ValueError: (?<message>.*)$'
[[rule]]
id = "py.traceback"
role = "cascade"
match = '^Traceback \(most recent call last\):'
[[rule]]
id = "gpu.xid"
role = "cascade"
match = 'NVRM: Xid \(PCI:(?<pci>[0-9a-f:.]+)\)'
[[rule]]
id = "mpi.abort"
role = "cascade"
match = 'MPI_ABORT was invoked on rank (?<rank>\d+)'
[[rule]]
id = "nccl.socket"
role = "cascade"
match = 'socketProgress: Connection closed'
[[rule]]
id = "torch.elastic"
role = "cascade"
match = 'Root Cause \(first observed failure\):\n\[0\]:\n(?:.*\n){0,3}\s+rank\s+: (?<rank>\d+)'
[[rule]]
id = "mem.oom"
role = "cascade"
match = 'Killed process (?<pid>\d+)'
[[rule]]
id = "host.hung"
role = "cascade"
match = 'blocked for more than \d+ seconds'
[[rule]]
id = "host.frame"
role = "cascade"
match = 'nfs_wait_bit_killable'
[[rule]]
id = "app.gromacs"
role = "cascade"
match = 'Fatal error:'
[[rule]]
id = "app.hdf5"
role = "cascade"
match = 'errno = (?<errno>\d+)'
[[rule]]
id = "rt.forrtl"
role = "cascade"
match = 'forrtl: severe \((?<errno>\d+)\)'
[[rule]]
id = "p.step"
role = "progress"
match = 'step (?<step>\d+)'
)";

const Ruleset& rules() {
  static const std::unique_ptr<Ruleset> ruleset = [] {
    const Pack packs[] = {*parse_pack("t.toml", kPack)};
    auto built = Ruleset::build("t", packs);
    if (!built) print_error("%s\n", built.error().message.c_str());
    return std::move(*built);
  }();
  return *ruleset;
}

struct Outcome {
  std::vector<LogEntry> entries;
  StreamCoverage coverage;
};

StreamInfo app_stream() {
  StreamInfo info;
  info.name = "a.log";
  return info;
}

StreamInfo syslog_stream() {
  StreamInfo info;
  info.name = "s.log";
  info.source = Source::syslog;
  info.trust = Trust::system;
  return info;
}

Outcome read(const std::string& text, StreamInfo info, std::size_t chunk = std::string::npos,
             bool all = false) {
  Outcome out;
  StreamReader reader(
      rules(), std::move(info), [&](LogEntry&& entry) { out.entries.push_back(std::move(entry)); },
      all);
  for (std::size_t at = 0; at < text.size(); at += std::min(chunk, text.size())) {
    // Its own allocation: nothing may be kept of a chunk.
    const std::string piece = text.substr(at, chunk);
    reader.feed(piece);
  }
  out.coverage = reader.finish();
  return out;
}

std::string text_of(std::optional<int> number) { return number ? std::to_string(*number) : "-"; }

std::string describe(const LogEntry& entry) {
  return entry.origin.stream + ":" + std::to_string(entry.origin.line) + "@" +
         std::to_string(entry.origin.offset) + " " +
         (entry.timestamp ? format_rfc3339(*entry.timestamp) : "-") + " " +
         std::string(to_string(entry.time_quality)) + " " + entry.node + " " + text_of(entry.rank) +
         " " + text_of(entry.task) + " " + entry.app + " | " + entry.message;
}

std::string describe(const Outcome& outcome) {
  std::vector<std::string> lines;
  for (const LogEntry& entry : outcome.entries) lines.push_back(describe(entry));
  std::sort(lines.begin(), lines.end());
  const StreamCoverage& c = outcome.coverage;
  const auto time = [](std::optional<Time> t) { return t ? format_rfc3339(*t) : std::string("-"); };
  lines.push_back(time(c.first) + " " + time(c.last) + " gap " + time(c.gap_start) + " " +
                  time(c.gap_end) + " lines " + std::to_string(c.lines) + " last " + c.last_line);
  return join(lines, "\n---\n");
}

// The messages of all entries that are no progress.
std::vector<std::string> messages(const Outcome& outcome) {
  std::vector<std::string> out;
  for (const LogEntry& entry : outcome.entries) {
    if (entry.message.find("step ") == std::string::npos) out.push_back(entry.message);
  }
  return out;
}

void expect_messages(const std::string& text, StreamInfo info,
                     const std::vector<std::string>& wanted) {
  std::vector<std::string> got = messages(read(text, std::move(info)));
  std::vector<std::string> sorted = wanted;
  std::sort(got.begin(), got.end());
  std::sort(sorted.begin(), sorted.end());
  if (got == sorted) return;
  print_error("got:\n%s\nwant:\n%s\n", join(got, "\n---\n").c_str(),
              join(sorted, "\n---\n").c_str());
  ::fail();
}

std::string filler(std::size_t lines, const char* prefix = "") {
  std::string text;
  for (std::size_t i = 0; i < lines; ++i) {
    text += prefix + std::string("an ordinary line of training output, number ") +
            std::to_string(i) + "\n";
  }
  return text;
}

}  // namespace

static void only_lines_that_may_matter_become_entries(void**) {
  const Outcome out =
      read(filler(3000) + "NVRM: Xid (PCI:0000:61:00): 79\n" + filler(3000), app_stream());
  assert_int_equal(out.entries.size(), 1);
  assert_string_equal(out.entries[0].message.c_str(), "NVRM: Xid (PCI:0000:61:00): 79");
  assert_int_equal(out.entries[0].origin.line, 3001);
  assert_int_equal(out.entries[0].origin.offset, filler(3000).size());
  assert_int_equal(out.coverage.lines, 6001);
  assert_string_equal(out.coverage.last_line.c_str(),
                      "an ordinary line of training output, number 2999");
}

static void everything_becomes_an_entry_when_asked_for(void**) {
  const Outcome out = read("one\ntwo\r\n\nthree", app_stream(), std::string::npos, true);
  assert_int_equal(out.entries.size(), 4);
  assert_string_equal(out.entries[1].message.c_str(), "two");
  assert_string_equal(out.entries[3].message.c_str(), "three");
  assert_int_equal(out.entries[3].origin.line, 4);
}

static void a_traceback_is_one_entry(void**) {
  const std::string traceback =
      "Traceback (most recent call last):\n  File \"a.py\", line 3, in <module>\n    "
      "main()\nValueError: bad";
  expect_messages("start\n" + traceback + "\nsrun: error: n1: task 3: Exited\n", app_stream(),
                  {traceback});
}

static void chained_tracebacks_are_one_entry(void**) {
  const std::string chain =
      "Traceback (most recent call last):\n  File \"a.py\", line 3\nKeyError: 'x'\n\n"
      "During handling of the above exception, another exception occurred:\n\n"
      "Traceback (most recent call last):\n  File \"b.py\", line 9\nValueError: no x";
  expect_messages(chain + "\n", app_stream(), {chain});
}

static void two_tracebacks_are_two_entries(void**) {
  const std::string one =
      "Traceback (most recent call last):\n  File \"a.py\", line 3\nKeyError: 'x'";
  const std::string two =
      "Traceback (most recent call last):\n  File \"b.py\", line 9\nValueError: no x";
  expect_messages(one + "\n" + two + "\n", app_stream(), {one, two});
}

static void tracebacks_of_several_ranks_are_told_apart(void**) {
  const std::string text =
      "[rank1]: Traceback (most recent call last):\n"
      "[rank0]: Traceback (most recent call last):\n"
      "[rank1]:   File \"a.py\", line 3\n"
      "[rank0]:   File \"a.py\", line 4\n"
      "[rank0]: ValueError: zero\n"
      "[rank1]: ValueError: one\n"
      "[rank1]: more of it\n";
  const Outcome out = read(text, app_stream());
  assert_int_equal(out.entries.size(), 2);
  for (const LogEntry& entry : out.entries) {
    const std::string wanted =
        *entry.rank == 0
            ? "Traceback (most recent call last):\n  File \"a.py\", line 4\nValueError: zero"
            : "Traceback (most recent call last):\n  File \"a.py\", line 3\nValueError: one\nmore "
              "of it";
    assert_string_equal(entry.message.c_str(), wanted.c_str());
  }
}

static void text_of_others_inside_a_traceback_stays_apart(void**) {
  expect_messages(
      "Traceback (most recent call last):\n"
      "  File \"a.py\", line 3\n"
      "2026-03-01 10:00:00,000 INFO NVRM: Xid (PCI:0000:61:00): 79\n"
      "    main()\n"
      "ValueError: bad\n",
      app_stream(),
      {"INFO NVRM: Xid (PCI:0000:61:00): 79",
       "Traceback (most recent call last):\n  File \"a.py\", line 3\n    main()\nValueError: bad"});
}

static void an_exceptions_text_goes_on_over_several_lines(void**) {
  const std::string traceback =
      "Traceback (most recent call last):\n  File \"a.py\", line 3\n"
      "torch.distributed.DistBackendError: NCCL error in: a.cpp:1, remote\n"
      "ncclRemoteError: A call failed possibly due to a network error.\n"
      "Last error:\n"
      "socketProgress: Connection closed by remote peer n2<4711>";
  expect_messages(traceback + "\nepoch 3\n", app_stream(), {traceback});
}

static void a_deep_recursion_keeps_its_last_line(void**) {
  std::string text = "Traceback (most recent call last):\n";
  for (int i = 0; i < 3000; ++i)
    text += "  File \"a.py\", line " + std::to_string(i) + ", in f\n    f()\n";
  text += "ValueError: deep\n";
  const Outcome out = read(text, app_stream());
  assert_int_equal(out.entries.size(), 1);
  assert_true(out.entries[0].message.ends_with("\nValueError: deep"));
  assert_true(out.entries[0].message.size() <= kMaxLine);
}

static void torchruns_report_belongs_to_its_traceback(void**) {
  const std::string report =
      "Traceback (most recent call last):\n  File \"torchrun\", line 8\n"
      "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n"
      "============================================================\n"
      "train.py FAILED\n"
      "------------------------------------------------------------\n"
      "Failures:\n  <NO_OTHER_FAILURES>\n"
      "------------------------------------------------------------\n"
      "Root Cause (first observed failure):\n[0]:\n  time      : 2026-03-01_10:00:00\n"
      "  host      : n1\n  rank      : 3 (local_rank: 3)\n  exitcode  : 1 (pid: 4711)\n"
      "============================================================";
  expect_messages(report + "\nsrun: error: n1: task 0: Exited with exit code 1\n", app_stream(),
                  {report});
  const std::string rest = report.substr(report.find("Root Cause"));
  expect_messages("x\n" + rest + "\n", app_stream(), {rest});
}

static void a_banner_between_dashes_is_one_entry(void**) {
  const std::string dashes(74, '-');
  const std::string banner =
      dashes +
      "\nMPI_ABORT was invoked on rank 3 in communicator MPI_COMM_WORLD\n"
      "with errorcode 1.\n\nNOTE: invoking MPI_ABORT causes Open MPI to kill all processes.\n" +
      dashes;
  expect_messages("x\n" + banner + "\ny\n", app_stream(), {banner});
}

static void dashes_without_an_end_hide_nothing(void**) {
  expect_messages(std::string(74, '-') + "\nMPI_ABORT was invoked on rank 3\n" + filler(60),
                  app_stream(), {"MPI_ABORT was invoked on rank 3"});
}

static void progress_below_a_tables_dashes_is_seen(void**) {
  const std::string table = "Section |  min time  |  avg time\n" + std::string(63, '-') +
                            "\nPair    | 100.1      | 101.2\nNeigh   | 10.1       | 10.2\n";
  const Outcome out = read(table + "step 77 loss 1.0\nx\n", app_stream());
  assert_int_equal(out.entries.size(), 1);
  assert_string_equal(out.entries.front().message.c_str(), "step 77 loss 1.0");
}

static void kernel_dumps_are_one_entry_a_node(void**) {
  const std::string text =
      "Mar  1 10:00:00 n1 kernel: python invoked oom-killer: gfp_mask=0xcc0, order=0\n"
      "Mar  1 10:00:00 n1 kernel: CPU: 3 PID: 4711 Comm: python\n"
      "Mar  1 10:00:00 n2 kernel: NVRM: Xid (PCI:0000:61:00): 79\n"
      "Mar  1 10:00:00 n1 slurmd[7]: unrelated\n"
      "Mar  1 10:00:00 n1 kernel: Memory cgroup out of memory: Killed process 4711 (python)\n"
      "Mar  1 10:00:01 n1 kernel: link up\n";
  expect_messages(
      text, syslog_stream(),
      {"NVRM: Xid (PCI:0000:61:00): 79",
       "python invoked oom-killer: gfp_mask=0xcc0, order=0\nCPU: 3 PID: 4711 Comm: python\n"
       "Memory cgroup out of memory: Killed process 4711 (python)"});
}

static void a_hung_task_comes_with_its_call_trace(void**) {
  const std::string head = "Mar  1 10:00:00 n1 kernel: ";
  const std::string text = head + "INFO: task python:4711 blocked for more than 122 seconds.\n" +
                           head + "      Tainted: P\n" + head + "Call Trace:\n" + head +
                           " nfs_wait_bit_killable+0x1e/0x90\n" + head +
                           "mlx5_core: something else\n";
  expect_messages(
      text, syslog_stream(),
      {"INFO: task python:4711 blocked for more than 122 seconds.\n      Tainted: P\nCall Trace:\n "
       "nfs_wait_bit_killable+0x1e/0x90"});
}

static void a_fortran_backtrace_is_one_entry(void**) {
  const std::string trace =
      "forrtl: severe (174): SIGSEGV, segmentation fault occurred\n"
      "Image              PC                Routine            Line        Source\n"
      "wrf.exe            000000000347F71B  Unknown               Unknown  Unknown";
  expect_messages(trace + "\nsrun: error\n", app_stream(), {trace});
}

static void the_header_of_a_traceback_belongs_to_it(void**) {
  const char* thread =
      "Exception in thread Thread-3 (run):\nTraceback (most recent call last):\n"
      "  File \"t.py\", line 1, in run\nValueError: bad";
  const char* ignored =
      "Exception ignored in: <function Pool.__del__ at 0x7f>\nTraceback (most recent call last):\n"
      "  File \"p.py\", line 2, in __del__\nValueError: closed";
  expect_messages(std::string(thread) + "\n" + ignored + "\n", app_stream(), {thread, ignored});
  // Java has no traceback behind it, and a header may stand alone.
  expect_messages(
      "Exception in thread \"main\" java.lang.OutOfMemoryError: heap\n\tat A.main(A.java:3)\n"
      "ValueError: one\nException ignored in: <x>\nValueError: two\n",
      app_stream(), {"ValueError: one", "ValueError: two"});
}

static void a_repeated_traceback_is_of_the_rank_it_names(void**) {
  const Outcome out = read(
      "[rank0]: Traceback (most recent call last): (RANK 3)\n[rank0]:   File \"t.py\", line 1\n"
      "[rank0]: ValueError: bad\n",
      app_stream());
  assert_int_equal(out.entries.size(), 1);
  assert_int_equal(out.entries[0].rank.value_or(-1), 3);
}

static void errors_of_gromacs_and_hdf5_are_one_entry(void**) {
  const std::string dashes(55, '-');
  const std::string gromacs =
      "Program:     gmx mdrun, version 2024.1\nMPI rank:    3 (out of 16)\n\nFatal error:\n"
      "Too many LINCS warnings (1012)\n" +
      dashes;
  expect_messages("x\n" + dashes + "\n" + gromacs + "\ny\n", app_stream(), {gromacs});
  const char* hdf5 =
      "HDF5-DIAG: Error detected in HDF5 (1.14.2) MPI-process 17:\n"
      "  #000: H5D.c line 1371 in H5Dwrite(): can't write\n    major: Dataset\n"
      "    minor: Write failed\n  #001: H5FDmpio.c line 1 in x: errno = 116";
  expect_messages(std::string(hdf5) + "\nValueError: next\n", app_stream(),
                  {hdf5, "ValueError: next"});
}

static void lines_without_a_stamp_inherit_the_time_before(void**) {
  const Outcome out =
      read("2026-03-01T10:00:00Z a\nb\nNVRM: Xid (PCI:0000:61:00): 79\n2026-03-01T10:00:09Z c\n",
           app_stream());
  assert_int_equal(out.entries.size(), 1);
  assert_string_equal(format_rfc3339(*out.entries[0].timestamp).c_str(), "2026-03-01T10:00:00Z");
  assert_true(out.entries[0].time_quality == TimeQuality::inherited);
  const Outcome none = read("NVRM: Xid (PCI:0000:61:00): 79\n", app_stream());
  assert_false(none.entries[0].timestamp.has_value());
  assert_true(none.entries[0].time_quality == TimeQuality::none);
}

static void the_streams_name_fills_in_what_lines_leave_out(void**) {
  StreamInfo info = syslog_stream();
  info.node = "n9";
  info.task = 4;
  const Outcome out = read("[rank7]: ValueError: x\n", app_stream());
  assert_int_equal(*out.entries[0].rank, 7);
  const Outcome named = read("ValueError: x\n", info);
  assert_string_equal(named.entries[0].node.c_str(), "n9");
  assert_int_equal(*named.entries[0].task, 4);
  assert_true(named.entries[0].trust == Trust::system);
}

static void progress_is_sampled_at_the_ends_and_between(void**) {
  std::string text;
  for (int step = 0; step < 100'000; ++step) text += "step " + std::to_string(step) + " loss 1.0\n";
  const Outcome out = read(text, app_stream());
  assert_string_equal(out.entries.front().message.c_str(), "step 0 loss 1.0");
  const auto has = [&](const char* message) {
    return std::any_of(out.entries.begin(), out.entries.end(),
                       [&](const LogEntry& entry) { return entry.message == message; });
  };
  assert_true(has("step 99999 loss 1.0"));
  assert_true(has("step 98000 loss 1.0"));
  assert_false(has("step 50000 loss 1.0"));
  assert_true(out.entries.size() > 5000 && out.entries.size() < 20'000);
  std::vector<std::uint64_t> offsets;
  for (const LogEntry& entry : out.entries) offsets.push_back(entry.origin.offset);
  std::sort(offsets.begin(), offsets.end());
  assert_true(std::adjacent_find(offsets.begin(), offsets.end()) == offsets.end());
}

static void progress_bars_are_lines(void**) {
  const Outcome out =
      read(" 1%| step 1\r 2%| step 2\r\n 3%| step 3\rValueError: x\r\n", app_stream());
  assert_int_equal(out.entries.size(), 4);
  assert_string_equal(out.entries[1].message.c_str(), " 2%| step 2");
  assert_int_equal(out.entries[3].origin.line, 2);
}

static void the_longest_silence_is_found(void**) {
  std::string text;
  Time time = *parse_rfc3339("2026-03-01T10:00:00Z");
  for (int i = 0; i < 20'000; ++i) {
    text += format_rfc3339(time) + " an ordinary line of output that says nothing\n";
    time += std::chrono::seconds(i == 13'333 ? 1800 : i == 4000 ? 600 : 1);
  }
  const Outcome out = read(text, app_stream());
  assert_string_equal(format_rfc3339(*out.coverage.first).c_str(), "2026-03-01T10:00:00Z");
  assert_true(*out.coverage.gap_end - *out.coverage.gap_start == std::chrono::seconds(1800));
  assert_true(*out.coverage.last == time - std::chrono::seconds(1));
}

static void hostile_bytes_stay_bounded_and_are_counted(void**) {
  std::string text = "ValueError: a\n" + std::string(3 * 1024 * 1024, '\0') + "\nValueError: b\n";
  text += std::string(200'000, 'x') + " ValueError: too far out\n";
  text += "ValueError: \xff\xfe bad bytes\nValueError: \x1b[31mred\x1b[0m\n";
  const Outcome out = read(text, app_stream());
  expect_messages(
      text, app_stream(),
      {"ValueError: a", "ValueError: b", "ValueError: \uFFFD\uFFFD bad bytes", "ValueError: red"});
  assert_int_equal(out.coverage.lines, 6);
  StreamReader reader(rules(), app_stream(), [](LogEntry&&) {});
  for (const char& c : text) reader.feed(std::string_view(&c, 1));
  reader.finish();
  assert_true(reader.bytes_skipped() > 3'000'000);
}

static void an_empty_stream_has_an_empty_coverage(void**) {
  const Outcome out = read("", app_stream());
  assert_int_equal(out.entries.size(), 0);
  assert_int_equal(out.coverage.lines, 0);
  assert_string_equal(out.coverage.last_line.c_str(), "");
  assert_false(out.coverage.first.has_value());
}

namespace {

// Lines of every kind that the reader treats differently, in a random order.
std::string mixed_log(unsigned seed, std::size_t lines, bool stamped) {
  std::mt19937 random(seed);
  const char* const kLines[] = {
      "an ordinary line of training output that is long enough to fill a log\n",
      "step %d loss 0.5\n",
      "[rank1]: Traceback (most recent call last):\n",
      "[rank1]:   File \"a.py\", line 3, in f\n",
      "[rank1]: ValueError: one\n",
      "[rank2]: Traceback (most recent call last):\n[rank2]:   File \"b.py\", line 3\n[rank2]: "
      "ValueError: two\n",
      "Traceback (most recent call last):\n  File \"c.py\"\nValueError: three\n\n",
      "During handling of the above exception, another exception occurred:\n",
      "NVRM: Xid (PCI:0000:61:00): 79\n",
      "--------------------------------------------------------------------------\n",
      "MPI_ABORT was invoked on rank 3\n",
      " 1%| step 1\r 2%| step 2\r",
      "\r\n",
      "\n",
      "Root Cause (first observed failure):\n[0]:\n  rank      : 3 (local_rank: 3)\n",
      "============================================================\n",
      "forrtl: severe (174): SIGSEGV\n",
      "terminate called after throwing an instance of 'x'\n  what():  boom\n",
      "Last error:\nsocketProgress: Connection closed by n2\n",
  };
  std::string text;
  Time time = *parse_rfc3339("2026-03-01T10:00:00Z");
  for (std::size_t i = 0; i < lines; ++i) {
    const std::size_t kind = random() % 100 < 60 ? random() % 2 : random() % std::size(kLines);
    time += std::chrono::seconds(random() % 500 == 0 ? random() % 3000 : random() % 3);
    if (stamped && random() % 3 == 0) text += format_rfc3339(time) + " ";
    std::string line = kLines[kind];
    const std::size_t mark = line.find("%d");
    if (mark != std::string::npos) line.replace(mark, 2, std::to_string(i));
    text += line;
    if (random() % 4000 == 0)
      text += std::string(kMaxLine - 20 + random() % 40, 'y') + " ValueError: edge\n";
  }
  return text;
}

}  // namespace

static void entries_do_not_depend_on_the_chunks(void**) {
  for (unsigned seed = 1; seed <= 6; ++seed) {
    const std::string text = mixed_log(seed, seed == 1 ? 40'000 : 6000, seed % 2 == 1);
    const std::string whole = describe(read(text, app_stream()));
    assert_true(whole.size() > 10'000);
    for (std::size_t chunk : {1UL, 7UL, 4096UL, 65536UL, 100'001UL}) {
      const std::string parts = describe(read(text, app_stream(), chunk));
      if (parts != whole) {
        const auto differ = std::mismatch(whole.begin(), whole.end(), parts.begin(), parts.end());
        const auto at = static_cast<std::size_t>(differ.first - whole.begin());
        const std::size_t from = at < 300 ? 0 : at - 300;
        print_error("seed %u chunk %zu\nwhole: %s\nparts: %s\n", seed, chunk,
                    whole.substr(from, 600).c_str(), parts.substr(from, 600).c_str());
      }
      assert_true(parts == whole);
    }
    const std::string all = describe(read(text, app_stream(), std::string::npos, true));
    assert_true(all == describe(read(text, app_stream(), 4096, true)));
  }
}

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(only_lines_that_may_matter_become_entries),
      cmocka_unit_test(everything_becomes_an_entry_when_asked_for),
      cmocka_unit_test(a_traceback_is_one_entry),
      cmocka_unit_test(chained_tracebacks_are_one_entry),
      cmocka_unit_test(two_tracebacks_are_two_entries),
      cmocka_unit_test(tracebacks_of_several_ranks_are_told_apart),
      cmocka_unit_test(text_of_others_inside_a_traceback_stays_apart),
      cmocka_unit_test(an_exceptions_text_goes_on_over_several_lines),
      cmocka_unit_test(a_deep_recursion_keeps_its_last_line),
      cmocka_unit_test(torchruns_report_belongs_to_its_traceback),
      cmocka_unit_test(a_banner_between_dashes_is_one_entry),
      cmocka_unit_test(dashes_without_an_end_hide_nothing),
      cmocka_unit_test(progress_below_a_tables_dashes_is_seen),
      cmocka_unit_test(kernel_dumps_are_one_entry_a_node),
      cmocka_unit_test(a_hung_task_comes_with_its_call_trace),
      cmocka_unit_test(a_fortran_backtrace_is_one_entry),
      cmocka_unit_test(the_header_of_a_traceback_belongs_to_it),
      cmocka_unit_test(a_repeated_traceback_is_of_the_rank_it_names),
      cmocka_unit_test(errors_of_gromacs_and_hdf5_are_one_entry),
      cmocka_unit_test(lines_without_a_stamp_inherit_the_time_before),
      cmocka_unit_test(the_streams_name_fills_in_what_lines_leave_out),
      cmocka_unit_test(progress_is_sampled_at_the_ends_and_between),
      cmocka_unit_test(progress_bars_are_lines),
      cmocka_unit_test(the_longest_silence_is_found),
      cmocka_unit_test(hostile_bytes_stay_bounded_and_are_counted),
      cmocka_unit_test(an_empty_stream_has_an_empty_coverage),
      cmocka_unit_test(entries_do_not_depend_on_the_chunks),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
