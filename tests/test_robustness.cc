// SPDX-License-Identifier: Apache-2.0
// ctest: timeout=900
// The answer must not hang on accidents of delivery: what is right with all the evidence stays
// right, or becomes "unknown" when what decided is gone, but never turns into another answer. Each
// scenario is judged again with its evidence shuffled, doubled, shifted, cut, thinned and drowned
// in noise.
#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "common/base/text.hh"
#include "tests/support/scenario_case.hh"
// After ours: it defines fail() as a macro.
#include "tests/cmocka.hh"

using namespace nvab;
using namespace nvab::test;

namespace {

std::unique_ptr<Ruleset> g_rules;
std::vector<ScenarioCase> g_scenarios;  // those that are right undisturbed
std::vector<Source> g_decisive;         // where the root of each was seen

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines = split(text, '\n');
  if (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

std::string joined(const std::vector<std::string_view>& lines) {
  std::string text;
  for (const std::string_view line : lines) (text += line) += '\n';
  return text;
}

Source decisive_source(const AttributionResult& result) {
  for (const TimelineItem& item : result.verdict.timeline) {
    if (item.rule != result.verdict.root_cause.rule) continue;
    if (const auto source =
            source_from(item.origin.stream.substr(0, item.origin.stream.find('/')))) {
      return *source;
    }
    return item.origin.stream.starts_with("metrics/") ? Source::node_metrics : Source::scheduler;
  }
  return Source::scheduler;
}

// Half of a pair of look-alikes: without what decides, what is left is just what the other half
// leaves, and the likelier of the two is the answer that anybody would give.
constexpr std::pair<std::string_view, std::string_view> kLookAlikes[] = {
    {"fabric-link-down-hang-to-limit", "without its output nothing says that the job had stopped"},
    {"gpu-illegal-access-caused-by-dbe", "an illegal access without a kernel log is the program's"},
    {"gpu-lost-without-xid-nvidia-smi",
     "a fatal error's banner without its message is the program's"},
    {"storage-nfs-hiccup-then-user-error",
     "without the error, a server that does not answer is why"},
    {"storage-nfs-trouble-elsewhere", "without the error, a server that does not answer is why"},
    {"gpu-same-sm-over-requeues", "one misaligned access without a kernel log is the program's"},
    {"limit-slowed-by-one-throttled-gpu", "without its output nothing says that it became slower"},
    {"app-heap-corruption-at-exit-after-success",
     "without its last lines an abort is the program's"},
};

bool is_look_alike(const std::string& name) {
  return std::any_of(std::begin(kLookAlikes), std::end(kLookAlikes),
                     [&](const auto& pair) { return pair.first == name; });
}

// With part of the evidence gone some of the culprits may be gone, but no other may come.
bool is_part_of_right(const ScenarioCase& scenario, AttributionResult result) {
  if (result.verdict.culprits.nodes.empty()) return false;
  const std::vector<std::string> labelled = strings_of(scenario.label.get("culprit_nodes"));
  for (const std::string& node : result.verdict.culprits.nodes) {
    if (std::find(labelled.begin(), labelled.end(), node) == labelled.end()) return false;
  }
  result.verdict.culprits.nodes = labelled;
  return is_right(scenario, result);
}

// Judges every scenario after `change` and fails with the list of those that turned wrong.
template <typename Change>
void stays_right_or_unknown(Change change, bool evidence_is_cut = false) {
  std::string wrong;
  for (std::size_t i = 0; i < g_scenarios.size(); ++i) {
    ScenarioCase changed = g_scenarios[i];
    const Delivery delivery = change(&changed, i);
    const AttributionResult result = judge(*g_rules, changed, delivery);
    if (is_right(changed, result) || is_unknown(result)) continue;
    if (evidence_is_cut && (is_part_of_right(changed, result) || is_look_alike(changed.name)))
      continue;
    wrong += "  " + changed.name + ": " + std::string(to_string(result.sub_domain)) + " by " +
             result.verdict.root_cause.rule + "\n";
  }
  if (!wrong.empty()) fail_msg("turned wrong:\n%s", wrong.c_str());
}

void in_the_other_order(void**) {
  stays_right_or_unknown([](ScenarioCase* c, std::size_t) {
    std::reverse(c->files.begin(), c->files.end());
    return Delivery{.entry = {}, .backwards = true};
  });
}

void with_system_logs_delivered_twice(void**) {
  stays_right_or_unknown([](ScenarioCase* c, std::size_t) {
    for (EvidenceFile& file : c->files) {
      if (file.source != Source::syslog) continue;
      std::vector<std::string_view> doubled;
      for (const std::string_view line : lines_of(file.text))
        doubled.insert(doubled.end(), 2, line);
      file.text = joined(doubled);
    }
    return Delivery{};
  });
}

void with_every_file_in_two_places(void**) {
  stays_right_or_unknown([](ScenarioCase* c, std::size_t) {
    const std::vector<EvidenceFile> files = c->files;
    for (const EvidenceFile& file : files) {
      const std::size_t slash = file.name.find('/') + 1;
      c->files.push_back(
          {file.source, file.name.substr(0, slash) + "copy/" + file.name.substr(slash), file.text});
    }
    return Delivery{};
  });
}

void with_system_logs_out_of_order(void**) {
  stays_right_or_unknown([](ScenarioCase* c, std::size_t) {
    // A relay that sends in batches: neighbours change places. Dated lines need no order.
    for (EvidenceFile& file : c->files) {
      if (file.source != Source::syslog) continue;
      std::vector<std::string_view> lines = lines_of(file.text);
      const bool blocks = file.text.find("Call Trace") != std::string::npos;
      for (std::size_t i = 0; !blocks && i + 1 < lines.size(); i += 2)
        std::swap(lines[i], lines[i + 1]);
      file.text = joined(lines);
    }
    return Delivery{};
  });
}

void shift_a_clock(Duration by, std::size_t which) {
  stays_right_or_unknown([&](ScenarioCase* c, std::size_t) {
    const auto& nodes = c->context.nodes;
    const std::string node = nodes.empty() ? "" : nodes[which % nodes.size()];
    return Delivery{.entry =
                        [=](LogEntry& entry, Source source) {
                          const bool its = entry.node.substr(0, entry.node.find('.')) ==
                                           node.substr(0, node.find('.'));
                          if (source == Source::syslog && its && entry.timestamp)
                            *entry.timestamp += by;
                          return true;
                        },
                    .backwards = false};
  });
}

void with_a_clock_ten_seconds_fast(void**) { shift_a_clock(std::chrono::seconds(10), 0); }
void with_a_clock_ten_seconds_slow(void**) { shift_a_clock(std::chrono::seconds(-10), 1); }

void cut_lines(bool head) {
  constexpr std::size_t kKept = 85;  // percent
  stays_right_or_unknown(
      [&](ScenarioCase* c, std::size_t) {
        for (EvidenceFile& file : c->files) {
          std::vector<std::string_view> lines = lines_of(file.text);
          const std::size_t gone = lines.size() * (100 - kKept) / 100;
          const auto begin = lines.begin() + static_cast<long>(head ? gone : 0);
          file.text = joined({begin, begin + static_cast<long>(lines.size() - gone)});
        }
        return Delivery{};
      },
      true);
}

void without_the_heads_of_the_logs(void**) { cut_lines(true); }
void without_the_tails_of_the_logs(void**) { cut_lines(false); }

void drop(Source source) {
  stays_right_or_unknown(
      [&](ScenarioCase* c, std::size_t i) {
        if (g_decisive[i] == source) return Delivery{};
        std::erase_if(c->files, [&](const EvidenceFile& file) { return file.source == source; });
        if (source == Source::node_metrics) c->samples.clear();
        if (source == Source::task_exits) c->tasks.clear();
        return Delivery{};
      },
      true);
}

void without_system_logs(void**) { drop(Source::syslog); }
void without_program_output(void**) { drop(Source::applog); }
void without_metrics(void**) { drop(Source::node_metrics); }
void without_task_records(void**) { drop(Source::task_exits); }

// What every healthy system says all day.
std::string benign_lines(std::size_t count, const std::string& node, Time from) {
  constexpr std::string_view kSaid[] = {
      "systemd[1]: Started Session 4711 of user root.",
      "kernel: perf: interrupt took too long (2511 > 2500), lowering "
      "kernel.perf_event_max_sample_rate to 79500",
      "CRON[20011]: (root) CMD (test -x /usr/sbin/anacron || run-parts --report /etc/cron.daily)",
      "sshd[991]: Connection closed by 192.0.2.7 port 50122 [preauth]",
      "kernel: IPv6: ADDRCONF(NETDEV_CHANGE): veth1f2e3d: link becomes ready",
      "chronyd[811]: Selected source 192.0.2.1",
      "dbus-daemon[700]: [system] Successfully activated service 'org.freedesktop.hostname1'",
  };
  std::string text;
  text.reserve(count * 120);
  for (std::size_t i = 0; i < count; ++i) {
    text += format_rfc3339(from + std::chrono::milliseconds(10 * i)) + ' ' + node + ' ';
    (text += kSaid[i % std::size(kSaid)]) += '\n';
  }
  return text;
}

void among_a_hundred_thousand_benign_lines(void**) {
  constexpr std::size_t kLines = 100'000;
  stays_right_or_unknown([&](ScenarioCase* c, std::size_t) {
    const std::string node = c->context.nodes.empty() ? "n1" : c->context.nodes.front();
    const Time from = c->context.start_time.value_or(Time{});
    c->files.push_back({Source::syslog, "syslog/noise.log", benign_lines(kLines, node, from)});
    return Delivery{};
  });
}

void keep_the_right_ones(std::vector<ScenarioCase> all) {
  for (ScenarioCase& scenario : all) {
    const AttributionResult result = judge(*g_rules, scenario);
    if (!is_right(scenario, result) || is_unknown(result)) continue;
    g_decisive.push_back(decisive_source(result));
    g_scenarios.push_back(std::move(scenario));
  }
}

}  // namespace

int main() {
  auto rules = Ruleset::load("default", "");
  if (!rules) {
    std::fprintf(stderr, "%s\n", rules.error().message.c_str());
    return 1;
  }
  g_rules = std::move(*rules);
  keep_the_right_ones(load_scenarios(source_path("tests/scenarios")));
  std::printf("%zu scenarios\n", g_scenarios.size());
  if (g_scenarios.empty()) return 1;
  const CMUnitTest tests[] = {
      cmocka_unit_test(in_the_other_order),
      cmocka_unit_test(with_system_logs_delivered_twice),
      cmocka_unit_test(with_every_file_in_two_places),
      cmocka_unit_test(with_system_logs_out_of_order),
      cmocka_unit_test(with_a_clock_ten_seconds_fast),
      cmocka_unit_test(with_a_clock_ten_seconds_slow),
      cmocka_unit_test(without_the_heads_of_the_logs),
      cmocka_unit_test(without_the_tails_of_the_logs),
      cmocka_unit_test(without_system_logs),
      cmocka_unit_test(without_program_output),
      cmocka_unit_test(without_metrics),
      cmocka_unit_test(without_task_records),
      cmocka_unit_test(among_a_hundred_thousand_benign_lines),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
