// SPDX-License-Identifier: Apache-2.0
// A scenario folder in memory, so that tests can change its evidence and judge it again without
// files or processes.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "common/base/json.hh"
#include "common/engine/engine.hh"
#include "common/model/result.hh"

namespace nvab::test {

struct EvidenceFile {
  Source source = Source::applog;
  std::string name;  // "syslog/n1.log"
  std::string text;
};

struct ScenarioCase {
  std::string name;
  Json label;
  ExecutionContext context;
  std::vector<EvidenceFile> files;
  std::vector<MetricSample> samples;
  std::vector<TaskExit> tasks;
};

// Every folder of `root` that has an expected.json. A folder that cannot be read ends the test.
std::vector<ScenarioCase> load_scenarios(const std::string& root);

// How the evidence of one judgement differs from the files.
struct Delivery {
  // Changes an entry before it is ingested; false drops it.
  std::function<bool(LogEntry&, Source)> entry;
  bool backwards = false;  // observations in reverse order
};

AttributionResult judge(const Ruleset& rules, const ScenarioCase& scenario,
                        const Delivery& delivery = {});

// Domain, nodes and action as the label says.
bool is_right(const ScenarioCase& scenario, const AttributionResult& result);
bool is_unknown(const AttributionResult& result);

}  // namespace nvab::test
