// SPDX-License-Identifier: Apache-2.0
// Verdicts and results: the fixed names, both ways, and what enriching adds.
#include "common/model/result.hh"

#include <cstring>

#include "tests/cmocka.hh"

using namespace nvab;

static Verdict sample_verdict() {
  Verdict verdict;
  verdict.outcome = "gpu_lost";
  verdict.root_cause = {"xid_79_fell_off_bus",
                        "GPU fell off the PCIe bus",
                        "gpu.xid.79",
                        0.97,
                        Time(Duration(1)),
                        "GPU 3 of n2 fell off the bus.",
                        {{"strength of gpu.xid.79", 0.95}, {"other sources tell the same", 0.97}}};
  verdict.culprits.nodes = {"n2"};
  verdict.culprits.gpus = {{"n2", 3, "0000:61:00.0", "GPU-1"}, {"n2", std::nullopt, "", "GPU-2"}};
  verdict.culprits.nics = {{"n2", "mlx5_4", 1}};
  verdict.culprits.ranks = {11, 12};
  verdict.first_failing_rank = 11;
  verdict.advice.action = Action::requeue_exclude_nodes;
  verdict.advice.exclude_nodes = {"n2"};
  verdict.advice.drain = {{"n2", "nvab:gpu_hardware:gpu3:gpu.xid.79:1234", 0.97}};
  verdict.advice.summary = "Requeue without n2.";
  verdict.progress = {5120, Time(Duration(2)), Time(Duration(3)), 3.2};
  TimelineItem root;
  root.time = Time(Duration(1));
  root.node = "n2";
  root.role = "root";
  root.rule = "gpu.xid.79";
  root.text = "NVRM: Xid 79";
  root.origin = {"n2.log", 5, 100};
  TimelineItem cascade;
  cascade.rank = 0;
  cascade.role = "cascade";
  cascade.caused_by = 0;
  cascade.mark = "repeat";
  verdict.timeline = {root, cascade};
  verdict.victims = {15, 1, {{"nccl.watchdog_timeout", 15}}};
  verdict.alternatives = {{"other", SubDomain::network_fabric, 0.02, "it came later"}};
  verdict.attributions = {{"n1", {}}, {"n2", {"gpu.xid.79"}}};
  verdict.missing = {"no metrics were collected"};
  verdict.ruleset = {"default", "0.1.0", "sha256:0"};
  return verdict;
}

static void a_verdict_has_the_fixed_members_and_reads_back(void**) {
  const std::string bytes = to_json(sample_verdict()).dump();
  assert_string_equal(
      bytes.c_str(),
      R"({"schema":"nvab.verdict/1","outcome":"gpu_lost","root_cause":{"id":"xid_79_fell_off_bus",)"
      R"("title":"GPU fell off the PCIe bus","rule":"gpu.xid.79","confidence":0.97,)"
      R"("time":"1970-01-01T00:00:00.000001Z","explanation":"GPU 3 of n2 fell off the bus.",)"
      R"("confidence_steps":[{"why":"strength of gpu.xid.79","confidence":0.95},)"
      R"({"why":"other sources tell the same","confidence":0.97}]},)"
      R"("culprits":{"nodes":["n2"],"gpus":[{"node":"n2","index":3,"pci":"0000:61:00.0",)"
      R"("uuid":"GPU-1"},{"node":"n2","index":null,"pci":null,"uuid":"GPU-2"}],)"
      R"("nics":[{"node":"n2","device":"mlx5_4","port":1}],"ranks":[11,12]},)"
      R"("first_failing_rank":11,"advice":{"action":"requeue_exclude_nodes",)"
      R"("exclude_nodes":["n2"],"drain":[{"node":"n2",)"
      R"("reason":"nvab:gpu_hardware:gpu3:gpu.xid.79:1234","confidence":0.97}],)"
      R"("summary":"Requeue without n2."},"progress":{"last_step":5120,)"
      R"("last_step_time":"1970-01-01T00:00:00.000002Z",)"
      R"("last_checkpoint_time":"1970-01-01T00:00:00.000003Z","lost_gpu_hours":3.2},)"
      R"("timeline":[{"time":"1970-01-01T00:00:00.000001Z","node":"n2","rank":null,"role":"root",)"
      R"("rule":"gpu.xid.79","text":"NVRM: Xid 79","origin":{"stream":"n2.log","line":5,)"
      R"("offset":100},"caused_by":null,"mark":null},{"time":null,"node":null,"rank":0,)"
      R"("role":"cascade","rule":"","text":"","origin":null,"caused_by":0,"mark":"repeat"}],)"
      R"("victims":{"ranks":15,"nodes":1,"by_rule":{"nccl.watchdog_timeout":15}},)"
      R"("alternatives":[{"id":"other","sub_domain":"network_fabric","confidence":0.02,)"
      R"("why_not":"it came later"}],"attributions":[{"type":"NodeAttribution","node":"n1",)"
      R"("attributions":[]},{"type":"NodeAttribution","node":"n2",)"
      R"("attributions":["gpu.xid.79"]}],"missing":["no metrics were collected"],)"
      R"("ruleset":{"name":"default","version":"0.1.0","digest":"sha256:0"}})");
  const auto back = verdict_from_json(*Json::parse(bytes));
  assert_true(back.has_value());
  assert_string_equal(to_json(*back).dump().c_str(), bytes.c_str());
}

