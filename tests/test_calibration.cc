// SPDX-License-Identifier: Apache-2.0
// ctest: timeout=600
// Does a confidence mean something? Every scenario is judged with all its evidence, and again
// without each of its sources: answers are put into buckets by the confidence that they state, and
// how often those of a bucket are right is compared with it. The table is printed. Answers of
// "unknown" state no cause, and are only counted.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tests/support/scenario_case.hh"
// After ours: it defines fail() as a macro.
#include "tests/cmocka.hh"

using namespace nvab;
using namespace nvab::test;

namespace {

struct Bucket {
  double from, to;  // stated confidence: from <= c < to
  int answers = 0, right = 0;
  double stated = 0;  // sum
  double mean() const { return answers == 0 ? 0 : stated / answers; }
  double observed() const { return answers == 0 ? 0 : static_cast<double>(right) / answers; }
};

// A bucket is overconfident where it is right less often than it says by more than this and by more
// than two standard deviations of such a count.
constexpr double kBound = 0.05;

std::vector<Bucket> g_buckets = {{0.35, 0.55}, {0.55, 0.70}, {0.70, 0.80},
                                 {0.80, 0.90}, {0.90, 0.95}, {0.95, 1.01}};
int g_unknown = 0;

bool print_wrong() { return std::getenv("NVAB_PRINT_WRONG") != nullptr; }

void note(const ScenarioCase& scenario, const AttributionResult& result, const char* how) {
  if (is_unknown(result)) {
    ++g_unknown;
    return;
  }
  const double stated = result.verdict.root_cause.confidence;
  const bool right = is_right(scenario, result);
  for (Bucket& bucket : g_buckets) {
    if (stated < bucket.from || stated >= bucket.to) continue;
    ++bucket.answers;
    bucket.right += right ? 1 : 0;
    bucket.stated += stated;
  }
  if (!right && print_wrong()) {
    std::printf("%.2f wrong: %s %s: %s\n", stated, scenario.name.c_str(), how,
                result.verdict.root_cause.rule.c_str());
  }
}

std::set<Source> sources_of(const ScenarioCase& scenario) {
  std::set<Source> sources;
  for (const EvidenceFile& file : scenario.files) sources.insert(file.source);
  if (!scenario.samples.empty()) sources.insert(Source::node_metrics);
  if (!scenario.tasks.empty()) sources.insert(Source::task_exits);
  return sources;
}

ScenarioCase without(ScenarioCase scenario, Source source) {
  std::erase_if(scenario.files, [&](const EvidenceFile& file) { return file.source == source; });
  if (source == Source::node_metrics) scenario.samples.clear();
  if (source == Source::task_exits) scenario.tasks.clear();
  return scenario;
}

int judge_all(void**) {
  auto rules = Ruleset::load("default", "");
  if (!rules) return 1;
  for (const ScenarioCase& scenario : load_scenarios(source_path("tests/scenarios"))) {
    note(scenario, judge(**rules, scenario), "whole");
    const std::set<Source> sources = sources_of(scenario);
    if (sources.size() < 2) continue;
    for (const Source source : sources) {
      const std::string how = "without " + std::string(to_string(source));
      note(scenario, judge(**rules, without(scenario, source)), how.c_str());
    }
  }
  return 0;
}

void no_bucket_is_overconfident(void**) {
  std::printf("%12s %8s %8s %9s\n", "confidence", "answers", "stated", "observed");
  std::string trouble;
  int answers = 0;
  for (const Bucket& bucket : g_buckets) {
    answers += bucket.answers;
    std::printf("  %.2f..%.2f %8d %8.2f %9.2f\n", bucket.from, std::min(bucket.to, 1.0),
                bucket.answers, bucket.mean(), bucket.observed());
    if (bucket.answers == 0) continue;
    const double mean = bucket.mean();
    const double deviation = std::sqrt(mean * (1 - mean) / bucket.answers);
    if (mean - bucket.observed() <= std::max(kBound, 2 * deviation)) continue;
    char line[120];
    std::snprintf(line, sizeof line, "%.2f..%.2f says %.2f and is right in %.2f of %d\n",
                  bucket.from, bucket.to, mean, bucket.observed(), bucket.answers);
    trouble += line;
  }
  std::printf("  unknown    %8d\n", g_unknown);
  assert_true(answers > 200);
  if (!trouble.empty()) fail_msg("overconfident:\n%s", trouble.c_str());
}

// One number for all answers would pass the other test and tell nobody anything.
void confidences_differ_and_higher_ones_are_right_more_often(void**) {
  int used = 0, answers = 0, most = 0;
  for (const Bucket& bucket : g_buckets) {
    used += bucket.answers > 0 ? 1 : 0;
    answers += bucket.answers;
    most = std::max(most, bucket.answers);
  }
  assert_true(used >= 5);
  assert_true(most < answers * 7 / 10);
  int low = 0, low_right = 0, high = 0, high_right = 0;
  for (const Bucket& bucket : g_buckets) {
    (bucket.from < 0.8 ? low : high) += bucket.answers;
    (bucket.from < 0.8 ? low_right : high_right) += bucket.right;
  }
  assert_true(low > 0 && high > 0);
  assert_true(static_cast<double>(high_right) / high > static_cast<double>(low_right) / low);
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(no_bucket_is_overconfident),
      cmocka_unit_test(confidences_differ_and_higher_ones_are_right_more_often),
  };
  return cmocka_run_group_tests(tests, judge_all, nullptr);
}
