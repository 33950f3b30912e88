// SPDX-License-Identifier: Apache-2.0
// metrics.json: elements of a stream, samples of a series, and the collector over files.
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "common/base/file.hh"
#include "epilog/metric/array_splitter.hh"
#include "epilog/metric/file.hh"
#include "epilog/metric/metrics_json.hh"
#include "tests/cmocka.hh"

using namespace nvab;

namespace {

std::vector<std::string> split_array(std::string_view text, std::size_t chunk, bool* whole) {
  std::vector<std::string> elements;
  ArraySplitter splitter(64, [&](std::string_view element) {
    elements.emplace_back(element);
    return true;
  });
  while (!text.empty() && splitter.feed(text.substr(0, chunk))) {
    text.remove_prefix(std::min(chunk, text.size()));
  }
  *whole = splitter.finish().has_value();
  return elements;
}

void elements_are_the_same_at_every_chunk_size(void**) {
  const std::string_view text = " [ {\"a\": \"]},\\\"[\"} , [1,[2]],7 , \"x,]\" ] tail";
  for (std::size_t chunk = 1; chunk <= text.size(); ++chunk) {
    bool whole = false;
    const auto elements = split_array(text, chunk, &whole);
    assert_true(whole);
    assert_int_equal(elements.size(), 4);
    assert_string_equal(elements[0].c_str(), "{\"a\": \"]},\\\"[\"}");
    assert_string_equal(elements[1].c_str(), "[1,[2]]");
    assert_string_equal(elements[2].c_str(), "7 ");
    assert_string_equal(elements[3].c_str(), "\"x,]\" ");
  }
}

void a_cut_or_oversized_array_says_so_after_its_good_elements(void**) {
  bool whole = true;
  assert_int_equal(split_array("[{\"a\":1},{\"b\":", 5, &whole).size(), 1);
  assert_false(whole);
  const std::string big = "[{},\"" + std::string(100, 'x') + "\"]";
  assert_int_equal(split_array(big, 5, &whole).size(), 1);
  assert_false(whole);
  assert_int_equal(split_array("{\"a\":1}", 5, &whole).size(), 0);
  assert_false(whole);
  assert_int_equal(split_array("[]", 5, &whole).size(), 0);
  assert_true(whole);
}

void a_series_becomes_samples_of_its_node(void**) {
  const auto samples = parse_series(
      R"({"metric":"node_network_carrier","labels":{"instance":"a1.example:9100","device":"ib0"},
          "values":[[1790000000.25,1],[1790000060,"0"],[1790000120,"NaN"]]})");
  assert_true(samples.has_value());
  assert_int_equal(samples->size(), 2);  // NaN is no value
  assert_string_equal((*samples)[0].name.c_str(), "node_network_carrier");
  assert_string_equal((*samples)[0].node.c_str(), "a1.example");
  assert_string_equal(format_rfc3339((*samples)[0].timestamp).c_str(), "2026-09-21T14:13:20.250Z");
  assert_true((*samples)[1].value == 0);
  assert_string_equal((*samples)[1].labels.at("device").c_str(), "ib0");
}

void the_node_comes_from_the_label_that_names_it(void**) {
  assert_string_equal(node_of_labels({{"Hostname", "g7"}, {"instance", "10.0.0.1:9400"}}).c_str(),
                      "g7");
  assert_string_equal(node_of_labels({{"instance", "[2001:db8::1]:9100"}}).c_str(), "2001:db8::1");
  assert_string_equal(node_of_labels({{"instance", "2001:db8::1"}}).c_str(), "2001:db8::1");
  assert_string_equal(node_of_labels({{"device", "ib0"}}).c_str(), "");
}

void a_malformed_series_is_refused(void**) {
  for (const char* text : {"{}", R"({"metric":"a"})", R"({"metric":"a","values":[["x",1]]})",
                           R"({"metric":"a","values":[[-5,1]]})", R"({"metric":"a","values":[7]})",
                           R"({"metric":"a","labels":{"b":1},"values":[]})", "not json"}) {
    assert_false(parse_series(text).has_value());
  }
}

void a_series_goes_to_json_and_back(void**) {
  const auto samples = parse_series(
      R"({"metric":"m","labels":{"gpu":"1"},"values":[[1790000000.123457,0.1],[1790000001,2e300]]})");
  const std::string text = series_to_json(*samples).dump();
  const auto again = parse_series(text);
  assert_true(again.has_value());
  assert_string_equal(series_to_json(*again).dump().c_str(), text.c_str());
  assert_true((*again)[0].timestamp == (*samples)[0].timestamp);
}

struct Kept final : ObservationSink {
  std::vector<Observation> all;
  void deliver(Observation&& observation) override { all.push_back(std::move(observation)); }
};

void the_collector_reads_good_series_beside_a_bad_one(void**) {
  const std::string path = "metric_json_test." + std::to_string(::getpid()) + ".json";
  assert_true(write_file(path, R"([{"metric":"a","values":[[1,2]]},{"metric":"b"},
                                   {"metric":"c","values":[[1,3]]}])")
                  .has_value());
  Host host;
  Kept kept;
  const auto outcome =
      make_metric_file({"metric.file", {path}}, host)->collect(ExecutionContext{}, kept);
  ::unlink(path.c_str());
  assert_int_equal(outcome.status, ConnectorStatus::error);
  assert_non_null(std::strstr(outcome.reason.c_str(), "series b has no values"));
  assert_int_equal(kept.all.size(), 1);
  assert_int_equal(kept.all[0].samples.size(), 2);
  assert_int_equal(*outcome.details.get("series").as_int(), 2);
}

void a_missing_file_is_no_data(void**) {
  Host host;
  Kept kept;
  const auto outcome =
      make_metric_file({"metric.file", {"/nowhere/m.json"}}, host)->collect({}, kept);
  assert_int_equal(outcome.status, ConnectorStatus::no_data);
  assert_true(kept.all.empty());
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(elements_are_the_same_at_every_chunk_size),
      cmocka_unit_test(a_cut_or_oversized_array_says_so_after_its_good_elements),
      cmocka_unit_test(a_series_becomes_samples_of_its_node),
      cmocka_unit_test(the_node_comes_from_the_label_that_names_it),
      cmocka_unit_test(a_malformed_series_is_refused),
      cmocka_unit_test(a_series_goes_to_json_and_back),
      cmocka_unit_test(the_collector_reads_good_series_beside_a_bad_one),
      cmocka_unit_test(a_missing_file_is_no_data),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
