// SPDX-License-Identifier: Apache-2.0
// Heads of log lines in every dialect, as one table: line in, what it says of itself out.
#include "common/engine/extract/dialect.hh"

#include <span>
#include <string>

#include "tests/cmocka.hh"

using namespace nvab;

namespace {

std::string number(const char* name, std::optional<int> value) {
  return value ? " " + std::string(name) + "=" + std::to_string(*value) : "";
}

std::string word(const char* name, std::string_view value) {
  return value.empty() ? "" : " " + std::string(name) + "=" + std::string(value);
}

// "zoned 2026-03-01T10:59:58Z node=n1 app=kernel | text"
std::string describe(const LineHead& head) {
  constexpr const char* kKinds[] = {"none", "zoned", "zoneless", "yearless", "clock", "uptime"};
  std::string out = kKinds[static_cast<int>(head.stamp)];
  if (head.stamp != StampKind::none) out += " " + format_rfc3339(head.time);
  out += word("node", head.node) + number("rank", head.rank) + number("task", head.task) +
         number("local", head.local_rank) + word("app", head.app) + number("pid", head.pid) +
         word("sev", head.severity) + (head.is_kernel ? " kernel" : "") + " | ";
  return out + std::string(head.message);
}

struct Row {
  const char* line;
  const char* wanted;
};

void check(Source source, std::span<const Row> rows, HeadOptions options = {}) {
  int wrong = 0;
  for (const Row& row : rows) {
    const std::string got = describe(parse_head(row.line, source, options));
    if (got == row.wanted) continue;
    print_error("line: %s\n got: %s\nwant: %s\n", row.line, got.c_str(), row.wanted);
    ++wrong;
  }
  assert_int_equal(wrong, 0);
}

constexpr Row kStamps[] = {
    {"2026-03-01T10:59:58Z started", "zoned 2026-03-01T10:59:58Z | started"},
    {"2026-03-01T10:59:58.123456789+02:00 x", "zoned 2026-03-01T08:59:58.123456Z | x"},
    {"2026-03-01T10:59:58-0730 x", "zoned 2026-03-01T18:29:58Z | x"},
    {"2026-03-01T10:59:58+05 x", "zoned 2026-03-01T05:59:58Z | x"},
    {"2026-03-01 10:59:58 UTC x", "zoned 2026-03-01T10:59:58Z | x"},
    {"2026-03-01 10:59:58 +0100 x", "zoned 2026-03-01T09:59:58Z | x"},
    {"2026-03-01 10:59:58,573 INFO loading",
     "zoneless 2026-03-01T10:59:58.573Z sev=info | INFO loading"},
    {"2026-03-01 10:59:58.573 | WARNING  | pkg.mod:run:12 - slow",
     "zoneless 2026-03-01T10:59:58.573Z sev=warning | WARNING  | pkg.mod:run:12 - slow"},
    {"2026-03-01 10:59:58,573 - root - ERROR - bad",
     "zoneless 2026-03-01T10:59:58.573Z | root - ERROR - bad"},
    {"2026-03-01 10:59:58: E external/xla/a.cc:467] bad",
     "zoneless 2026-03-01T10:59:58Z sev=err | external/xla/a.cc:467] bad"},
    {"2026/03/01 10:59:58 x", "zoneless 2026-03-01T10:59:58Z | x"},
    {"2026-03-01_10:59:58 x", "zoneless 2026-03-01T10:59:58Z | x"},
    {"[2026-03-01 10:59:58] iteration 3", "zoneless 2026-03-01T10:59:58Z | iteration 3"},
    {" [2026-03-01 10:59:58] iteration 3", "zoneless 2026-03-01T10:59:58Z | iteration 3"},
    {"[2026/03/01 10:59:58] iter 3", "zoneless 2026-03-01T10:59:58Z | iter 3"},
    {"[2026-03-01 10:59:58,123] [INFO] [timer.py:264:stop] x",
     "zoneless 2026-03-01T10:59:58.123Z sev=info | [INFO] [timer.py:264:stop] x"},
    {"[2026-03-01 10:59:58][INFO][engine.py:188] it 4",
     "zoneless 2026-03-01T10:59:58Z sev=info | [INFO][engine.py:188] it 4"},
    {"[2026-03-01 10:59:58 +0000] [17] [INFO] x", "zoned 2026-03-01T10:59:58Z | [17] [INFO] x"},
    {"[Sun Mar  1 10:59:58 2026] x", "zoneless 2026-03-01T10:59:58Z | x"},
    {"Sun Mar  1 10:59:58 2026: done", "zoneless 2026-03-01T10:59:58Z | done"},
    {"Sun Mar  1 10:59:58 UTC 2026 done", "zoned 2026-03-01T10:59:58Z | done"},
    {"Sun Mar  1 10:59:58 CET 2026 done", "zoneless 2026-03-01T10:59:58Z | done"},
    {"Mar  1 10:59:58 x", "yearless 1972-03-01T10:59:58Z | x"},
    {"10:59:58 x", "clock 1970-01-01T10:59:58Z | x"},
    {"10:59:58.250 {'loss': 1}", "clock 1970-01-01T10:59:58.250Z | {'loss': 1}"},
    {"[10:59:58] step 3", "clock 1970-01-01T10:59:58Z | step 3"},
    {"[10:59:58 I train] step=3", "clock 1970-01-01T10:59:58Z sev=info | train] step=3"},
    {"03-01 10:59:58 mmseg INFO: Iter 3", "yearless 1972-03-01T10:59:58Z | mmseg INFO: Iter 3"},
    {"1772362798.123456 x", "zoned 2026-03-01T10:59:58.123456Z | x"},
    {"I0301 10:59:58.597104  4711 train.py:88] process 0",
     "yearless 1972-03-01T10:59:58.597104Z pid=4711 sev=info | train.py:88] process 0"},
    {"F0301 10:59:58.597104 4711 a.cc:1] Check failed",
     "yearless 1972-03-01T10:59:58.597104Z pid=4711 sev=crit | a.cc:1] Check failed"},
    {"[W301 10:59:58.061779398 Group.cpp:14] slow",
     "yearless 1972-03-01T10:59:58.061779Z sev=warning | Group.cpp:14] slow"},
    {"E0000 00:00:1772362798.412001    9021 cuda_dnn.cc:8579] no",
     "zoned 2026-03-01T10:59:58.412001Z pid=9021 sev=err | cuda_dnn.cc:8579] no"},
    {"time=\"2026-03-01T10:59:58Z\" level=info msg=\"x\"",
     "zoned 2026-03-01T10:59:58Z | time=\"2026-03-01T10:59:58Z\" level=info msg=\"x\""},
    {"2026-03-01T10:59:58.536952536Z stdout F step 3",
     "zoned 2026-03-01T10:59:58.536952Z | step 3"},
    {"2026-03-01T10:59:58.536952536Z stderr P part", "zoned 2026-03-01T10:59:58.536952Z | part"},
    {"2026-02-29 10:00:00 no such day", "none | 2026-02-29 10:00:00 no such day"},
    {"Feb 29 10:00:00 leap", "yearless 1972-02-29T10:00:00Z | leap"},
    {"Feb 30 10:00:00 no", "none | Feb 30 10:00:00 no"},
    {"2026-13-01 10:00:00 no", "none | 2026-13-01 10:00:00 no"},
    {"2026-03-01 25:00:00 no", "none | 2026-03-01 25:00:00 no"},
    {"2026-03-01 10:59:58 -1.5 is a number", "zoneless 2026-03-01T10:59:58Z | -1.5 is a number"},
    {"10:59 x", "none | 10:59 x"},
    {"10:59:581 x", "none | 10:59:581 x"},
    {"March is a month", "none | March is a month"},
    {"1234567890 tokens", "none | 1234567890 tokens"},
    {"", "none | "},
    {"plain text", "none | plain text"},
    {"    indented text", "none |     indented text"},
};

constexpr Row kLaunchers[] = {
    {"3: step 7", "none task=3 | step 7"},
    {"03:   File \"a.py\"", "none task=3 |   File \"a.py\""},
    {"3:", "none task=3 | "},
    {"3:x", "none | 3:x"},
    {"[rank3]: Traceback", "none rank=3 | Traceback"},
    {"[rank3]:   File \"a.py\"", "none rank=3 |   File \"a.py\""},
    {"[rank 12] ready", "none rank=12 | ready"},
    {"[RANK 12] ready", "none rank=12 | ready"},
    {"[default2]:frame #0: x", "none local=2 | frame #0: x"},
    {"[trainer5]: x", "none local=5 | x"},
    {"[4]: x", "none rank=4 | x"},
    {"[4]:", "none | [4]:"},
    {"[4] x", "none | [4] x"},
    {"[default6]:[rank6]:[E301 10:59:58.001420273 ProcessGroupNCCL.cpp:684] [Rank 6] Some failed",
     "yearless 1972-03-01T10:59:58.001420Z rank=6 local=6 sev=err | ProcessGroupNCCL.cpp:684] "
     "[Rank 6] "
     "Some failed"},
    {"18: [rank18]:[W301 10:59:58.224878892 TCPStore.cpp:125] [c10d] recv",
     "yearless 1972-03-01T10:59:58.224878Z rank=18 task=18 sev=warning | TCPStore.cpp:125] [c10d] "
     "recv"},
    {"[Rank 6] Watchdog caught", "none rank=6 | [Rank 6] Watchdog caught"},
    {"Rank 3 [Sun Mar  1 10:59:58 2026] [c0-0c0s1n2] abort",
     "none rank=3 | Rank 3 [Sun Mar  1 10:59:58 2026] [c0-0c0s1n2] abort"},
    {"rank 3: loss 2.1", "none rank=3 | loss 2.1"},
    {"rank=3: loss 2.1", "none rank=3 | loss 2.1"},
    {"(rank 3) W0301 10:59:58.114000 30511 a/utils.py:1137] [0/0] Not",
     "yearless 1972-03-01T10:59:58.114Z rank=3 pid=30511 sev=warning | a/utils.py:1137] [0/0] Not"},
    {"2026-03-01T10:59:58.1+00:00 INFO [rank8] step=0",
     "zoned 2026-03-01T10:59:58.100Z sev=info | INFO [rank8] step=0"},
    {"2026-03-01 10:59:58.008 [rank382] WARNING:x: y",
     "zoneless 2026-03-01T10:59:58.008Z rank=382 | WARNING:x: y"},
    {"[rank0]:[main] 2026-03-01 10:59:58,000 - root - INFO - step: 10",
     "zoneless 2026-03-01T10:59:58Z rank=0 | root - INFO - step: 10"},
    {"[1,3]<stderr>: oops", "none rank=3 | oops"},
    {"[1,13]<stdout>:fine", "none rank=13 | fine"},
    {"[prterun-n1-77@1,4]<stderr>: oops", "none rank=4 | oops"},
    {"[n3:04711] *** Process received signal ***",
     "none node=n3 pid=4711 | *** Process received signal ***"},
    {"[train.py:905] Epoch 4", "none | [train.py:905] Epoch 4"},
    {"n1:4711:4720 [3] NCCL INFO Channel 00/0", "none node=n1 pid=4711 | NCCL INFO Channel 00/0"},
    {"n1:4711:4720 [-1] NCCL INFO Bootstrap", "none node=n1 pid=4711 | NCCL INFO Bootstrap"},
    {"n1.x.org:4711:4720 [3] transport/net_ib.cc:1295 NCCL WARN bad",
     "none node=n1.x.org pid=4711 | transport/net_ib.cc:1295 NCCL WARN bad"},
    {"5: n1:4711:4720 [1] NCCL WARN bad", "none node=n1 task=5 pid=4711 | NCCL WARN bad"},
    {"[2026-03-01 10:59:58] n1:4711:4720 [1] a.cc:3 NCCL WARN bad",
     "zoneless 2026-03-01T10:59:58Z node=n1 pid=4711 | a.cc:3 NCCL WARN bad"},
    {"n1:4711:4720 [3] something else", "none | n1:4711:4720 [3] something else"},
    {"(VllmWorker rank=2 pid=4123) bad", "none rank=2 pid=4123 | bad"},
    {"(Worker_TP3 pid=4123) bad", "none rank=3 pid=4123 | bad"},
    {"(Worker_PP1_TP3 pid=4123) bad", "none pid=4123 | bad"},
    {"(EngineCore_DP0 pid=500) bad", "none pid=500 | bad"},
    {"(RayTrainWorker pid=4711, ip=10.0.0.7) ready", "none node=10.0.0.7 pid=4711 | ready"},
    {"(pid=4711) ready", "none pid=4711 | ready"},
    {"(main) ready", "none | (main) ready"},
    {"0: [batch=100/250000]: Train", "none task=0 | [batch=100/250000]: Train"},
};

constexpr Row kSyslog[] = {
    {"Mar  1 10:59:58 n1 kernel: [414619.932037] NVRM: Xid",
     "yearless 1972-03-01T10:59:58Z node=n1 app=kernel kernel | NVRM: Xid"},
    {"Mar  1 10:59:58 n1 kernel: NVRM: Xid",
     "yearless 1972-03-01T10:59:58Z node=n1 app=kernel kernel | NVRM: Xid"},
    {"Mar  1 10:59:58.766941 n1 slurmd[2903]: launch task",
     "yearless 1972-03-01T10:59:58.766941Z node=n1 app=slurmd pid=2903 | launch task"},
    {"Mar 01 10:59:58 n1 systemd-logind[1490]: New session",
     "yearless 1972-03-01T10:59:58Z node=n1 app=systemd-logind pid=1490 | New session"},
    {"Mar  1 10:59:58 2026 n1 slurmd: x", "zoneless 2026-03-01T10:59:58Z node=n1 app=slurmd | x"},
    {"Mar  1 2026 10:59:58 sw1 %LINK-3: down",
     "zoneless 2026-03-01T10:59:58Z node=sw1 app=%LINK-3 | down"},
    {"2026-03-01T10:59:58.193370+01:00 n1.x.org postfix/smtpd[7]: x",
     "zoned 2026-03-01T09:59:58.193370Z node=n1.x.org app=postfix/smtpd pid=7 | x"},
    {"2026-03-01T10:59:58+00:00 n1 kernel: [   12.5] not an uptime",
     "zoned 2026-03-01T10:59:58Z node=n1 app=kernel kernel | [   12.5] not an uptime"},
    {"2026-03-01T10:59:58+00:00 n1 kernel: [   12.500000][ T4711] usb 1-1: new",
     "zoned 2026-03-01T10:59:58Z node=n1 app=kernel kernel | usb 1-1: new"},
    {"2026-03-01T10:59:58+00:00 n1 kernel: python3[27]: memfd_create()",
     "zoned 2026-03-01T10:59:58Z node=n1 app=kernel kernel | python3[27]: memfd_create()"},
    {"2026-03-01T10:59:58+0200 n1 kernel: x",
     "zoned 2026-03-01T08:59:58Z node=n1 app=kernel kernel | x"},
    {"<6>Mar  1 10:59:58 n1 kernel: x",
     "yearless 1972-03-01T10:59:58Z node=n1 app=kernel sev=info kernel | x"},
    {"<27>Mar  1 10:59:58 n1 app[3]: x",
     "yearless 1972-03-01T10:59:58Z node=n1 app=app pid=3 sev=err | x"},
    {"<34>1 2026-03-01T10:59:58.003Z n1 su 77 ID47 - failed",
     "zoned 2026-03-01T10:59:58.003Z node=n1 app=su pid=77 sev=crit | failed"},
    {"<165>1 2026-03-01T10:59:58Z n1 app - - [a@1 k=\"v\"] text",
     "zoned 2026-03-01T10:59:58Z node=n1 app=app sev=notice | text"},
    {"<2>1 2026-03-01T10:59:58Z n1 kernel - - - [  3.250000] oops",
     "zoned 2026-03-01T10:59:58Z node=n1 app=kernel sev=crit kernel | oops"},
    {"[414619.932037] NVRM: Xid",
     "uptime 1970-01-05T19:10:19.932037Z app=kernel kernel | NVRM: Xid"},
    {"[    0.000000] Command line: x",
     "uptime 1970-01-01T00:00:00Z app=kernel kernel | Command line: x"},
    {"[   12.250000] n1 kernel: NVRM: Xid",
     "uptime 1970-01-01T00:00:12.250Z node=n1 app=kernel kernel | NVRM: Xid"},
    {"[   12.250000] n1 sshd[7]: x", "uptime 1970-01-01T00:00:12.250Z node=n1 app=sshd pid=7 | x"},
    {"[   12.250000] usb 1-1: new",
     "uptime 1970-01-01T00:00:12.250Z app=kernel kernel | usb 1-1: new"},
    {"<4>[   12.250000] x", "uptime 1970-01-01T00:00:12.250Z app=kernel sev=warning kernel | x"},
    {"kern  :err   : [   12.250000] x",
     "uptime 1970-01-01T00:00:12.250Z app=kernel sev=err kernel | x"},
    {"[Sun Mar  1 10:59:58 2026] NVRM: Xid",
     "zoneless 2026-03-01T10:59:58Z app=kernel kernel | NVRM: Xid"},
    {"2026-03-01T10:59:58,123456+00:00 usb 1-1: new",
     "zoned 2026-03-01T10:59:58.123456Z app=kernel kernel | usb 1-1: new"},
    {"[2026-03-01T10:59:58.766] error: Nodes n1 not responding",
     "zoneless 2026-03-01T10:59:58.766Z | error: Nodes n1 not responding"},
    {"[2026-03-01T10:59:58.766] [77.0] done", "zoneless 2026-03-01T10:59:58.766Z | [77.0] done"},
    {"1772362798.123456 n1 kernel: x",
     "zoned 2026-03-01T10:59:58.123456Z node=n1 app=kernel kernel | x"},
    {"I0301 10:59:58.831923    3470 kubelet.go:187] \"x\"",
     "yearless 1972-03-01T10:59:58.831923Z pid=3470 sev=info | kubelet.go:187] \"x\""},
    {"Mar  1 10:59:58 n1 last message repeated 3 times",
     "yearless 1972-03-01T10:59:58Z node=n1 | last message repeated 3 times"},
    {"Mar  1 10:59:58 10.0.0.7 kernel: x",
     "yearless 1972-03-01T10:59:58Z node=10.0.0.7 app=kernel kernel | x"},
    {"Mar  1 10:59:58 n1 CRON[7]: (root) CMD (x)",
     "yearless 1972-03-01T10:59:58Z node=n1 app=CRON pid=7 | (root) CMD (x)"},
    {"free text", "none | free text"},
};

constexpr Row kDmesg[] = {
    {"[   12.250000] n1 kernel: quoted",
     "uptime 1970-01-01T00:00:12.250Z app=kernel kernel | n1 kernel: quoted"},
    {"2026-03-01T10:59:58+00:00 usb 1-1: new",
     "zoned 2026-03-01T10:59:58Z app=kernel kernel | usb 1-1: new"},
    {" continued line", "none app=kernel kernel |  continued line"},
};

}  // namespace

