// SPDX-License-Identifier: Apache-2.0
// Bodies of observations: v2 reads what the documents' reader reads, v1 comes out the same way, and
// hostile ones are refused with the right code.
#include <cstring>
#include <string>

#include "common/base/json.hh"
#include "service/digest.hh"
#include "service/json_tape.hh"
#include "service/observation_body.hh"
#include "tests/cmocka.hh"

using namespace nvab;

namespace {

std::string code_of(const BodyResult<ParsedObservation>& parsed) {
  return parsed ? "ok" : std::string(row_of(parsed.error().problem).code);
}
std::string v2_code(const std::string& body) { return code_of(parse_observation_v2(body)); }
const Ruleset& rules() {
  static const std::unique_ptr<Ruleset> loaded = [] {
    auto all = Ruleset::load("default", "/nonexistent");
    return all ? std::move(*all) : nullptr;
  }();
  return *loaded;
}
BodyResult<ParsedObservation> read_v1(const std::string& body) {
  return parse_observation_v1(body, rules());
}
std::string v1_code(const std::string& body) { return code_of(read_v1(body)); }
std::string v2_detail(const std::string& body) {
  const auto parsed = parse_observation_v2(body);
  return parsed ? "ok" : parsed.error().detail;
}

constexpr std::string_view kHead = R"({"source":"syslog","connector":"log.file.sys",
  "time_interval":{"start":"2026-01-05T10:00:00Z","end":"2026-01-05T11:00:00.5Z"},
  "coverage":{"bytes_scanned":10,"lines_scanned":2,"prefiltered":true,"rules_digest":"sha256:ab",
    "truncated":false,"streams":[{"stream":"n1","node":"n1","first":"2026-01-05T10:00:00Z",
    "last":"2026-01-05T10:30:00Z","gap_start":"2026-01-05T10:01:00Z",
    "gap_end":"2026-01-05T10:02:00Z","lines":2,"last_line":"bye"}]},)";

const std::string kBodies[] = {
    std::string(kHead) + R"("entry_timeseries":[
      {"timestamp":"2026-01-05T10:00:01.25Z","node":"n1","rank":3,"app":"kernel","pid":1,
       "severity":3,"facility":"kern","trust":"kernel","time_quality":"uptime",
       "origin":{"stream":"n1","line":7,"offset":99},"message":"line \u00fc \"q\" \\ \n"},
      {"message":"bare","stream":"other","unknown":[1,{"a":[]}]},
      {"message":""}]})",
    R"({"entry_timeseries":[{"message":"source comes late"}],"source":"applog"})",
    R"({"source":"node_metrics","entry_timeseries":[
      {"timestamp":"2026-01-05T10:00:01Z","name":"up","labels":{"a":"b","c":"d"},"value":0.1,
       "node":"n1"},
      {"timestamp":"2026-01-05T10:00:02Z","name":"up","labels":{},"value":"NaN"},
      {"timestamp":"2026-01-05T10:00:03Z","name":"up","value":-17976931348623157e292},
      {"timestamp":"2026-01-05T10:00:04Z","name":"up","value":9007199254740993}]})",
    R"({"source":"task_exits","entry_timeseries":[
      {"node":"n1","step_id":0,"task_id":2,"pid":77,"uid":1000,"gpu_ids":["0","GPU-1"],
       "exit_code":1,"signal":0,"core":true,"oom_kill":{"job":1},"stdout":{"path":"/a"},
       "stderr":"/b","start":"2026-01-05T10:00:01Z"},
      {"node":"n2","oom_kill":3}]})",
    R"({"source":"flight_recorder","entry_timeseries":[
      {"rank":3,"stream":"d","groups":[{"id":0,"ranks":[0,1],"last_enqueued":5}],
       "entries":[{"process_group":"0","op":"all_reduce","state":"scheduled","sequence":9,
       "sizes":[4,5],"created":"2026-01-05T10:00:01Z","is_p2p":true}]}]})",
    R"({"source":"scheduler","entry_timeseries":[]})",
};

void v2_reads_what_documents_read(void**) {
  for (const std::string& body : kBodies) {
    const auto document = Json::parse(body);
    assert_true(document.has_value());
    const auto expected = observation_from_json(*document);
    if (!expected) fail_msg("%s", expected.error().message.c_str());
    const auto parsed = parse_observation_v2(body);
    if (!parsed) fail_msg("%s", parsed.error().detail.c_str());
    assert_string_equal(to_json(parsed->observation).dump().c_str(),
                        to_json(*expected).dump().c_str());
    assert_string_equal(fast_observation_id(parsed->observation).c_str(),
                        observation_id(*expected).c_str());
  }
}

