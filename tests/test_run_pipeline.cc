// SPDX-License-Identifier: Apache-2.0
// The pipeline with stand-ins: whatever a part does, the others go on and the summary says it.
#include <cstring>
#include <stdexcept>
#include <utility>
#include <vector>

#include "common/base/log.hh"
#include "epilog/pipeline.hh"
#include "tests/cmocka.hh"

// (fail)(...) is ours: cmocka has a macro of that name.

using namespace nvab;

namespace {

struct Contexts final : ContextSource {
  std::vector<ExecutionContext> all;
  explicit Contexts(std::initializer_list<const char*> jobs) {
    for (const char* job : jobs) {
      ExecutionContext context;
      context.job_id = job;
      all.push_back(context);
    }
  }
  Result<std::vector<ExecutionContext>> discover() override { return all; }
};

struct NoContexts final : ContextSource {
  Result<std::vector<ExecutionContext>> discover() override {
    return (fail)(Error::Code::unavailable, "sacct is away");
  }
};

// Delivers `count` observations, then does as told.
struct Worker final : Collector {
  int count;
  void (*then)(Host*);
  Host* host = nullptr;
  explicit Worker(int n, void (*act)(Host*) = nullptr, Host* h = nullptr)
      : count(n), then(act), host(h) {}
  Source source() const override { return Source::syslog; }
  CollectOutcome collect(const ExecutionContext&, ObservationSink& sink) override {
    for (int i = 0; i < count; ++i) sink.deliver(Observation{});
    if (then != nullptr) then(host);
    return {count > 0 ? ConnectorStatus::ok : ConnectorStatus::no_data, "", {}};
  }
};

// A service that holds job "held", fails for "broken", and takes every second observation only.
struct Service final : Attributor {
  struct Open final : Session {
    std::string name;
    int calls = 0;
    explicit Open(std::string id) : name(std::move(id)) {}
    const std::string& id() const override { return name; }
    Result<Submitted> submit(const Observation&) override {
      if (++calls % 2 == 0) return (fail)(Error::Code::unavailable, "503");
      return calls == 1 ? Submitted::accepted : Submitted::duplicate;
    }
    Result<Verdict> attribution() override {
      if (name == "id-mute") return (fail)(Error::Code::timeout, "no verdict in time");
      return Verdict{};
    }
  };
  Result<OpenedSession> open(const ExecutionContext& context) override {
    if (context.job_id == "broken") return (fail)(Error::Code::unavailable, "connection refused");
    OpenedSession opened;
    const std::string id = "id-" + context.job_id;
    if (context.job_id == "held") {
      opened.conflict = AttributorConflict{id, {Error::Code::conflict, "HTTP 409 session_exists"}};
    } else {
      opened.session = std::make_unique<Open>(id);
    }
    return opened;
  }
};

struct Sink final : Output {
  std::vector<AttributionResult>* results;
  bool works;
  Error::Code trouble = Error::Code::unavailable;
  bool is_wanted = true;
  Sink(std::vector<AttributionResult>* into, bool ok) : results(into), works(ok) {}
  bool wants(const AttributionResult&) const override { return is_wanted; }
  Result<void> write(const AttributionResult& result) override {
    if (!works) return (fail)(trouble, "disk full");
    results->push_back(result);
    return {};
  }
};

struct Fixture {
  Host host;
  std::vector<AttributionResult> results;
  Pipeline pipeline;
  explicit Fixture(std::initializer_list<const char*> jobs) {
    pipeline.contexts = std::make_unique<Contexts>(jobs);
    pipeline.attributor = std::make_unique<Service>();
    add_output(true);
  }
  void add_output(bool works) {
    pipeline.outputs.push_back({works ? "good" : "bad", std::make_unique<Sink>(&results, works)});
  }
  void add_worker(int count, void (*then)(Host*) = nullptr) {
    pipeline.collectors.push_back(
        {"log.worker", std::make_unique<Worker>(count, then, &host), Source::syslog, {}});
  }
};

void every_context_has_its_end(void**) {
  Fixture f{"1", "held", "broken", "mute", "2"};
  f.add_worker(1);
  const RunSummary run = run_pipeline(f.pipeline, f.host);
  assert_int_equal(run.stats.discovered, 5);
  assert_int_equal(run.stats.attempted, 5);
  assert_int_equal(run.stats.attributed, 2);
  assert_int_equal(run.stats.conflicted, 1);
  assert_int_equal(run.stats.failed, 2);
  assert_int_equal(run.stats.succeeded, 2);
  assert_int_equal(run.exit_code, kExitOk);
  assert_string_equal(run.contexts[1].attributor_id.c_str(), "id-held");
  assert_string_equal(run.contexts[2].reason.c_str(), "connection refused");
  assert_non_null(std::strstr(run.contexts[3].reason.c_str(), "no verdict in time"));
  assert_int_equal(f.results.size(), 2);
  assert_string_equal(f.results[0].attributor_id.c_str(), "id-1");
}

void deliveries_are_counted_apart_from_collection(void**) {
  Fixture f{"1"};
  f.add_worker(4);
  run_pipeline(f.pipeline, f.host);
  const AttributionResult& result = f.results[0];
  assert_int_equal(result.connector_reports[0].status, ConnectorStatus::ok);
  assert_int_equal(result.connector_reports[0].observation_count, 4);
  assert_int_equal(result.ingestion_reports[0].submitted, 2);
  assert_int_equal(result.ingestion_reports[0].duplicates, 1);
  assert_int_equal(result.ingestion_reports[0].failed, 2);
  assert_int_equal(result.evidence_status, EvidenceStatus::partial);
}

void a_collector_that_throws_costs_its_own_report(void**) {
  Fixture f{"1"};
  f.add_worker(1, [](Host*) { throw std::runtime_error("boom"); });
  f.add_worker(1, [](Host*) { throw 7; });
  f.add_worker(1);
  run_pipeline(f.pipeline, f.host);
  const auto& reports = f.results.at(0).connector_reports;
  assert_int_equal(reports[0].status, ConnectorStatus::error);
  assert_non_null(std::strstr(reports[0].reason.c_str(), "boom"));
  assert_int_equal(reports[1].status, ConnectorStatus::error);
  assert_int_equal(reports[2].status, ConnectorStatus::ok);
  assert_int_equal(reports[0].observation_count, 1);  // what came before it counts
}

void a_collector_that_cannot_be_opened_still_reports(void**) {
  Fixture f{"1"};
  f.pipeline.collectors.push_back({"log.far", nullptr, Source::applog, "no such service"});
  run_pipeline(f.pipeline, f.host);
  const ConnectorReport& report = f.results.at(0).connector_reports.at(0);
  assert_int_equal(report.status, ConnectorStatus::unavailable);
  assert_string_equal(report.reason.c_str(), "no such service");
}

void each_collector_has_a_deadline_and_the_run_has_one(void**) {
  Fixture f{"1"};
  f.pipeline.collector_timeout = std::chrono::seconds(50);
  static Duration seen;
  f.add_worker(1, [](Host* host) { seen = host->deadline.left(); });
  run_pipeline(f.pipeline, f.host);
  assert_true(seen > std::chrono::seconds(40) && seen <= std::chrono::seconds(50));
  assert_true(f.host.deadline.is_never());
  f.pipeline.deadline = Deadline::after(Duration{0});
  const RunSummary run = run_pipeline(f.pipeline, f.host);
  assert_int_equal(run.stats.failed, 1);
  assert_int_equal(run.exit_code, kExitNoOutput);
}

void outputs_fail_one_by_one(void**) {
  Fixture f{"1"};
  f.pipeline.outputs.clear();
  f.add_output(false);
  f.add_output(true);
  const RunSummary run = run_pipeline(f.pipeline, f.host);
  assert_int_equal(run.stats.succeeded, 1);
  assert_int_equal(f.results.size(), 1);
  assert_non_null(std::strstr(run.contexts[0].reason.c_str(), "output bad: disk full"));
  assert_true(run.contexts[0].may_pass);
  assert_int_equal(run.contexts[0].outputs.size(), 2);
  assert_string_equal(run.contexts[0].outputs[0].output.c_str(), "bad");
  assert_string_equal(run.contexts[0].outputs[0].error.c_str(), "disk full");
  assert_string_equal(run.contexts[0].outputs[1].error.c_str(), "");
  f.pipeline.outputs.pop_back();
  const RunSummary none = run_pipeline(f.pipeline, f.host);
  assert_int_equal(none.stats.attributed, 1);
  assert_int_equal(none.stats.succeeded, 0);
  assert_int_equal(none.exit_code, kExitNoOutput);
}

void what_trying_again_would_not_help_is_told_apart(void**) {
  Fixture f{"1"};
  f.pipeline.outputs.clear();
  for (int i = 0; i < 2; ++i) {
    auto sink = std::make_unique<Sink>(&f.results, false);
    sink->trouble = Error::Code::unsupported;
    f.pipeline.outputs.push_back({"bad", std::move(sink)});
  }
  RunStats stats;
  const auto run = [&] { return run_context(f.pipeline, f.host, {}, &stats, nullptr); };
  const ContextSummary for_good = run();
  assert_false(for_good.reason.empty());
  assert_false(for_good.may_pass);
  f.add_output(false);
  assert_true(run().may_pass);
  f.pipeline.outputs.clear();
  auto picky = std::make_unique<Sink>(&f.results, true);
  picky->is_wanted = false;
  f.pipeline.outputs.push_back({"picky", std::move(picky)});
  stats = {};
  const ContextSummary left_out = run();
  assert_true(left_out.reason.empty() && left_out.outputs.empty());
  assert_int_equal(stats.succeeded, 1);
}

void a_run_that_finds_no_jobs_for_trouble_says_so(void**) {
  Fixture f{};
  f.pipeline.contexts = std::make_unique<NoContexts>();
  const RunSummary run = run_pipeline(f.pipeline, f.host);
  assert_non_null(std::strstr(run.error.c_str(), "sacct is away"));
  assert_int_equal(run.exit_code, kExitNoOutput);
  Fixture none{};
  assert_int_equal(run_pipeline(none.pipeline, none.host).exit_code, kExitOk);
}

}  // namespace

int main() {
  log_start("test", LogLevel::off, LogFormat::text);
  const CMUnitTest tests[] = {
      cmocka_unit_test(every_context_has_its_end),
      cmocka_unit_test(deliveries_are_counted_apart_from_collection),
      cmocka_unit_test(a_collector_that_throws_costs_its_own_report),
      cmocka_unit_test(a_collector_that_cannot_be_opened_still_reports),
      cmocka_unit_test(each_collector_has_a_deadline_and_the_run_has_one),
      cmocka_unit_test(outputs_fail_one_by_one),
      cmocka_unit_test(what_trying_again_would_not_help_is_told_apart),
      cmocka_unit_test(a_run_that_finds_no_jobs_for_trouble_says_so),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
