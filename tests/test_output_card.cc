// SPDX-License-Identifier: Apache-2.0
// The card: layout in columns, what it shows of a result, and that nothing hostile reaches a
// terminal.
#include <cstring>

#include "common/base/text.hh"
#include "epilog/output/text_card.hh"
#include "epilog/output/text_layout.hh"
#include "tests/cmocka.hh"

using namespace nvab;

namespace {

void wide_and_combining_characters_count_their_columns(void**) {
  assert_int_equal(columns_of("abc"), 3);
  assert_int_equal(columns_of("日本"), 4);
  assert_int_equal(columns_of("e\xcc\x81"), 1);
  assert_int_equal(columns_of("…"), 1);
}

void a_cut_text_fits_and_says_so(void**) {
  assert_string_equal(cut_to("hello world", 11).c_str(), "hello world");
  assert_string_equal(cut_to("hello world", 8).c_str(), "hello w…");
  assert_string_equal(cut_to("日本語", 4).c_str(), "日…");
  assert_string_equal(cut_to("a\nb", 5).c_str(), "a b");
  assert_string_equal(cut_to("abc", 0).c_str(), "");
}

void lines_break_at_spaces_and_in_long_words(void**) {
  const auto lines = wrap("one two  three abcdefghijkl", 8);
  assert_int_equal(lines.size(), 4);
  assert_string_equal(lines[0].c_str(), "one two");
  assert_string_equal(lines[1].c_str(), "three");
  assert_string_equal(lines[2].c_str(), "abcdefgh");
  assert_string_equal(lines[3].c_str(), "ijkl");
}

AttributionResult sample_result() {
  AttributionResult result;
  ExecutionContext& context = result.context;
  context.scheduler = "slurm";
  context.job_id = "5150";
  context.name = "weather";
  context.user = "ines";
  context.state = "FAILED";
  context.exit_code = ExitCode{1, 0};
  context.start_time = parse_rfc3339("2026-05-02T10:00:00Z");
  context.end_time = parse_rfc3339("2026-05-02T12:30:00Z");
  context.nodes = {"ant1", "ant2", "ant3"};
  Verdict& verdict = result.verdict;
  verdict.outcome = "gpu_lost";
  verdict.root_cause = {"xid_79",
                        "GPU fell off the PCIe bus",
                        "gpu.xid.79",
                        0.97,
                        parse_rfc3339("2026-05-02T12:20:01.5Z"),
                        "GPU 3 of ant2 dropped off the PCIe bus (Xid 79).",
                        {{"strength of gpu.xid.79", 0.95}, {"other sources tell the same", 0.97}}};
  verdict.shadow = {{"site.x", "root", "gpu_lost", 2, std::nullopt, "ant2", 3, "a line of it", {}}};
  verdict.culprits.nodes = {"ant2"};
  verdict.culprits.gpus = {{"ant2", 3, "0000:61:00.0", ""}};
  verdict.first_failing_rank = 11;
  verdict.advice = {Action::requeue_exclude_nodes,
                    {"ant2"},
                    {{"ant2", "nvab:gpu_hardware:gpu3:gpu.xid.79:5150", 0.97}},
                    "Submit the job again without ant2."};
  verdict.progress.last_step = 5120;
  TimelineItem root;
  root.time = verdict.root_cause.time;
  root.node = "ant2";
  root.role = "root";
  root.rule = "gpu.xid.79";
  root.text = "NVRM: Xid (PCI:0000:61:00): 79, GPU has fallen off the bus.";
  root.origin = {"syslog/ant2.log", 42, 1000};
  TimelineItem victim = root;
  victim.time = parse_rfc3339("2026-05-02T12:30:00Z");
  victim.node = "ant1";
  victim.rank = 2;
  victim.role = "cascade";
  victim.rule = "nccl.watchdog_timeout";
  victim.text = "Watchdog caught collective operation timeout";
  victim.caused_by = 0;
  TimelineItem dropped = victim;
  dropped.rule = "user.python";
  dropped.text = "EvilText";
  dropped.mark = "outside_window";
  dropped.caused_by.reset();
  verdict.timeline = {root, victim, dropped};
  verdict.victims = {15, 1, {{"nccl.watchdog_timeout", 15}}};
  verdict.alternatives = {{"nccl_timeout", SubDomain::network_fabric, 0.02, "it came after"}};
  result.terminal_state = TerminalState::failed;
  result.sub_domain = SubDomain::gpu_hardware;
  result.domain = Domain::infrastructure;
  result.connector_reports = {{"log.file.sys",
                               Source::syslog,
                               ConnectorStatus::denied,
                               "/var/log: permission denied",
                               0,
                               0,
                               {}}};
  return result;
}

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

void the_card_says_what_who_how_sure_and_what_to_do(void**) {
  const std::string card = text_card(sample_result(), {80, false, false});
  for (const char* part :
       {"job 5150 · weather · ines", "failed 1:0 after 2h 30m on 3 nodes",
        "GPU fell off the PCIe bus", "confidence 97%", "node ant2", "GPU 3 (0000:61:00.0)",
        "rank 11 failed first", "12:20:01.5", "syslog/ant2.log:42", "15 × nccl.watchdog_timeout",
        "Submit the job again without ant2.", "sbatch --exclude=ant2 SCRIPT",
        "scontrol update NodeName=ant2 State=DRAIN Reason=\"nvab:gpu_hardware:gpu3:",
        "log.file.sys: /var/log: permission denied (denied)"}) {
    if (!has(card, part)) fail_msg("'%s' is missing in\n%s", part, card.c_str());
  }
  assert_false(has(card, "EvilText"));  // what was dropped is for --explain
}

void explaining_adds_the_chain_the_dropped_and_the_alternatives(void**) {
  const std::string card = text_card(sample_result(), {80, false, true});
  for (const char* part :
       {"because of #1", "dropped: outside_window", "EvilText", "0.97 other sources tell the same",
        "site.x (root, 2 times): a line of it",
        "nccl_timeout (network_fabric, 2%): it came after"}) {
    if (!has(card, part)) fail_msg("'%s' is missing in\n%s", part, card.c_str());
  }
}

void no_line_but_a_command_is_wider_than_asked_for(void**) {
  AttributionResult result = sample_result();
  result.verdict.root_cause.explanation = std::string(300, 'x');
  result.verdict.timeline[0].text = std::string(300, 'y');
  result.verdict.timeline[0].origin.stream = std::string(300, 'z');
  result.context.name = std::string(300, 'n');
  result.verdict.root_cause.title =
      "a title that is much longer than any line of the card is wide,"
      " so that it has to be broken into two of them";
  for (const int width : {60, 80, 133}) {
    const std::string card = text_card(result, {width, false, true});
    for (const std::string_view line : split(card, '\n')) {
      if (has(std::string(line), "scontrol") || has(std::string(line), "sbatch")) continue;
      if (columns_of(line) > static_cast<std::size_t>(width)) {
        fail_msg("wider than %d: %.*s", width, static_cast<int>(line.size()), line.data());
      }
    }
  }
}

void colours_are_there_only_when_asked_for(void**) {
  assert_false(has(text_card(sample_result(), {80, false, true}), "\x1b"));
  assert_true(has(text_card(sample_result(), {80, true, false}), "\x1b[1;31m"));
}

void hostile_text_stays_text(void**) {
  AttributionResult result = sample_result();
  result.context.name =
      "a\x1b]0;owned\x07"
      "b";
  result.verdict.timeline[0].text = "x\x1b[2Jy\nz\r";
  result.verdict.advice.exclude_nodes = {"n1;rm -rf"};
  result.verdict.advice.drain[0].node = "n2$(x)";
  const std::string card = text_card(result, {80, false, true});
  assert_false(has(card, "\x1b"));
  assert_false(has(card, "\r"));
  assert_false(has(card, "--exclude"));  // nothing to paste that a shell would take apart
  assert_false(has(card, "scontrol"));
}

void an_empty_result_is_still_a_card(void**) {
  const std::string card = text_card(AttributionResult{}, {10, false, true});
  assert_true(has(card, "evidence  none"));
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(wide_and_combining_characters_count_their_columns),
      cmocka_unit_test(a_cut_text_fits_and_says_so),
      cmocka_unit_test(lines_break_at_spaces_and_in_long_words),
      cmocka_unit_test(the_card_says_what_who_how_sure_and_what_to_do),
      cmocka_unit_test(explaining_adds_the_chain_the_dropped_and_the_alternatives),
      cmocka_unit_test(no_line_but_a_command_is_wider_than_asked_for),
      cmocka_unit_test(colours_are_there_only_when_asked_for),
      cmocka_unit_test(hostile_text_stays_text),
      cmocka_unit_test(an_empty_result_is_still_a_card),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