void what_a_writer_wrote_is_read_the_same(void**) {
  for (const std::string& body : kBodies) {
    const auto once = parse_observation_v2(body);
    assert_true(once.has_value());
    const auto twice = parse_observation_v2(to_json(once->observation).dump());
    assert_true(twice.has_value());
    assert_string_equal(fast_observation_id(once->observation).c_str(),
                        fast_observation_id(twice->observation).c_str());
  }
}

void errors_name_the_member(void**) {
  assert_string_equal(v2_detail(R"({"source":"syslog","entry_timeseries":[{"message":"a"},
      {"message":7}]})")
                          .c_str(),
                      "The body: 'entry_timeseries[1].message' wants a text.");
  assert_string_equal(v2_detail(R"({"entry_timeseries":[{"message":"a"},
      {"message":"b","origin":{"line":-1}}],"source":"syslog"})")
                          .c_str(),
                      "The body: 'entry_timeseries[1].origin.line' is out of range.");
  assert_string_equal(v2_detail(R"({"source":"syslog","entry_timeseries":{}})").c_str(),
                      "The body: 'entry_timeseries' wants a list.");
  assert_string_equal(v2_detail(R"({"source":"syslog","entry_timeseries":[7]})").c_str(),
                      "The body: 'entry_timeseries[0]' wants an object.");
}

void what_is_no_observation_is_refused(void**) {
  const char* const wrong[] = {
      R"({})",
      R"({"source":"syslog"})",
      R"({"entry_timeseries":[]})",
      R"({"source":7,"entry_timeseries":[]})",
      R"({"source":"syslog","entry_timeseries":[],"coverage":[]})",
      R"({"source":"syslog","entry_timeseries":[{"node":"n1"}]})",
      R"({"source":"syslog","entry_timeseries":[{"message":"a","timestamp":"yesterday"}]})",
      R"({"source":"node_metrics","entry_timeseries":[{"name":"up","value":1}]})",
      R"({"source":"syslog","entry_timeseries":[{"message":"a","rank":99999999999}]})",
      R"({"source":"syslog","entry_timeseries":[{"message":"a","rank":1.5}]})",
      R"([])",
      R"("text")",
      R"(7)",
  };
  for (const char* body : wrong) {
    if (v2_code(body) != "bad_observation") fail_msg("%s: %s", body, v2_code(body).c_str());
  }
  assert_string_equal(v2_code(R"({"source":"gossip","entry_timeseries":[]})").c_str(),
                      "unsupported_source");
}

void what_is_no_json_is_refused(void**) {
  const std::string wrong[] = {
      "",
      " ",
      "{",
      "{}x",
      "{} {}",
      "{\"a\":1,}",
      "{'a':1}",
      "[1 2]",
      "nul",
      "NaN",
      "{\"a\":NaN}",
      "{\"a\":1e999}",
      "{\"a\":0x1}",
      "{\"a\":\"\n\"}",
      "{\"a\":\"\\ud800\"}",
      "{\"a\":\"\\q\"}",
      "{\"a\":\"",
      std::string("{}\0{", 4),
      std::string("\0", 1),
      "\xef\xbb\xbf{}x",
      R"({"source":"syslog","source":"applog","entry_timeseries":[]})",
      R"({"source":"syslog","entry_timeseries":[],"entry_timeseries":[]})",
      R"({"source":"syslog","entry_timeseries":[{"message":"a","message":"b"}]})",
      R"({"source":"syslog","entry_timeseries":[],"x":{"y":1,"y":2}})",
      std::string(1000, '['),
      std::string(1'000'000, '['),
      "{\"a\":" + std::string(100, '[') + std::string(100, ']') + "}",
  };
  for (const std::string& body : wrong) {
    if (v2_code(body) != "bad_json") {
      fail_msg("%s: %s", body.substr(0, 60).c_str(), v2_code(body).c_str());
    }
  }
  std::string twin = "{\"source\":\"applog\",\"entry_timeseries\":[]";
  for (int i = 0; i < 100; ++i) twin += ",\"k" + std::to_string(i % 99) + "\":1";
  assert_string_equal(v2_code(twin + "}").c_str(), "bad_json");
}

void more_values_than_are_taken_at_once_are_refused(void**) {
  std::string many = "{\"x\":[";
  for (std::size_t i = 0; i < JsonTape::kMaxTokens + 1; ++i) many += "1,";
  assert_string_equal(v2_code(many + "1]}").c_str(), "body_too_large");
  // Entries go one by one, however many there are.
  std::string entries = R"({"source":"applog","entry_timeseries":[{"message":""})";
  for (std::size_t i = 0; i < JsonTape::kMaxTokens / 2; ++i) entries += ",{\"message\":\"\"}";
  assert_string_equal(v2_code(entries + "]}").c_str(), "ok");
}

