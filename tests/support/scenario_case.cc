// SPDX-License-Identifier: Apache-2.0
#include "tests/support/scenario_case.hh"

#include <algorithm>
#include <cstdlib>
#include <set>

#include "common/base/file.hh"
#include "common/base/text.hh"
#include "common/engine/extract/stream_reader.hh"
#include "epilog/log/task_table.hh"
#include "epilog/metric/metrics_json.hh"

namespace nvab::test {
namespace {

constexpr std::size_t kMaxFile = 64 * 1024 * 1024;
constexpr std::size_t kProbe = 64 * 1024;

[[noreturn]] void give_up(const std::string& what) {
  std::fprintf(stderr, "%s\n", what.c_str());
  std::exit(1);
}

std::string must_read(const std::string& path) {
  auto text = read_file(path, kMaxFile);
  if (!text) give_up(text.error().message);
  return std::move(*text);
}

Json must_parse(const std::string& path) {
  auto json = Json::parse(must_read(path));
  if (!json) give_up(path + ": " + json.error().message);
  return std::move(*json);
}

void load_files(const std::string& folder, Source source, ScenarioCase* scenario) {
  const std::string sub = std::string(to_string(source));
  const auto names = list_folder(folder + "/" + sub);
  if (!names) return;
  for (const std::string& name : *names) {
    const std::string path = sub + "/" + name;
    scenario->files.push_back({source, path, must_read(folder + "/" + path)});
  }
}

void load_samples(const std::string& folder, ScenarioCase* scenario) {
  if (!exists(folder + "/metrics.json")) return;
  for (const Json& element : must_parse(folder + "/metrics.json").elements()) {
    auto series = parse_series(element.dump());
    if (!series) give_up(folder + ": " + series.error().message);
    scenario->samples.insert(scenario->samples.end(), series->begin(), series->end());
  }
}

void load_tasks(const std::string& folder, ScenarioCase* scenario) {
  if (!exists(folder + "/task_exits.ndjson")) return;
  TaskTable table(scenario->context);
  const std::string text = must_read(folder + "/task_exits.ndjson");
  for (const std::string_view line : split(text, '\n')) table.add_line(line);
  scenario->tasks = table.tasks();
}

ScenarioCase load_scenario(const std::string& folder) {
  ScenarioCase scenario;
  scenario.name = folder.substr(folder.rfind('/') + 1);
  scenario.label = must_parse(folder + "/expected.json");
  auto context = context_from_json(must_parse(folder + "/job.json"));
  if (!context) give_up(folder + ": " + context.error().message);
  scenario.context = std::move(*context);
  load_files(folder, Source::applog, &scenario);
  load_files(folder, Source::syslog, &scenario);
  load_samples(folder, &scenario);
  load_tasks(folder, &scenario);
  return scenario;
}

Observation read_file_evidence(const Ruleset& rules, const ScenarioCase& scenario,
                               const EvidenceFile& file, const Delivery& delivery) {
  Observation observation;
  observation.source = file.source;
  const std::string_view text = file.text;
  const std::string_view head = text.substr(0, kProbe);
  const std::string_view tail = text.substr(text.size() - std::min(text.size(), kProbe));
  StreamReader reader(rules, probe_stream(file.name, file.source, head, tail, scenario.context),
                      [&](LogEntry&& entry) {
                        if (delivery.entry && !delivery.entry(entry, file.source)) return;
                        observation.entries.push_back(std::move(entry));
                      });
  reader.feed(text);
  observation.coverage.streams.push_back(reader.finish());
  return observation;
}

std::set<std::string> names(const Json& list) {
  const auto all = strings_of(list);
  return {all.begin(), all.end()};
}

}  // namespace

std::vector<ScenarioCase> load_scenarios(const std::string& root) {
  std::vector<ScenarioCase> scenarios;
  const auto folders = list_folder(root);
  if (!folders) give_up(folders.error().message);
  for (const std::string& name : *folders) {
    if (exists(root + "/" + name + "/expected.json"))
      scenarios.push_back(load_scenario(root + "/" + name));
  }
  return scenarios;
}

AttributionResult judge(const Ruleset& rules, const ScenarioCase& scenario,
                        const Delivery& delivery) {
  std::vector<Observation> observations;
  for (const EvidenceFile& file : scenario.files) {
    observations.push_back(read_file_evidence(rules, scenario, file, delivery));
  }
  Observation metrics, tasks;
  metrics.source = Source::node_metrics;
  metrics.samples = scenario.samples;
  tasks.source = Source::task_exits;
  tasks.task_exits = scenario.tasks;
  observations.push_back(std::move(metrics));
  observations.push_back(std::move(tasks));
  if (delivery.backwards) std::reverse(observations.begin(), observations.end());
  Engine engine(rules, scenario.context);
  for (const Observation& observation : observations) engine.ingest(observation);
  return enrich(scenario.context, engine.attribute(), {}, {});
}

bool is_right(const ScenarioCase& scenario, const AttributionResult& result) {
  const Json& label = scenario.label;
  const auto one_of = [&](std::string_view word, std::string_view key) {
    return label.get(key).as_string() == word ||
           names(label.get(std::string(key) + "_also")).contains(std::string(word));
  };
  const std::vector<std::string>& nodes = result.verdict.culprits.nodes;
  const std::set<std::string> blamed(nodes.begin(), nodes.end());
  bool right_nodes = blamed == names(label.get("culprit_nodes"));
  for (const Json& also : label.get("culprit_nodes_also").elements()) {
    right_nodes = right_nodes || blamed == names(also);
  }
  return right_nodes && one_of(to_string(result.sub_domain), "domain") &&
         one_of(to_string(result.verdict.advice.action), "retry");
}

bool is_unknown(const AttributionResult& result) { return result.sub_domain == SubDomain::unknown; }

}  // namespace nvab::test
