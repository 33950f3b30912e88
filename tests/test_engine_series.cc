// SPDX-License-Identifier: Apache-2.0
// Metric rules over one series, and that the points that are kept of it tell them the same.
#include "common/engine/extract/series.hh"

#include <cstring>
#include <random>

#include "common/engine/event.hh"
#include "common/engine/extract/extractor.hh"
#include "tests/cmocka.hh"

using namespace nvab;

namespace {

std::unique_ptr<Ruleset> g_rules;

constexpr Time kStart = Time(std::chrono::seconds(1767225600));
constexpr Duration kStep = std::chrono::seconds(15);

ExecutionContext job(int minutes) {
  ExecutionContext context;
  context.start_time = kStart;
  context.end_time = kStart + std::chrono::minutes(minutes);
  context.nodes = {"n1"};
  return context;
}

// The first point lies `lead` steps before the job.
MetricSeries series_of(std::string name, const std::vector<double>& values, int lead = 2) {
  MetricSeries series;
  series.name = std::move(name);
  series.labels = {{"Hostname", "n1"}, {"gpu", "3"}, {"device", "nvidia3"}};
  series.node = "n1";
  for (std::size_t i = 0; i < values.size(); ++i) {
    series.points.push_back({kStart + (static_cast<int>(i) - lead) * kStep, values[i]});
  }
  return series;
}

std::string events_of(const MetricSeries& series, const std::vector<MetricPoint>& points,
                      const ExecutionContext& context) {
  std::vector<MetricSample> samples;
  for (const MetricPoint& point : points) samples.push_back(series.sample(point));
  std::vector<Event> events;
  extract_series(*g_rules, samples, context, &events);
  std::string text;
  for (const Event& event : events) {
    text += event.rule->id + " " + event.text + " " + format_rfc3339(*event.time);
    if (event.not_before) text += " after " + format_rfc3339(*event.not_before);
    text += " value " + std::string(event.capture("value")) + "\n";
  }
  return text;
}

std::string judge(const MetricSeries& series, const ExecutionContext& context) {
  const std::string all = events_of(series, series.points, context);
  const auto needed = needed_points(*g_rules, series, context, false);
  assert_string_equal(events_of(series, needed, context).c_str(), all.c_str());
  assert_int_equal(needed.empty(), all.empty());
  const auto part = needed_points(*g_rules, series, context, true);
  assert_string_equal(events_of(series, part, context).c_str(), all.c_str());
  return all;
}

void a_sticky_gauge_counts_where_it_changes_in_the_job(void**) {
  const auto text = judge(series_of("DCGM_FI_DEV_XID_ERRORS", {0, 0, 0, 79, 79, 79}), job(1));
  assert_string_equal(text.c_str(),
                      "gpu.dcgm.xid.lost DCGM_FI_DEV_XID_ERRORS 0 -> 79 2026-01-01T00:00:15Z after "
                      "2026-01-01T00:00:00Z value 79\n");
  // From before the job, and of a job before.
  assert_string_equal(judge(series_of("DCGM_FI_DEV_XID_ERRORS", {79, 79, 79, 79}), job(1)).c_str(),
                      "");
  assert_string_equal(judge(series_of("DCGM_FI_DEV_XID_ERRORS", {0, 79, 79, 79}), job(1)).c_str(),
                      "");
  // The first sample of a series says nothing of when.
  assert_string_equal(judge(series_of("DCGM_FI_DEV_XID_ERRORS", {79, 79}, -2), job(1)).c_str(), "");
}

void a_counter_that_starts_again_grows_by_what_it_shows(void**) {
  const auto text =
      judge(series_of("DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", {7, 7, 7, 0, 0, 2, 2}), job(1));
  assert_non_null(strstr(text.c_str(), "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL +2 2026-01-01T00:00:45Z"));
  assert_string_equal(
      judge(series_of("DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", {7, 7, 7, 0, 0, 0}), job(1)).c_str(), "");
}

void a_threshold_must_hold(void**) {
  const auto text =
      judge(series_of("DCGM_FI_DEV_GPU_TEMP", {60, 60, 93, 94, 93, 95, 93, 60}), job(5));
  assert_non_null(strstr(text.c_str(), "DCGM_FI_DEV_GPU_TEMP 93 2026-01-01T00:00:00Z"));
  assert_string_equal(
      judge(series_of("DCGM_FI_DEV_GPU_TEMP", {60, 60, 93, 94, 60, 95, 93, 60}), job(5)).c_str(),
      "");
}

void what_no_rule_reads_is_not_needed(void**) {
  assert_true(metric_tests(*g_rules, "some_other_metric").empty());
  assert_false(metric_tests(*g_rules, "DCGM_FI_DEV_XID_ERRORS").empty());
  assert_string_equal(judge(series_of("some_other_metric", {1, 2, 3}), job(1)).c_str(), "");
}

void noise_is_left_out(void**) {
  std::vector<double> growing;
  for (int i = 0; i < 2000; ++i) growing.push_back(i * 1000.0);
  const auto series = series_of("DCGM_FI_DEV_THERMAL_VIOLATION", growing);
  const ExecutionContext context = job(600);
  assert_non_null(strstr(judge(series, context).c_str(), "THERMAL_VIOLATION +"));
  assert_true(needed_points(*g_rules, series, context, false).size() < 12);
}

void random_series_give_the_same_events(void**) {
  std::mt19937 random(7);
  const auto pick = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  constexpr const char* kNames[] = {"DCGM_FI_DEV_XID_ERRORS",
                                    "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL",
                                    "DCGM_FI_DEV_GPU_TEMP",
                                    "DCGM_FI_DEV_ROW_REMAP_FAILURE",
                                    "node_memory_MemAvailable_bytes",
                                    "DCGM_FI_DEV_PCIE_REPLAY_COUNTER",
                                    "node_infiniband_physical_state_id",
                                    "node_procs_blocked",
                                    "DCGM_FI_DEV_THERMAL_VIOLATION"};
  constexpr double kValues[] = {0, 1, 2, 3, 5, 31, 79, 90, 93, 100, 400, 1e6, 3e6, 1e9};
  int with_events = 0;
  for (int round = 0; round < 4000; ++round) {
    std::vector<double> values;
    for (int i = 0, n = 1 + pick(60); i < n; ++i) {
      const double last = values.empty() ? 0 : values.back();
      const int what = pick(8);
      values.push_back(what < 4   ? last
                       : what < 6 ? last + pick(50)
                                  : kValues[pick(std::size(kValues))]);
    }
    const auto text =
        judge(series_of(kNames[round % std::size(kNames)], values, pick(8)), job(pick(12)));
    with_events += text.empty() ? 0 : 1;
  }
  assert_true(with_events > 500);
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
      cmocka_unit_test(a_sticky_gauge_counts_where_it_changes_in_the_job),
      cmocka_unit_test(a_counter_that_starts_again_grows_by_what_it_shows),
      cmocka_unit_test(a_threshold_must_hold),
      cmocka_unit_test(what_no_rule_reads_is_not_needed),
      cmocka_unit_test(noise_is_left_out),
      cmocka_unit_test(random_series_give_the_same_events),
  };
  return cmocka_run_group_tests(tests, load_rules, drop_rules);
}
