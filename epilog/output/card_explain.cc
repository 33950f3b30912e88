// SPDX-License-Identifier: Apache-2.0
// See card_explain.hh.
#include "epilog/output/card_explain.hh"

#include <fmt/core.h>

#include <cmath>
#include <map>
#include <string>

#include "epilog/output/card_writer.hh"

namespace nvab {
namespace {

std::string numbered(std::size_t index) { return fmt::format("#{}", index + 1); }

// "because of #3", "nothing explains it", "dropped: recovered".
std::string standing_of(const TimelineItem& item) {
  if (!item.mark.empty()) return "dropped: " + item.mark;
  if (item.caused_by) {
    return "because of " + numbered(static_cast<std::size_t>(*item.caused_by));
  }
  return "nothing explains it";
}

// Of one rule for one reason; a thousand ranks say the same.
constexpr int kMaxAlike = 3;

void explain_items(const AttributionResult& result, bool marked, CardWriter* out) {
  const auto& timeline = result.verdict.timeline;
  std::map<std::string, int> alike;  // by rule and standing
  for (std::size_t i = 0; i < timeline.size(); ++i) {
    const TimelineItem& item = timeline[i];
    if (item.mark.empty() == marked) continue;
    const std::string standing = standing_of(item);
    if (++alike[item.rule + ", " + standing] > kMaxAlike) continue;
    const bool is_root = !marked && item.rule == result.verdict.root_cause.rule;
    out->evidence(numbered(i), item, is_root);
    out->field("", fmt::format("  {}, {}", item.role, standing));
  }
  for (const auto& [what, count] : alike) {
    if (count > kMaxAlike) {
      out->field("", fmt::format("and {} more of {}", count - kMaxAlike, what));
    }
  }
}

bool any_marked(const Verdict& verdict, bool marked) {
  for (const TimelineItem& item : verdict.timeline) {
    if (item.mark.empty() != marked) return true;
  }
  return false;
}

void explain_confidence(const RootCause& cause, CardWriter* out) {
  out->heading("How sure, and why");
  for (const ConfidenceStep& step : cause.confidence_steps) {
    out->field("", fmt::format("{:.2f} {}", step.confidence, step.why));
  }
}

void explain_shadow(const Verdict& verdict, CardWriter* out) {
  out->heading("Rules in shadow mode, without effect");
  for (const ShadowFinding& finding : verdict.shadow) {
    out->field("", fmt::format("{} ({}, {} times): {}", finding.rule, finding.role, finding.events,
                               finding.text));
  }
}

void explain_reading(const AttributionResult& result, CardWriter* out) {
  out->heading("What was read");
  for (const ConnectorReport& report : result.connector_reports) {
    std::string text = fmt::format("{} in {:.3f} s, {} observations", to_string(report.status),
                                   report.seconds, report.observation_count);
    if (!report.details.is_null() && report.details.size() > 0)
      text += ", " + report.details.dump();
    out->field("", report.connector + ": " + text);
  }
  const RulesetName& rules = result.verdict.ruleset;
  out->field("", fmt::format("rules: {} {}", rules.name, rules.digest));
}

}  // namespace

void explain(const AttributionResult& result, CardWriter* out) {
  const Verdict& verdict = result.verdict;
  if (!verdict.root_cause.confidence_steps.empty()) explain_confidence(verdict.root_cause, out);
  if (any_marked(verdict, false)) {
    out->heading("What explains what");
    explain_items(result, false, out);
  }
  if (any_marked(verdict, true)) {
    out->heading("What was dropped, and why");
    explain_items(result, true, out);
  }
  if (!verdict.alternatives.empty()) {
    out->heading("Alternatives, and why not");
    for (const Alternative& other : verdict.alternatives) {
      out->field("", fmt::format("{} ({}, {:.0f}%): {}", other.id, to_string(other.sub_domain),
                                 std::round(other.confidence * 100), other.why_not));
    }
  }
  if (!verdict.shadow.empty()) explain_shadow(verdict, out);
  explain_reading(result, out);
}

}  // namespace nvab