static void findings_in_shadow_mode_are_a_member_only_where_there_are_any(void**) {
  Verdict verdict = sample_verdict();
  assert_false(to_json(verdict).has("shadow"));
  verdict.shadow = {
      {"site.x", "root", "gpu_lost", 2, Time(Duration(2)), "n2", 3, "a line", {"syslog/n2", 4, 0}}};
  const Json json = to_json(verdict);
  assert_string_equal(json.get("shadow").dump().c_str(),
                      R"([{"rule":"site.x","role":"root","outcome":"gpu_lost","events":2,)"
                      R"("time":"1970-01-01T00:00:00.000002Z","node":"n2","rank":3,)"
                      R"("text":"a line","origin":{"stream":"syslog/n2","line":4,"offset":0}}])");
  const auto back = verdict_from_json(json);
  assert_true(back.has_value());
  assert_string_equal(to_json(*back).dump().c_str(), json.dump().c_str());
}

static void an_empty_verdict_reads_back_and_names_no_root_cause(void**) {
  const Json json = to_json(Verdict{});
  assert_true(json.has("root_cause") && json.get("root_cause").is_null());
  const auto back = verdict_from_json(json);
  assert_true(back.has_value());
  assert_string_equal(to_json(*back).dump().c_str(), json.dump().c_str());
}

static void unknown_members_are_skipped_and_wrong_ones_named(void**) {
  assert_true(verdict_from_json(*Json::parse(R"({"outcome":"unknown","new":1})")).has_value());
  struct Row {
    const char* text;
    const char* member;
  };
  const Row rows[] = {
      {R"({"advice":{"action":"panic"}})", "'advice.action'"},
      {R"({"culprits":{"gpus":[{"node":"n","index":"3"}]}})", "'culprits.gpus[0].index'"},
      {R"({"victims":{"by_rule":{"a":"x"}}})", "'victims.by_rule.a'"},
      {R"({"timeline":[{"rank":1.5}]})", "'timeline[0].rank'"},
      {R"({"alternatives":[{"sub_domain":"weather"}]})", "'alternatives[0].sub_domain'"},
      {R"({"attributions":[{"attributions":[1]}]})", "'attributions[0].attributions'"},
      {R"({"missing":"x"})", "'missing'"},
  };
  for (const Row& row : rows) {
    const auto verdict = verdict_from_json(*Json::parse(row.text));
    if (verdict) fail_msg("%s was read", row.text);
    if (!std::strstr(verdict.error().message.c_str(), row.member)) {
      fail_msg("%s: %s", row.text, verdict.error().message.c_str());
    }
  }
}

static ConnectorReport report(Source source, ConnectorStatus status, int count) {
  ConnectorReport made;
  made.connector = "log.file.x";
  made.source = source;
  made.status = status;
  made.observation_count = count;
  return made;
}

static EvidenceStatus status_of(std::vector<ConnectorReport> connectors,
                                std::vector<IngestionReport> ingestions = {}) {
  return enrich({}, {}, std::move(connectors), std::move(ingestions)).evidence_status;
}

static void evidence_is_complete_only_when_all_ran_and_all_was_delivered(void**) {
  using enum ConnectorStatus;
  const ConnectorReport log = report(Source::applog, ok, 1);
  assert_true(status_of({log}) == EvidenceStatus::complete);
  assert_true(status_of({log, report(Source::syslog, no_data, 0)}) == EvidenceStatus::complete);
  for (const ConnectorStatus status : {unavailable, denied, timed_out, error}) {
    assert_true(status_of({log, report(Source::node_metrics, status, 0)}) ==
                EvidenceStatus::partial);
  }
  assert_true(status_of({log}, {{"log.file.x", 1, 1, 0}}) == EvidenceStatus::complete);
  assert_true(status_of({log}, {{"log.file.x", 1, 0, 1}}) == EvidenceStatus::partial);
  // Read in part before the deadline: that is data.
  assert_true(status_of({report(Source::syslog, timed_out, 1)}) == EvidenceStatus::partial);
}

