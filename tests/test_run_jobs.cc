// SPDX-License-Identifier: Apache-2.0
// ctest: threads timeout=300
// Several contexts at the same time come to what each comes to alone: every scenario, by the engine
// in the process, with collectors and rules for each thread.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "common/base/file.hh"
#include "common/base/log.hh"
#include "epilog/parallel.hh"
#include "epilog/progress.hh"
#include "epilog/replay.hh"
#include "tests/cmocka.hh"

using namespace nvab;

namespace {

std::string scenarios() { return std::string(std::getenv("SRCDIR")) + "/tests/scenarios"; }

// All scenarios as the contexts of one run; attempt says which it was.
struct Contexts final : ContextSource {
  std::vector<std::string> names;
  Result<std::vector<ExecutionContext>> discover() override {
    std::vector<ExecutionContext> all;
    Host host;
    for (const std::string& name : names) {
      auto replay = open_replay(scenarios() + "/" + name, host);
      if (!replay) return tl::unexpected(replay.error());
      auto contexts = replay->contexts->discover();
      if (!contexts) return contexts;
      contexts->front().attempt = static_cast<int>(all.size());
      all.push_back(std::move(contexts->front()));
    }
    return all;
  }
};

// What nvab-run --replay would collect for the context.
struct Replayer final : Collector {
  const std::vector<std::string>& names;
  Host& host;
  Replayer(const std::vector<std::string>& all, Host& own) : names(all), host(own) {}
  Source source() const override { return Source::applog; }
  CollectOutcome collect(const ExecutionContext& context, ObservationSink& sink) override {
    auto replay =
        open_replay(scenarios() + "/" + names[static_cast<std::size_t>(context.attempt)], host);
    if (!replay) return {ConnectorStatus::error, replay.error().message, {}};
    for (const NamedCollector& each : replay->collectors) {
      if (each.collector) each.collector->collect(context, sink);
    }
    return {};
  }
};

struct Sink final : Output {
  std::map<int, std::string>* verdicts;
  explicit Sink(std::map<int, std::string>* into) : verdicts(into) {}
  Result<void> write(const AttributionResult& result) override {
    (*verdicts)[result.context.attempt] = to_json(result.verdict).dump();
    return {};
  }
};

struct Parts {
  std::unique_ptr<Ruleset> rules;
  Host host;
  Pipeline pipeline;
};

std::map<int, std::string> verdicts_by(std::size_t jobs, const Ruleset& rules,
                                       const std::vector<std::string>& names) {
  std::map<int, std::string> verdicts;
  std::vector<NamedOutput> outputs;
  outputs.push_back({"sink", std::make_unique<Sink>(&verdicts)});
  auto shared = share_outputs(std::move(outputs), jobs);
  std::vector<std::unique_ptr<Parts>> parts;
  std::vector<Lane> lanes;
  for (std::size_t i = 0; i < jobs; ++i) {
    auto lane = std::make_unique<Parts>();
    lane->rules = rules.clone();
    lane->host.rules = lane->rules.get();
    lane->pipeline.attributor = make_embedded_attributor(*lane->rules);
    lane->pipeline.collectors.push_back(
        {"log.replay", std::make_unique<Replayer>(names, lane->host), Source::applog, {}});
    lane->pipeline.outputs = std::move(shared[i]);
    lanes.push_back({&lane->pipeline, &lane->host});
    parts.push_back(std::move(lane));
  }
  auto contexts = std::make_unique<Contexts>();
  contexts->names = names;
  parts.front()->pipeline.contexts = std::move(contexts);
  const RunSummary run = run_pipeline(lanes);
  assert_string_equal(run.error.c_str(), "");
  assert_int_equal(run.stats.discovered, names.size());
  assert_int_equal(run.stats.attributed, names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    assert_int_equal(run.contexts[i].attempt, i);  // in the order of discovery
    log_debug("context " + run.contexts[i].job);
  }
  return verdicts;
}

void many_jobs_at_a_time_give_the_same_verdicts(void**) {
  auto rules = Ruleset::load("default", "/nonexistent");
  assert_true(rules.has_value());
  std::vector<std::string> names;
  const auto all = list_folder(scenarios());
  assert_true(all.has_value());
  for (const std::string& name : *all) {
    if (exists(scenarios() + "/" + name + "/job.json")) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  assert_true(names.size() > 50);
  const auto alone = verdicts_by(1, **rules, names);
  const auto together = verdicts_by(4, **rules, names);
  assert_int_equal(alone.size(), names.size());
  for (const auto& [index, verdict] : alone) {
    const auto other = together.find(index);
    assert_true(other != together.end());
    assert_string_equal(other->second.c_str(), verdict.c_str());
  }
}

void each_item_is_taken_once_and_threads_are_used(void**) {
  constexpr std::size_t kItems = 100, kThreads = 4;
  std::vector<std::atomic<int>> taken(kItems);
  std::atomic<int> at_once{0}, most{0};
  in_parallel(kItems, kThreads, [&](std::size_t item, std::size_t thread) {
    if (thread >= kThreads) std::abort();
    const int now = ++at_once;
    int seen = most;
    while (now > seen && !most.compare_exchange_weak(seen, now)) {
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    ++taken[item];
    --at_once;
  });
  for (const auto& count : taken) assert_int_equal(count.load(), 1);
  assert_true(most > 1 && most <= static_cast<int>(kThreads));
  in_parallel(0, kThreads, [](std::size_t, std::size_t) { std::abort(); });
}

// A collector's accident costs its context; logging and the progress line are everybody's.
void messages_and_progress_come_from_any_thread(void**) {
  const auto meter = make_terminal_progress();
  in_parallel(200, 4, [&](std::size_t item, std::size_t) {
    log_debug("item " + std::to_string(item));
    if (meter) meter->add_bytes(item);
  });
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(many_jobs_at_a_time_give_the_same_verdicts),
      cmocka_unit_test(each_item_is_taken_once_and_threads_are_used),
      cmocka_unit_test(messages_and_progress_come_from_any_thread),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