static void program_output_stamps(void**) { check(Source::applog, kStamps); }
static void program_output_ranks_and_nodes(void**) { check(Source::applog, kLaunchers); }
static void system_logs(void**) { check(Source::syslog, kSyslog); }
static void kernel_ring_buffers(void**) { check(Source::syslog, kDmesg, {.is_dmesg = true}); }

static void numbered_lines_of_a_program_are_no_task_labels(void**) {
  constexpr Row kRows[] = {{"3: step 7", "none | 3: step 7"}};
  check(Source::applog, kRows, {.task_labels = false});
}

static void facts_have_no_head(void**) {
  constexpr Row kRows[] = {{"3: 10:00:00 x", "none | 3: 10:00:00 x"}};
  check(Source::scheduler, kRows);
}

// Every prefix of a line is a line that may arrive.
static void cut_lines_are_read_safely(void**) {
  auto cut = [](Source source, std::span<const Row> rows) {
    for (const Row& row : rows) {
      const std::string line = row.line;
      for (std::size_t length = 0; length <= line.size(); ++length) {
        const std::string part = line.substr(0, length);  // its own allocation: ASan sees overruns
        const LineHead head = parse_head(part, source);
        assert_true(part.ends_with(head.message));
      }
    }
  };
  for (Source source : {Source::applog, Source::syslog}) {
    cut(source, kStamps);
    cut(source, kLaunchers);
    cut(source, kSyslog);
  }
}

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(program_output_stamps),
      cmocka_unit_test(program_output_ranks_and_nodes),
      cmocka_unit_test(system_logs),
      cmocka_unit_test(kernel_ring_buffers),
      cmocka_unit_test(numbered_lines_of_a_program_are_no_task_labels),
      cmocka_unit_test(facts_have_no_head),
      cmocka_unit_test(cut_lines_are_read_safely),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
