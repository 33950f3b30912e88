// SPDX-License-Identifier: Apache-2.0
// What the rules engine says about one context (nvab.verdict/1).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/json.hh"
#include "common/base/time.hh"
#include "common/model/observation.hh"
#include "common/model/taxonomy.hh"

namespace nvab {

inline constexpr std::string_view kVerdictSchema = "nvab.verdict/1";

// A step on the way to a confidence: what was weighed, and the confidence after it.
struct ConfidenceStep {
  std::string why;        // "strength of gpu.xid.79", "a second source agrees: node_metrics"
  double confidence = 0;  // 0..1, three decimals
};

struct RootCause {
  std::string id;  // "xid_79_fell_off_bus"; empty: nothing was found
  std::string title;
  std::string rule;       // id of the rule that recognised it
  double confidence = 0;  // 0..1, two decimals
  std::optional<Time> time;
  std::string explanation;                       // one or two sentences for a person
  std::vector<ConfidenceStep> confidence_steps;  // first the prior; the last one is `confidence`
};

struct GpuRef {
  std::string node;
  std::optional<int> index;
  std::string pci, uuid;
  auto operator<=>(const GpuRef&) const = default;
};

struct NicRef {
  std::string node, device;  // "mlx5_4", "ens6f0np0"
  std::optional<int> port;
  auto operator<=>(const NicRef&) const = default;
};

struct Culprits {
  std::vector<std::string> nodes;  // sorted, as the scheduler spells them
  std::vector<GpuRef> gpus;
  std::vector<NicRef> nics;
  std::vector<int> ranks;
};

struct DrainAdvice {
  std::string node;
  std::string reason;  // "nvab:<sub_domain>:<component>:<rule>:<job>"
  double confidence = 0;
};

struct Advice {
  Action action = Action::investigate;
  std::vector<std::string> exclude_nodes;
  std::vector<DrainAdvice> drain;
  std::string summary;  // one sentence: what to do now
};

struct Progress {
  std::optional<long long> last_step;
  std::optional<Time> last_step_time, last_checkpoint_time;
  std::optional<double> lost_gpu_hours;
};

struct TimelineItem {
  std::optional<Time> time;
  std::string node;
  std::optional<int> rank;
  std::string role;  // "root", "cascade", "confirmation", "teardown", "benign", …
  std::string rule;
  std::string text;
  Origin origin;
  std::optional<int> caused_by;  // index into the timeline
  std::string mark;  // why it does not count ("recovered", "outside_window", …); empty: it counts
};

struct Victims {
  int ranks = 0, nodes = 0;
  std::map<std::string, int> by_rule;
};

struct Alternative {
  std::string id;
  SubDomain sub_domain = SubDomain::unknown;
  double confidence = 0;
  std::string why_not;
};

// What a rule in shadow mode found: reported, without effect on anything else.
struct ShadowFinding {
  std::string rule, role, outcome;
  int events = 0;  // how often it matched
  // Of the first one.
  std::optional<Time> time;
  std::string node;
  std::optional<int> rank;
  std::string text;
  Origin origin;
};

// Upstream's item: its nested list is empty for a node that is not to blame.
struct NodeAttribution {
  std::string node;
  std::vector<std::string> attributions;  // rule ids
};

struct RulesetName {
  std::string name, version, digest;
};

struct Verdict {
  std::string outcome;  // "gpu_lost"; "unknown" when nothing was found
  RootCause root_cause;
  Culprits culprits;
  std::optional<int> first_failing_rank;
  Advice advice;
  Progress progress;
  std::vector<TimelineItem> timeline;
  Victims victims;
  std::vector<Alternative> alternatives;
  std::vector<NodeAttribution> attributions;
  std::vector<std::string> missing;   // sentences: what was not there to look at
  std::vector<ShadowFinding> shadow;  // by rule; in the JSON only where there are any
  RulesetName ruleset;
};

// Members in a fixed order: two equal verdicts have the same bytes.
Json to_json(const Verdict& verdict);
// Accepts what to_json writes, also from other versions (unknown members are skipped).
Result<Verdict> verdict_from_json(const Json& json);

}  // namespace nvab