void invalid_utf8_is_replaced_and_counted(void**) {
  const auto parsed = parse_observation_v2(
      "{\"source\":\"applog\",\"entry_timeseries\":[{\"message\":\"a\xff\xc3(\xed\xa0\x80\"}]}");
  assert_true(parsed.has_value());
  assert_int_equal(parsed->bytes_replaced, 5);
  assert_string_equal(parsed->observation.entries[0].message.c_str(),
                      "a\uFFFD\uFFFD(\uFFFD\uFFFD\uFFFD");
}

std::string v1_body(const std::string& source, const std::string& format, const std::string& body) {
  Json context = Json::object();
  context.set("time_interval", Json::object().set("start", Json::of("2026-01-05T10:00:00Z")));
  context.set("resources", Json::of("AllJobResources"));
  context.set("source", Json::of(source)).set("format", Json::of(format));
  return Json::object().set("context", context).set("body", Json::of(body)).dump();
}

void v1_streams_become_entries(void**) {
  const auto parsed = read_v1(v1_body("syslog", "raw_loki_streams", R"([
    {"stream":{"job":"j","app":"dmesg","hostname":"n7"},"values":[
      ["1767607200123456789","{\"body\":\"NVRM: bad\",\"severity\":\"err\",\"attributes\":{\"hostname\":\"n8\",\"appname\":\"kernel\",\"facility\":0},\"resources\":{}}"],
      ["1767607201000000000","plain {line}"],
      ["1767607203000000000","{\"body\":\"NVRM: hm\",\"attributes\":{\"hostname\":\"n9\",\"appname\":\"slurmd\"}}"],
      ["1767607202000000000","{\"other\":1}"]]},
    {"stream":{},"values":[]}])"));
  if (!parsed) fail_msg("%s", parsed.error().detail.c_str());
  const Observation& o = parsed->observation;
  assert_true(o.source == Source::syslog);
  assert_true(o.start.has_value());
  assert_int_equal(o.entries.size(), 4);
  const auto entry_of = [&](const std::string& node, std::size_t skip) {
    const Json all = to_json(o).get("entry_timeseries");
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (all.at(i).get("node").as_string() == node && skip-- == 0) return all.at(i).dump();
    }
    return std::string();
  };
  assert_string_equal(entry_of("n8", 0).c_str(),
                      R"({"timestamp":"2026-01-05T10:00:00.123456Z","node":"n8","app":"kernel",)"
                      R"("severity":"err","facility":"0","time_quality":"exact","trust":"system",)"
                      R"("origin":{"stream":"{app=\"dmesg\",hostname=\"n7\",job=\"j\"}","line":0,)"
                      R"("offset":0},"message":"NVRM: bad"})");
  assert_string_equal(entry_of("n7", 0).c_str(),
                      R"({"timestamp":"2026-01-05T10:00:01Z","node":"n7","app":"kernel",)"
                      R"("time_quality":"exact","trust":"system",)"
                      R"("origin":{"stream":"{app=\"dmesg\",hostname=\"n7\",job=\"j\"}","line":0,)"
                      R"("offset":0},"message":"plain {line}"})");
  assert_non_null(std::strstr(entry_of("n7", 1).c_str(), R"("message":"{\"other\":1}")"));
  // Its own word on who wrote it counts, and it is not taken for the kernel's.
  assert_non_null(std::strstr(entry_of("n9", 0).c_str(), R"("app":"slurmd")"));
}

// Interleaved writers, newest first, as Loki gives them by default: a traceback is one entry all
// the same, at the time of its first line, and belongs to its rank.
void v1_blocks_are_put_together(void**) {
  const char* lines[] = {"[rank3]: Traceback (most recent call last):",
                         "[rank1]: Traceback (most recent call last):",
                         "[rank3]:   File \"train.py\", line 7, in <module>",
                         "[rank1]:   File \"train.py\", line 9, in <module>",
                         "[rank3]:     main()",
                         "[rank1]:     main()",
                         "[rank3]: torch.cuda.OutOfMemoryError: CUDA out of memory.",
                         "[rank1]: KeyError: 'x'",
                         "a line"};
  Json values = Json::array();
  for (int i = 8; i >= 0; --i) {
    Json pair = Json::array();
    pair.push(Json::of("176760720" + std::to_string(i) + "000000000")).push(Json::of(lines[i]));
    values.push(std::move(pair));
  }
  Json streams = Json::array();
  streams.push(Json::object()
                   .set("stream", Json::object().set("hostname", Json::of("n7")))
                   .set("values", std::move(values)));
  const auto parsed = read_v1(v1_body("applog", "raw_loki_streams", streams.dump()));
  if (!parsed) fail_msg("%s", parsed.error().detail.c_str());
  const Observation& o = parsed->observation;
  const LogEntry* of_three = nullptr;
  for (const LogEntry& entry : o.entries) {
    if (entry.rank == 3) of_three = &entry;
  }
  assert_int_equal(o.entries.size(), 3);
  assert_non_null(of_three);
  assert_string_equal(
      of_three->message.c_str(),
      "Traceback (most recent call last):\n  File \"train.py\", line 7, in <module>\n"
      "    main()\ntorch.cuda.OutOfMemoryError: CUDA out of memory.");
  assert_string_equal(format_rfc3339(*of_three->timestamp).c_str(), "2026-01-05T10:00:00Z");
  assert_string_equal(of_three->node.c_str(), "n7");
  assert_int_equal(o.coverage.streams.size(), 1);
  assert_int_equal(o.coverage.streams[0].lines, 9);
  assert_string_equal(o.coverage.streams[0].last_line.c_str(), "a line");
}

void v1_series_become_samples(void**) {
  const auto parsed = read_v1(v1_body("node_metrics", "prometheus_metrics", R"(
    {"status":"success","data":{"resultType":"matrix","result":[
      {"metric":{"__name__":"up","instance":"n1:9400","gpu":"0"},"values":[[1767607200.5,"1"],[1767607201,"NaN"]]},
      {"metric":{"__name__":"up","Hostname":"n2"},"value":[1767607200,"0"]}]}})"));
  if (!parsed) fail_msg("%s", parsed.error().detail.c_str());
  const auto& samples = parsed->observation.samples;
  assert_int_equal(samples.size(), 3);
  assert_string_equal(to_json(parsed->observation).get("entry_timeseries").at(0).dump().c_str(),
                      R"({"timestamp":"2026-01-05T10:00:00.500Z","name":"up","labels":{"gpu":"0",)"
                      R"("instance":"n1:9400"},"value":1,"node":"n1"})");
  assert_string_equal(samples[2].node.c_str(), "n2");
}

void wrong_v1_bodies_are_refused(void**) {
  const auto streams = [](const std::string& body) {
    return v1_code(v1_body("syslog", "raw_loki_streams", body));
  };
  const auto series = [](const std::string& body) {
    return v1_code(v1_body("node_metrics", "prometheus_metrics", body));
  };
  assert_string_equal(streams("[]").c_str(), "ok");
  for (const char* body :
       {"{}", "7", R"([7])", R"([{"stream":{"a":1},"values":[]}])", R"([{"stream":{}}])",
        R"([{"stream":{},"values":[[]]}])", R"([{"stream":{},"values":[["x","l"]]}])",
        R"([{"stream":{},"values":[["1"]]}])", R"([{"stream":{},"values":[[1,2]]}])"}) {
    if (streams(body) != "bad_observation") fail_msg("%s: %s", body, streams(body).c_str());
  }
  for (const char* body : {R"([{"metric":{},"value":[1,"1"]}])", R"([{"metric":{"__name__":"a"}}])",
                           R"([{"metric":{"__name__":"a"},"value":[1]}])",
                           R"([{"metric":{"__name__":"a"},"value":[1e300,"1"]}])",
                           R"([{"metric":{"__name__":"a"},"value":["x","1"]}])",
                           R"([{"metric":{"__name__":"a"},"value":[1,"x"]}])"}) {
    if (series(body) != "bad_observation") fail_msg("%s: %s", body, series(body).c_str());
  }
  assert_string_equal(streams("[{").c_str(), "bad_json");
  assert_string_equal(streams(std::string(100'000, '[')).c_str(), "bad_json");
  assert_string_equal(v1_code("{}").c_str(), "bad_observation");
  assert_string_equal(v1_code(R"({"context":{"source":"syslog"},"body":[]})").c_str(),
                      "bad_observation");
  assert_string_equal(v1_code(v1_body("syslog", "csv", "[]")).c_str(), "unsupported_format");
  assert_string_equal(v1_code(v1_body("node_metrics", "raw_loki_streams", "[]")).c_str(),
                      "unsupported_format");
  assert_string_equal(v1_code(v1_body("task_exits", "raw_loki_streams", "[]")).c_str(),
                      "unsupported_format");
  assert_string_equal(v1_code(v1_body("gossip", "raw_loki_streams", "[]")).c_str(),
                      "unsupported_source");
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(v2_reads_what_documents_read),
      cmocka_unit_test(what_a_writer_wrote_is_read_the_same),
      cmocka_unit_test(errors_name_the_member),
      cmocka_unit_test(what_is_no_observation_is_refused),
      cmocka_unit_test(what_is_no_json_is_refused),
      cmocka_unit_test(more_values_than_are_taken_at_once_are_refused),
      cmocka_unit_test(invalid_utf8_is_replaced_and_counted),
      cmocka_unit_test(v1_streams_become_entries),
      cmocka_unit_test(v1_blocks_are_put_together),
      cmocka_unit_test(v1_series_become_samples),
      cmocka_unit_test(wrong_v1_bodies_are_refused),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