static void evidence_is_insufficient_without_any_log(void**) {
  using enum ConnectorStatus;
  assert_true(status_of({}) == EvidenceStatus::insufficient);
  assert_true(status_of({report(Source::node_metrics, ok, 1),
                         report(Source::applog, no_data, 0)}) == EvidenceStatus::insufficient);
  assert_true(status_of({report(Source::syslog, error, 0)}) == EvidenceStatus::insufficient);
}

static void enriching_adds_the_words_of_the_taxonomy(void**) {
  ExecutionContext context;
  context.state = "CANCELLED by 1000";
  AttributionResult result = enrich(context, sample_verdict(), {}, {});
  assert_true(result.terminal_state == TerminalState::cancelled);
  assert_true(result.sub_domain == SubDomain::gpu_hardware);
  assert_true(result.domain == Domain::infrastructure);
  assert_false(result.provisional);
  context.state = "RUNNING";
  Verdict verdict;
  verdict.outcome = "an outcome of another version";
  result = enrich(context, verdict, {}, {});
  assert_true(result.sub_domain == SubDomain::unknown);
  assert_true(result.terminal_state == TerminalState::unknown);
  assert_true(result.provisional);
}

static void a_result_reads_back(void**) {
  ExecutionContext context;
  context.job_id = "1234";
  context.state = "FAILED";
  ConnectorReport with_details = report(Source::syslog, ConnectorStatus::denied, 0);
  with_details.reason = "reading the kernel log: permission denied";
  with_details.seconds = 0.0123456789;
  with_details.details = Json::object().set("paths", json_strings({"/x"}));
  AttributionResult result = enrich(context, sample_verdict(),
                                    {report(Source::applog, ConnectorStatus::ok, 1), with_details},
                                    {{"log.file.x", 1, 2, 3}});
  result.attributor_id = "a1";
  const std::string bytes = to_json(result).dump();
  const auto back = result_from_json(*Json::parse(bytes));
  if (!back) fail_msg("%s", back.error().message.c_str());
  assert_string_equal(to_json(*back).dump().c_str(), bytes.c_str());
  const Json json = to_json(*back);
  std::string members;
  json.each([&](std::string_view key, const Json&) { members += std::string(key) + " "; });
  assert_string_equal(members.c_str(),
                      "schema attributor_id context terminal_state domain sub_domain outcome "
                      "root_cause culprits first_failing_rank advice progress timeline victims "
                      "alternatives attributions evidence_status provisional connector_reports "
                      "ingestion_reports missing ruleset ");
  assert_string_equal(json.get("connector_reports").at(1).dump().c_str(),
                      R"({"connector":"log.file.x","source":"syslog","status":"denied",)"
                      R"("reason":"reading the kernel log: permission denied",)"
                      R"("observation_count":0,"seconds":0.012346,"details":{"paths":["/x"]}})");
}

static void a_result_of_the_wrong_shape_is_refused(void**) {
  for (const char* bad :
       {"null", "[]", R"({"terminal_state":"exploded"})", R"({"context":7})",
        R"({"connector_reports":[{"status":"fine"}]})", R"({"provisional":"yes"})"}) {
    if (result_from_json(*Json::parse(bad))) fail_msg("%s was read", bad);
  }
}

static void every_connector_status_reads_back(void**) {
  for (int i = 0; i <= static_cast<int>(ConnectorStatus::error); ++i) {
    const auto status = static_cast<ConnectorStatus>(i);
    assert_true(connector_status_from(to_string(status)) == status);
  }
  assert_false(connector_status_from("fine").has_value());
}

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(a_verdict_has_the_fixed_members_and_reads_back),
      cmocka_unit_test(findings_in_shadow_mode_are_a_member_only_where_there_are_any),
      cmocka_unit_test(an_empty_verdict_reads_back_and_names_no_root_cause),
      cmocka_unit_test(unknown_members_are_skipped_and_wrong_ones_named),
      cmocka_unit_test(evidence_is_complete_only_when_all_ran_and_all_was_delivered),
      cmocka_unit_test(evidence_is_insufficient_without_any_log),
      cmocka_unit_test(enriching_adds_the_words_of_the_taxonomy),
      cmocka_unit_test(a_result_reads_back),
      cmocka_unit_test(a_result_of_the_wrong_shape_is_refused),
      cmocka_unit_test(every_connector_status_reads_back),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
