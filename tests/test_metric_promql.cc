// SPDX-License-Identifier: Apache-2.0
// PromQL without a server: what is asked, and what is made of answers. With one: test_promql.sh.
#include <cstring>

#include "common/engine/extract/series.hh"
#include "epilog/metric/promql_answer.hh"
#include "epilog/metric/promql_fetch.hh"
#include "epilog/metric/promql_queries.hh"
#include "tests/cmocka.hh"

using namespace nvab;

namespace {

std::unique_ptr<Ruleset> g_rules;

PromqlSettings plain() {
  PromqlSettings settings;
  settings.node_label = "instance";
  settings.dcgm_label = "Hostname";
  settings.amd_label = "hostname";
  settings.suffix = "([.][^:]*)?(:[0-9]+)?";
  return settings;
}

// The query for a metric; not the one that only asks who is there.
PromqlQuery query_for(const PromqlSettings& settings, std::string_view name) {
  const auto queries = promql_queries(settings, *g_rules);
  assert_true(queries.has_value());
  for (const PromqlQuery& query : *queries) {
    if (query.name == name && !query.is_presence) return query;
  }
  return {};
}

const std::vector<std::string> kNodes = {"n1", "n2", "gpu-a.b-17.site.org"};

void servers_leave_out_where_nothing_happened(void**) {
  const auto gauge = query_for(plain(), "DCGM_FI_DEV_XID_ERRORS");
  assert_string_equal(
      render_promql(gauge.text, kNodes, std::chrono::hours(1)).c_str(),
      "DCGM_FI_DEV_XID_ERRORS{Hostname=~\"(?:gpu-a|n(?:1|2))([.][^:]*)?(:[0-9]+)?\"} and "
      "(changes(DCGM_FI_DEV_XID_ERRORS{Hostname=~\"(?:gpu-a|n(?:1|2))([.][^:]*)?(:[0-9]+)?\"}"
      "[3600s] @ end()) > 0)");
  const auto low = query_for(plain(), "node_memory_MemAvailable_bytes");
  assert_non_null(std::strstr(low.text.c_str(), "min_over_time("));
  assert_non_null(std::strstr(low.text.c_str(), " <= 536870912"));
  // One metric, two rules.
  const auto both = query_for(plain(), "DCGM_FI_DEV_ROW_REMAP_FAILURE");
  assert_non_null(std::strstr(both.text.c_str(), "changes("));
  assert_non_null(std::strstr(both.text.c_str(), ") >= 0.5"));
  // No rule looks at it.
  assert_string_equal(query_for(plain(), "DCGM_FI_DEV_POWER_USAGE").text.c_str(), "");
}

void every_metric_that_a_rule_names_is_asked_for(void**) {
  const auto queries = promql_queries(plain(), *g_rules);
  assert_true(queries.has_value());
  for (const Rule& rule : g_rules->rules()) {
    if (!rule.metric) continue;
    for (const std::string& name : rule.metric->names) {
      bool found = false;
      for (const PromqlQuery& query : *queries) {
        found |= query.name == name || (name.find('*') != name.npos && !query.name.empty() &&
                                        query.name.starts_with(name.substr(0, name.find('*'))));
      }
      if (!found) print_error("no query for %s\n", name.c_str());
      assert_true(found);
    }
  }
  for (const ShippedMetric& metric : shipped_metrics()) {
    const std::string all = "|" + std::string(shipped_groups()) + "|";
    assert_true(all.find("|" + std::string(metric.group) + "|") != all.npos);
  }
}

void settings_shape_the_queries(void**) {
  PromqlSettings settings = plain();
  settings.groups = {"network"};
  settings.matchers = "cluster=\"a\",job=~\"node.*\"";
  settings.node_label = "nodename";
  const auto query = query_for(settings, "node_network_carrier_changes_total");
  assert_string_equal(
      query.whole.c_str(),
      "node_network_carrier_changes_total{nodename=~\"${nodes}([.][^:]*)?(:[0-9]+)?\","
      "cluster=\"a\",job=~\"node.*\"}");
  assert_string_equal(query_for(settings, "DCGM_FI_DEV_XID_ERRORS").name.c_str(), "");
  settings.extra = {"inlet = max by (instance) (temp{instance=~\"${nodes}-bmc\"})",
                    "up{instance=~\"${nodes}:9100\"} == 0"};
  const auto queries = promql_queries(settings, *g_rules);
  assert_true(queries.has_value());
  const PromqlQuery& named = (*queries)[queries->size() - 2];
  assert_string_equal(named.name.c_str(), "inlet");
  assert_string_equal(render_promql(named.text, std::vector<std::string>{"n1"}, {}).c_str(),
                      "max by (instance) (temp{instance=~\"n1-bmc\"})");
  assert_string_equal(queries->back().name.c_str(), "");
}

void slips_are_found_before_a_server_is_asked(void**) {
  const auto refused = [](void (*change)(PromqlSettings*)) {
    PromqlSettings settings = plain();
    change(&settings);
    return !promql_queries(settings, *g_rules).has_value();
  };
  assert_true(refused([](PromqlSettings* s) { s->matchers = "cluster=a"; }));
  assert_true(refused([](PromqlSettings* s) { s->matchers = "a=\"b\"} or up{a=\"b\""; }));
  assert_true(refused([](PromqlSettings* s) { s->node_label = "a=~\".*\",b"; }));
  assert_true(refused([](PromqlSettings* s) { s->suffix = "("; }));
  assert_true(refused([](PromqlSettings* s) { s->extra = {"up"}; }));
  assert_true(refused([](PromqlSettings* s) { s->extra = {"up{instance=~${nodes}}"}; }));
  assert_true(refused([](PromqlSettings* s) { s->extra = {"up{instance=~'${nodes}'}"}; }));
  assert_true(refused([](PromqlSettings* s) { s->extra = {"up{instance=~\"${nodes}}"}; }));
}

void names_of_nodes_are_only_names(void**) {
  const std::vector<std::string> hostile = {"a\"} or up{x=\"", "b.*", "c|d", "e\\", "f\n"};
  const std::string text = render_promql("up{i=~\"${nodes}\"}", hostile, {});
  assert_string_equal(text.c_str(),
                      "up{i=~\"(?:a\\\"\\\\} or up\\\\{x=\\\"|b|c\\\\|d|e\\\\\\\\|f\\n)\"}");
  assert_string_equal(nodes_regex(std::vector<std::string>{"n001", "n002", "n003"}).c_str(),
                      "n(?:001|002|003)");
  assert_string_equal(nodes_regex(std::vector<std::string>{"17"}).c_str(), "17");
}

void the_step_keeps_within_the_servers_limit(void**) {
  using std::chrono::hours;
  using std::chrono::seconds;
  assert_true(promql_step(hours(1), seconds(15), 11000) == seconds(15));
  for (const int h : {1, 24, 24 * 7, 24 * 30, 24 * 365}) {
    const Duration step = promql_step(hours(h), seconds(15), 11000);
    assert_true(hours(h) / step + 1 <= 11000);
    assert_true(step % Duration(seconds(15)) == Duration{0});
  }
}

struct Parsed {
  bool is_whole = false;
  std::string trouble;
  std::vector<MetricSeries> series;
  std::vector<std::string> warnings;
};

Parsed parse(std::string_view text, std::size_t step = 7) {
  Parsed parsed;
  PromqlAnswer answer([&](MetricSeries&& series) {
    parsed.series.push_back(std::move(series));
    return true;
  });
  const auto read = read_json(
      [&]() -> std::string_view {
        const auto piece = text.substr(0, step);
        text.remove_prefix(piece.size());
        return piece;
      },
      answer);
  parsed.is_whole = read.value_or(false);
  parsed.trouble = answer.trouble();
  parsed.warnings = answer.warnings();
  return parsed;
}

void answers_come_as_series(void**) {
  const Parsed matrix = parse(
      R"({"status":"success","warnings":["store-2 is away","PromQL info: metric might not be a counter"],)"
      R"("data":{"resultType":"matrix","stats":{"result":[1,{"values":[[9,"9"]]}]},"result":[)"
      R"({"metric":{"__name__":"x","Hostname":"n1","gpu":"3"},"values":[[1767225600,"1"],[1767225615.5,"NaN"],[1767225630,"+Inf"],[1767225645,"79"]]},)"
      R"({"metric":{},"values":[[1767225600,"2.5e3"]],"histograms":[[1,{"count":"3"}]]},)"
      R"({"metric":{"__name__":"stale"},"values":[]}]}})");
  assert_true(matrix.is_whole);
  assert_string_equal(matrix.trouble.c_str(), "");
  assert_int_equal(matrix.series.size(), 2);
  assert_string_equal(matrix.series[0].name.c_str(), "x");
  assert_string_equal(matrix.series[0].labels.at("gpu").c_str(), "3");
  assert_int_equal(matrix.series[0].points.size(), 2);
  assert_true(matrix.series[0].points[1].value == 79);
  assert_string_equal(format_rfc3339(matrix.series[0].points[1].time).c_str(),
                      "2026-01-01T00:00:45Z");
  assert_true(matrix.series[1].points[0].value == 2500);
  assert_int_equal(matrix.warnings.size(), 1);
  const Parsed vector = parse(
      R"({"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[1767225600.123,"7"]}]}})");
  assert_int_equal(vector.series.size(), 1);
  assert_true(vector.series[0].points[0].value == 7);
}

void other_answers_are_trouble(void**) {
  assert_string_equal(
      parse(R"({"status":"error","errorType":"execution","error":"too many samples"})")
          .trouble.c_str(),
      "too many samples");
  for (const char* bad :
       {"{}", "[]", R"({"status":"success"})", R"({"streams":[]})",
        R"({"status":"success","data":{"resultType":"scalar","result":[1,"2"]}})"}) {
    assert_string_not_equal(parse(bad).trouble.c_str(), "");
  }
  assert_false(parse("<html>log in</html>").is_whole);
  assert_false(parse(R"({"status":"success","data":{"resultType":"matrix","result":[)").is_whole);
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
      cmocka_unit_test(servers_leave_out_where_nothing_happened),
      cmocka_unit_test(every_metric_that_a_rule_names_is_asked_for),
      cmocka_unit_test(settings_shape_the_queries),
      cmocka_unit_test(slips_are_found_before_a_server_is_asked),
      cmocka_unit_test(names_of_nodes_are_only_names),
      cmocka_unit_test(the_step_keeps_within_the_servers_limit),
      cmocka_unit_test(answers_come_as_series),
      cmocka_unit_test(other_answers_are_trouble),
  };
  return cmocka_run_group_tests(tests, load_rules, drop_rules);
}
