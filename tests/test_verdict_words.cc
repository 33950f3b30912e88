// SPDX-License-Identifier: Apache-2.0
// ctest: timeout=300
// What a person reads of a verdict: for every scenario the explanation is a sentence with every
// name filled in, every alternative says why not, the steps of the confidence lead to it, and
// progress and the work lost are there where the evidence has them, and possible.
#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "common/base/text.hh"
#include "tests/support/scenario_case.hh"
// After ours: it defines fail() as a macro.
#include "tests/cmocka.hh"

using namespace nvab;
using namespace nvab::test;

namespace {

struct Judged {
  const ScenarioCase* scenario;
  AttributionResult result;
};
std::vector<ScenarioCase> g_scenarios;
std::vector<Judged> g_judged;

// Fails with a list of all scenarios that `trouble_of` finds something in.
template <typename TroubleOf>
void all_are(TroubleOf trouble_of) {
  std::string trouble;
  for (const Judged& judged : g_judged) {
    const std::string what = trouble_of(*judged.scenario, judged.result.verdict);
    if (!what.empty()) trouble += "  " + judged.scenario->name + ": " + what + "\n";
  }
  // cmocka cuts long messages.
  if (trouble.empty()) return;
  print_message("%s", trouble.c_str());
  fail_msg("see above");
}

// A sentence that somebody can read who knows neither rules nor engine.
std::string sentence_trouble(const std::string& text) {
  constexpr std::size_t kShortest = 15, kLongest = 700;
  if (text.size() < kShortest) return "too short: " + text;
  if (text.size() > kLongest) return "too long: " + text;
  if (std::string_view(".!?").find(text.back()) == std::string_view::npos)
    return "no whole sentence: " + text;
  if (text.find_first_of("{}") != std::string::npos) return "a name is not filled in: " + text;
  for (const char* hole : {" ? ", " ?.", " ?,", " ?:", "?'s", "  "}) {
    if (text.find(hole) != std::string::npos) return "a hole in: " + text;
  }
  return {};
}

void explanations_are_sentences(void**) {
  all_are([](const ScenarioCase&, const Verdict& verdict) {
    if (verdict.outcome == "unknown") return std::string();
    return sentence_trouble(verdict.root_cause.explanation);
  });
}

void summaries_are_sentences(void**) {
  all_are([](const ScenarioCase&, const Verdict& verdict) {
    return sentence_trouble(verdict.advice.summary);
  });
}

void alternatives_say_why_not(void**) {
  int alternatives = 0;
  all_are([&](const ScenarioCase&, const Verdict& verdict) -> std::string {
    for (const Alternative& other : verdict.alternatives) {
      ++alternatives;
      if (other.id.empty()) return "an alternative without id";
      if (other.why_not.size() < 10) return other.id + ": no reason why not";
      const bool elsewhere = other.why_not.starts_with("on ");
      if (other.id == verdict.root_cause.id && !elsewhere) return other.id + " is the cause itself";
      if (other.confidence > verdict.root_cause.confidence && verdict.outcome != "unknown") {
        return other.id + " is surer than the cause";
      }
    }
    return {};
  });
  print_message("%d alternatives\n", alternatives);
  assert_true(alternatives > 10);
}

void the_steps_of_a_confidence_lead_to_it(void**) {
  all_are([](const ScenarioCase&, const Verdict& verdict) -> std::string {
    if (verdict.outcome == "unknown") return {};
    const auto& steps = verdict.root_cause.confidence_steps;
    if (steps.empty()) return "no steps";
    for (const ConfidenceStep& step : steps) {
      if (step.why.empty()) return "a step without reason";
      if (step.confidence < 0 || step.confidence > 1) return "a step to " + step.why;
    }
    const double last = std::min(0.99, steps.back().confidence);
    if (std::abs(last - verdict.root_cause.confidence) > 0.0051) return "the last step is another";
    return {};
  });
}

void progress_is_possible(void**) {
  int steps = 0, checkpoints = 0, lost = 0;
  all_are([&](const ScenarioCase& scenario, const Verdict& verdict) -> std::string {
    const Progress& progress = verdict.progress;
    const ExecutionContext& c = scenario.context;
    constexpr Duration kSlack = std::chrono::minutes(2);
    steps += progress.last_step ? 1 : 0;
    checkpoints += progress.last_checkpoint_time ? 1 : 0;
    lost += progress.lost_gpu_hours ? 1 : 0;
    for (const auto& time : {progress.last_step_time, progress.last_checkpoint_time}) {
      if (time && c.start_time && *time < *c.start_time - kSlack) return "a time before the job";
      if (time && c.end_time && *time > *c.end_time + kSlack) return "a time after the job";
    }
    if (progress.last_step && *progress.last_step < 0) return "a step below 0";
    const bool known = c.start_time && c.end_time && c.gpus_per_node.value_or(0) > 0;
    if (!known || verdict.outcome == "success") return {};
    if (!progress.lost_gpu_hours) return "no GPU hours";
    const double gpus = static_cast<double>(c.nodes.size()) * *c.gpus_per_node;
    const double all = to_seconds(*c.end_time - *c.start_time) / 3600 * gpus;
    if (*progress.lost_gpu_hours < 0) return "negative GPU hours";
    if (*progress.lost_gpu_hours > all + 0.1) return "more GPU hours lost than used";
    if (progress.last_checkpoint_time && *progress.last_checkpoint_time > *c.start_time &&
        all > 1 && *progress.lost_gpu_hours > all - 0.05) {
      return "the checkpoint saved nothing";
    }
    return {};
  });
  print_message("%d with a step, %d with a checkpoint, %d with GPU hours\n", steps, checkpoints,
                lost);
  assert_true(steps > 80 && checkpoints > 0 && lost > 100);
}

// 16 GPUs from the last checkpoint that was saved to the end, and the step that was printed last.
void the_work_lost_is_since_the_last_checkpoint(void**) {
  for (const Judged& judged : g_judged) {
    if (judged.scenario->name != "demo") continue;
    const Progress& progress = judged.result.verdict.progress;
    const ExecutionContext& c = judged.scenario->context;
    assert_string_equal(format_rfc3339(*progress.last_checkpoint_time).c_str(),
                        "2026-06-11T05:22:53Z");
    const double gpus = static_cast<double>(c.nodes.size()) * *c.gpus_per_node;
    const double hours = to_seconds(*c.end_time - *progress.last_checkpoint_time) / 3600;
    assert_true(std::abs(*progress.lost_gpu_hours - hours * gpus) < 0.06);
    assert_true(*progress.last_step > 24'000);
    return;
  }
  fail_msg("there is no demo");
}

int judge_all(void**) {
  auto rules = Ruleset::load("default", "");
  if (!rules) return 1;
  g_scenarios = load_scenarios(source_path("tests/scenarios"));
  for (const ScenarioCase& scenario : g_scenarios) {
    g_judged.push_back({&scenario, judge(**rules, scenario)});
  }
  return g_judged.size() > 100 ? 0 : 1;
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(explanations_are_sentences),
      cmocka_unit_test(summaries_are_sentences),
      cmocka_unit_test(alternatives_say_why_not),
      cmocka_unit_test(the_steps_of_a_confidence_lead_to_it),
      cmocka_unit_test(progress_is_possible),
      cmocka_unit_test(the_work_lost_is_since_the_last_checkpoint),
  };
  return cmocka_run_group_tests(tests, judge_all, nullptr);
}
