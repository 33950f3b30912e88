// SPDX-License-Identifier: Apache-2.0
// See rules_diff.hh.
#include "epilog/rules_diff.hh"

#include <fmt/core.h>

#include <cmath>
#include <map>

#include "common/base/hostlist.hh"
#include "common/base/json.hh"
#include "common/base/text.hh"

namespace nvab {
namespace {

std::string cause_text(const Verdict& verdict) {
  if (verdict.root_cause.id.empty()) return "none";
  return verdict.root_cause.id + " by " + verdict.root_cause.rule;
}

std::string culprits_text(const Verdict& verdict) {
  std::vector<std::string> parts;
  if (!verdict.culprits.nodes.empty()) parts.push_back(fold_hostlist(verdict.culprits.nodes));
  for (const GpuRef& gpu : verdict.culprits.gpus) {
    std::string name = gpu.pci.empty() ? gpu.uuid : gpu.pci;
    if (gpu.index) name = std::to_string(*gpu.index);
    parts.push_back("gpu " + gpu.node + "/" + name);
  }
  for (const NicRef& nic : verdict.culprits.nics)
    parts.push_back("nic " + nic.node + "/" + nic.device);
  if (verdict.first_failing_rank) {
    parts.push_back(fmt::format("rank {}", *verdict.first_failing_rank));
  }
  return parts.empty() ? "none" : join(parts, ", ");
}

std::string drain_text(const Verdict& verdict) {
  std::vector<std::string> nodes;
  for (const DrainAdvice& drain : verdict.advice.drain) nodes.push_back(drain.node);
  return nodes.empty() ? "none" : fold_hostlist(nodes);
}

std::string confidence_text(const Verdict& verdict) {
  return fmt::format("{:.2f}", verdict.root_cause.confidence);
}

Json diff_json(const BundleDiff& diff) {
  Json changes = Json::array();
  for (const Change& change : diff.changes) {
    Json item = Json::object();
    item.set("what", Json::of(change.what)).set("before", Json::of(change.before));
    changes.push(std::move(item.set("after", Json::of(change.after))));
  }
  Json out = Json::object();
  return std::move(out.set("bundle", Json::of(diff.bundle)).set("changes", std::move(changes)));
}

}  // namespace

std::vector<Change> compare_verdicts(const Verdict& before, const Verdict& after) {
  std::vector<Change> changes;
  const auto compare = [&](std::string_view what, const std::string& old, const std::string& now) {
    if (old != now) changes.push_back({what, old, now});
  };
  compare("outcome", before.outcome, after.outcome);
  compare("root_cause", cause_text(before), cause_text(after));
  compare("culprits", culprits_text(before), culprits_text(after));
  compare("drain", drain_text(before), drain_text(after));
  compare("action", std::string(to_string(before.advice.action)),
          std::string(to_string(after.advice.action)));
  compare("advice", before.advice.summary, after.advice.summary);
  const double shift = std::abs(before.root_cause.confidence - after.root_cause.confidence);
  constexpr double kRounding = 1e-9;
  if (shift >= kSmallShift - kRounding) {
    compare("confidence", confidence_text(before), confidence_text(after));
  }
  return changes;
}

Result<BundleDiff> diff_bundle(const std::string& bundle, const Ruleset& before,
                               const Ruleset& after) {
  const auto old = judge_bundle(bundle, before, {});
  if (!old) return tl::unexpected<Error>(old.error());
  const auto now = judge_bundle(bundle, after, {});
  if (!now) return tl::unexpected<Error>(now.error());
  return BundleDiff{bundle, compare_verdicts(old->judgement.verdict, now->judgement.verdict)};
}

std::string diffs_text(const std::vector<BundleDiff>& diffs) {
  std::string out;
  std::map<std::string_view, int> totals;
  std::size_t changed = 0;
  for (const BundleDiff& diff : diffs) {
    if (diff.changes.empty()) continue;
    ++changed;
    out += diff.bundle + "\n";
    for (const Change& change : diff.changes) {
      ++totals[change.what];
      out += fmt::format("  {:<11} {} -> {}\n", change.what, change.before, change.after);
    }
  }
  out += fmt::format("{} of {} verdicts change", changed, diffs.size());
  std::string_view separator = ": ";
  for (const auto& [what, count] : totals) {
    out += fmt::format("{}{} {}", std::exchange(separator, ", "), count, what);
  }
  return out + "\n";
}

std::string diffs_json(const std::vector<BundleDiff>& diffs) {
  Json changed = Json::array();
  for (const BundleDiff& diff : diffs) {
    if (!diff.changes.empty()) changed.push(diff_json(diff));
  }
  Json out = Json::object();
  out.set("bundles", Json::of(static_cast<unsigned long>(diffs.size())));
  return out.set("changed", std::move(changed)).dump() + "\n";
}

}  // namespace nvab
