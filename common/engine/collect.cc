// SPDX-License-Identifier: Apache-2.0
// The verdict: culprits, advice with what may be drained, timeline, victims, alternatives.
#include "common/engine/collect.hh"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <set>

#include "common/base/hostlist.hh"
#include "common/base/text.hh"
#include "common/engine/refine/refine.hh"

namespace nvab {
namespace {

// Repair is advised only on this much certainty: a wrong drain is the worst answer.
constexpr double kDrainConfidence = 0.8;

double rounded(double confidence) {
  return std::round(std::clamp(confidence, 0.0, 0.99) * 100) / 100;
}

std::string two_decimals(double confidence) {
  char text[16];
  std::snprintf(text, sizeof text, "%.2f", rounded(confidence));
  return text;
}

const Event* root_event(const Analysis& a) {
  const Hypothesis* best = a.best();
  return best == nullptr || best->root < 0 ? nullptr
                                           : &a.events[static_cast<std::size_t>(best->root)];
}

std::string describe(const Analysis& a) {
  const Hypothesis* best = a.best();
  const Event* root = root_event(a);
  std::string text;
  if (root != nullptr && a.outcome == root->rule->outcome && !root->rule->explanation.empty()) {
    text = fill_template(root->rule->explanation, *root);
  } else if (root != nullptr) {
    text = root->rule->title;
    if (!best->nodes.empty()) text += " on " + fold_hostlist(best->nodes);
    text += '.';
  } else if (const OutcomeRow* row = find_outcome(a.outcome)) {
    text = "As the scheduler reports: " + std::string(row->meaning) + '.';
  }
  // What a capture ends with is no end of a sentence.
  if (!text.empty() && std::string_view(".!?").find(text.back()) == std::string_view::npos) {
    text += '.';
  }
  if (best != nullptr && !best->note.empty()) text += ' ' + best->note + '.';
  return text;
}

void fill_root_cause(Analysis& a) {
  RootCause& cause = a.verdict.root_cause;
  const Hypothesis* best = a.best();
  if (a.outcome == "unknown") {
    cause.title = "The evidence does not say why the job ended";
    cause.explanation =
        best != nullptr && !best->note.empty() ? best->note + '.' : cause.title + '.';
    if (best != nullptr) cause.confidence = rounded(1.0 - best->confidence);
    return;
  }
  cause.confidence = rounded(best->confidence);
  for (const ConfidenceStep& step : best->steps) {
    cause.confidence_steps.push_back({step.why, std::round(step.confidence * 1000) / 1000});
  }
  cause.explanation = describe(a);
  const Event* root = root_event(a);
  if (root == nullptr) {
    cause.id = a.outcome;
    cause.title = std::string(find_outcome(a.outcome)->meaning);
    cause.rule = "scheduler." + a.outcome;
    return;
  }
  cause.id = root->rule->cause;
  cause.title = root->rule->title;
  cause.rule = root->rule->id;
  cause.time = root->time;
}

void fill_culprits(Analysis& a) {
  const Hypothesis& best = a.hypotheses.front();
  Culprits& culprits = a.verdict.culprits;
  culprits.nodes = best.nodes;
  std::sort(culprits.nodes.begin(), culprits.nodes.end(), host_less);
  culprits.nodes.erase(std::unique(culprits.nodes.begin(), culprits.nodes.end()),
                       culprits.nodes.end());
  for (const GpuRef& gpu : best.gpus) {
    culprits.gpus.push_back(a.placement.gpu(gpu.node, gpu.index, gpu.pci, gpu.uuid));
  }
  std::sort(culprits.gpus.begin(), culprits.gpus.end());
  culprits.gpus.erase(std::unique(culprits.gpus.begin(), culprits.gpus.end()), culprits.gpus.end());
  culprits.nics = best.nics;
  std::sort(culprits.nics.begin(), culprits.nics.end());
  culprits.ranks = best.ranks;
  if (!culprits.nodes.empty() || best.first_rank) {
    std::sort(culprits.ranks.begin(), culprits.ranks.end());
  }
  constexpr std::size_t kMaxRanks = 64;  // more is a crowd, not a list of culprits
  if (culprits.ranks.size() > kMaxRanks) culprits.ranks.clear();
  a.verdict.first_failing_rank = best.first_rank;
}

// What the job's owner can bring about proves nothing against a node: the program's output, how its
// tasks ended, its state. Nor does what follows from any fault (timeouts, lost peers).
bool testifies(const Event& event) {
  switch (event.source) {
    case Source::applog:
    case Source::task_exits:
    case Source::flight_recorder:
      return false;
    case Source::scheduler:
      return !event.capture("node").empty();
    case Source::syslog:
    case Source::node_metrics:
      break;
  }
  return event.trust != Trust::user && event.rule->role != Role::cascade;
}

// The transport proves it, or two independent sources tell of the same node.
bool may_drain(const Analysis& a, const Hypothesis& best, const std::string& node) {
  std::set<Source> sources;
  bool trusted = false;
  for (const int index : best.events) {
    const Event& event = a.events[static_cast<std::size_t>(index)];
    if (event.place.node != node || !testifies(event)) continue;
    sources.insert(event.source);
    trusted |= event.trust == Trust::kernel && event.cause < 0;
  }
  return best.drain && best.confidence >= kDrainConfidence && (trusted || sources.size() >= 2);
}

std::string drain_component(const Analysis& a, const std::string& node) {
  for (const GpuRef& gpu : a.verdict.culprits.gpus) {
    if (gpu.node == node && gpu.index) return "gpu" + std::to_string(*gpu.index);
  }
  for (const NicRef& nic : a.verdict.culprits.nics) {
    if (nic.node == node) return nic.device;
  }
  return "node";
}

void fill_advice(Analysis& a) {
  Advice& advice = a.verdict.advice;
  const OutcomeRow* row = find_outcome(a.outcome);
  advice.action = row->action;
  if (a.outcome == "unknown") {
    advice.summary = "Look at the evidence; nothing in it is decisive.";
    return;
  }
  const Hypothesis& best = a.hypotheses.front();
  const Event* root = root_event(a);
  const bool rule_speaks = root != nullptr && root->rule->outcome == a.outcome;
  if (rule_speaks && root->rule->action) advice.action = *root->rule->action;
  if (best.action) advice.action = *best.action;
  const bool nobody = a.verdict.culprits.nodes.empty();
  if (advice.action == Action::requeue_exclude_nodes && nobody) {
    advice.action = Action::requeue;
    advice.summary = "Submit the job again; the evidence does not say which node to avoid.";
  } else if (advice.action == Action::requeue_exclude_nodes) {
    advice.exclude_nodes = a.verdict.culprits.nodes;
  }
  for (const std::string& node : a.verdict.culprits.nodes) {
    if (!may_drain(a, best, node)) continue;
    advice.drain.push_back({node,
                            "nvab:" + std::string(to_string(row->sub_domain)) + ':' +
                                drain_component(a, node) + ':' + root->rule->id + ':' +
                                a.context.job_id,
                            rounded(best.confidence)});
  }
  if (rule_speaks && !root->rule->advice.empty() && advice.summary.empty())
    advice.summary = fill_template(root->rule->advice, *root);
}

std::string default_summary(const Verdict& verdict) {
  switch (verdict.advice.action) {
    case Action::investigate:
      return "Look at the evidence; nothing in it is decisive.";
    case Action::none_needed:
      return "Nothing needs to be done.";
    case Action::requeue:
      return "Submit the job again; no choice of nodes would have avoided this.";
    case Action::requeue_exclude_nodes:
      return "Submit the job again without " + fold_hostlist(verdict.advice.exclude_nodes) + '.';
    case Action::fix_before_retry:
      return "Fix the cause first: the same job would fail again.";
    case Action::resubmit_with_more_time:
      return "Submit again with a longer time limit.";
    case Action::resubmit_with_more_memory:
      return "Submit again with more memory, or use less.";
  }
  return {};
}

TimelineItem timeline_item(const Event& event) {
  TimelineItem item;
  item.time = event.time;
  item.node = event.place.node.empty() ? event.place.observer : event.place.node;
  item.rank = event.place.rank;
  item.role = to_string(event.rule->role);
  item.rule = event.rule->id;
  item.text = event.text;
  item.origin = event.origin;
  item.mark = to_string(event.mark);
  return item;
}

bool is_noise(const Event& event) {
  return event.rule->role == Role::placement || event.rule->role == Role::progress ||
         event.mark == Mark::benign || event.mark == Mark::superseded;
}

// The root, what it explains and what competes with it; then what was set aside, for --explain.
void fill_timeline(Analysis& a) {
  std::vector<int> chosen;
  std::set<int> wanted;
  if (const Hypothesis* best = a.best(); best != nullptr && best->root >= 0) {
    wanted.insert(best->root);
    for (const int index : best->events) {
      if (wanted.size() < kMaxTimeline / 2) wanted.insert(index);
    }
  }
  std::size_t marked = 0;
  for (std::size_t i = 0; i < a.events.size(); ++i) {
    const Event& event = a.events[i];
    if (is_noise(event)) continue;
    if (event.counts() ? wanted.size() < kMaxTimeline : marked++ < kMaxTimelineMarked) {
      wanted.insert(static_cast<int>(i));
    }
  }
  chosen.assign(wanted.begin(), wanted.end());
  std::map<int, int> position;
  for (const int index : chosen) {
    position[index] = static_cast<int>(a.verdict.timeline.size());
    a.verdict.timeline.push_back(timeline_item(a.events[static_cast<std::size_t>(index)]));
  }
  for (const int index : chosen) {
    const auto cause = position.find(a.events[static_cast<std::size_t>(index)].cause);
    if (cause == position.end()) continue;
    a.verdict.timeline[static_cast<std::size_t>(position[index])].caused_by = cause->second;
  }
}

void fill_victims(Analysis& a) {
  const Hypothesis* best = a.best();
  if (best == nullptr || best->root < 0 || a.outcome == "unknown") return;
  std::set<int> ranks;
  std::set<std::string> nodes;
  for (const int index : best->events) {
    const Event& event = a.events[static_cast<std::size_t>(index)];
    if (event.cause < 0) continue;
    a.verdict.victims.by_rule[event.rule->id] += static_cast<int>(event.count);
    if (event.place.rank && event.place.rank != best->first_rank) ranks.insert(*event.place.rank);
    const bool culprit =
        std::find(best->nodes.begin(), best->nodes.end(), event.place.node) != best->nodes.end();
    if (!event.place.node.empty() && !culprit) nodes.insert(event.place.node);
  }
  a.verdict.victims.ranks = static_cast<int>(ranks.size());
  a.verdict.victims.nodes = static_cast<int>(nodes.size());
}

// The last thing that was weighed against it; empty: nothing was.
std::string what_was_against(const Hypothesis& hypothesis) {
  const auto& steps = hypothesis.steps;
  for (std::size_t i = steps.size(); i > 1; --i) {
    if (steps[i - 1].confidence < steps[i - 2].confidence) return steps[i - 1].why;
  }
  return {};
}

std::string why_not(const Analysis& a, const Hypothesis& other) {
  if (!other.why_not.empty()) return other.why_not;
  const Hypothesis& best = a.hypotheses.front();
  const std::string against = what_was_against(other);
  if (a.outcome == "unknown") {
    return against.empty() ? "not enough evidence" : "not enough evidence: " + against;
  }
  if (best.root >= 0 && other.root >= 0 &&
      surely_after(a.events[static_cast<std::size_t>(other.root)],
                   a.events[static_cast<std::size_t>(best.root)])) {
    return "it came later than the root cause";
  }
  if (!against.empty()) return against;
  return "less evidence speaks for it: " + two_decimals(other.confidence) + " against " +
         two_decimals(best.confidence);
}

bool is_like_the_answer(const Analysis& a, const Hypothesis& other) {
  const Event& root = a.events[static_cast<std::size_t>(other.root)];
  const Hypothesis& best = a.hypotheses.front();
  return root.rule->cause == a.verdict.root_cause.id ||
         (best.root < 0 && best.outcome == other.outcome);
}

bool is_within(const std::vector<std::string>& nodes, const std::vector<std::string>& all) {
  return std::all_of(nodes.begin(), nodes.end(), [&](const std::string& node) {
    return std::find(all.begin(), all.end(), node) != all.end();
  });
}

void fill_alternatives(Analysis& a) {
  const std::size_t first = a.outcome == "unknown" ? 0 : 1;
  for (std::size_t i = first;
       i < a.hypotheses.size() && a.verdict.alternatives.size() < kMaxAlternatives; ++i) {
    const Hypothesis& other = a.hypotheses[i];
    if (other.root < 0) continue;
    const Event& root = a.events[static_cast<std::size_t>(other.root)];
    std::string reason = why_not(a, other);
    if (a.outcome != "unknown" && is_like_the_answer(a, other)) {
      if (is_within(other.nodes, a.hypotheses.front().nodes)) continue;  // it is the answer
      reason = "on " + fold_hostlist(other.nodes) + ": " + reason;
    }
    a.verdict.alternatives.push_back({root.rule->cause, sub_domain_of(other.outcome),
                                      rounded(other.confidence * 0.5), std::move(reason)});
  }
}

// Nodes to blame with the rules that blame them, and nodes that showed symptoms with none.
void fill_attributions(Analysis& a) {
  std::map<std::string, std::set<std::string>> by_node;
  for (const Event& event : a.events) {
    if (is_symptom(event) && !event.place.node.empty()) by_node[event.place.node];
  }
  const Hypothesis* best = a.outcome == "unknown" ? nullptr : a.best();
  if (best != nullptr) {
    for (const std::string& node : best->nodes) {
      std::set<std::string>& rules = by_node[node];
      for (const int index : best->events) {
        const Event& event = a.events[static_cast<std::size_t>(index)];
        if (event.place.node == node && event.cause < 0) rules.insert(event.rule->id);
      }
      if (rules.empty()) rules.insert(a.verdict.root_cause.rule);
    }
  }
  for (const auto& [node, rules] : by_node) {
    if (a.verdict.attributions.size() >= kMaxAttributions) break;
    a.verdict.attributions.push_back({node, {rules.begin(), rules.end()}});
  }
}

// A finding for each rule in shadow mode, of its first event.
void fill_shadow(Analysis& a) {
  std::map<std::string_view, ShadowFinding> found;
  for (const Event& event : a.shadow) {
    const auto [at, is_new] = found.try_emplace(event.rule->id);
    ShadowFinding& finding = at->second;
    finding.events += static_cast<int>(event.count);
    if (!is_new) continue;
    finding.rule = event.rule->id;
    finding.role = to_string(event.rule->role);
    finding.outcome = event.rule->outcome;
    finding.time = event.time;
    finding.node = event.place.node.empty() ? event.place.observer : event.place.node;
    finding.rank = event.place.rank;
    finding.text = event.text;
    finding.origin = event.origin;
  }
  for (auto& [rule, finding] : found) {
    if (a.verdict.shadow.size() >= kMaxShadow) break;
    a.verdict.shadow.push_back(std::move(finding));
  }
}

}  // namespace

std::string fill_template(std::string_view text, const Event& event) {
  std::string out;
  while (!text.empty()) {
    const std::size_t open = text.find('{');
    out += text.substr(0, open);
    if (open == std::string_view::npos) break;
    const std::size_t close = text.find('}', open);
    if (close == std::string_view::npos) return out += text.substr(open);
    const std::string_view name = text.substr(open + 1, close - open - 1);
    const Place& place = event.place;
    std::string value(event.capture(name));
    if (name == "node") value = place.node.empty() ? place.observer : place.node;
    if (name == "rank" && place.rank) value = std::to_string(*place.rank);
    if (name == "gpu") value = place.gpu ? std::to_string(*place.gpu) : place.pci;
    if (name == "nic") value = place.nic;
    if (name == "peer" && !place.peers.empty()) value = place.peers.front();
    text.remove_prefix(close + 1);
    if (!value.empty()) {
      out += value;
    } else if (text.empty() && out.ends_with(": ")) {
      out.resize(out.size() - 2);  // what came behind it is missing: the sentence ends here
    } else {
      out += name == "node" || name == "peer" ? "an unknown node" : "(unknown)";
    }
  }
  return out;
}

void collect_verdict(Analysis& a) {
  a.verdict.outcome = a.outcome;
  fill_root_cause(a);
  if (a.outcome != "unknown") fill_culprits(a);
  fill_advice(a);
  if (a.verdict.advice.summary.empty()) a.verdict.advice.summary = default_summary(a.verdict);
  fill_timeline(a);
  fill_victims(a);
  fill_alternatives(a);
  fill_attributions(a);
  fill_shadow(a);
  a.verdict.missing = a.missing;
  a.verdict.ruleset = a.rules.name();
}

}  // namespace nvab
