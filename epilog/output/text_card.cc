// SPDX-License-Identifier: Apache-2.0
// The card's sections from top to bottom. Layout of a line is text_layout's, words are the
// verdict's.
#include "epilog/output/text_card.hh"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/base/hostlist.hh"
#include "common/base/text.hh"
#include "epilog/output/card_explain.hh"
#include "epilog/output/card_writer.hh"
#include "epilog/output/text_layout.hh"

namespace nvab {
namespace {

// Lines that prove it; more is not read in ten seconds.
constexpr std::size_t kMaxEvidence = 5;

std::string percent(double confidence) {
  return fmt::format("{:.0f}%", std::round(confidence * 100));
}

std::string plural(long long count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

// Infrastructure is red, the workload yellow, nothing wrong green.
Tint tint_of(Domain domain) {
  switch (domain) {
    case Domain::infrastructure:
      return Tint::red;
    case Domain::none:
      return Tint::green;
    case Domain::workload:
    case Domain::scheduler:
    case Domain::external:
    case Domain::user:
    case Domain::time_limit:
    case Domain::unknown:
      return Tint::yellow;
  }
  return Tint::yellow;
}

std::string gpu_text(const GpuRef& gpu) {
  std::string text = gpu.index ? fmt::format("GPU {}", *gpu.index) : "GPU";
  if (!gpu.pci.empty()) text += fmt::format(" ({})", gpu.pci);
  if (!gpu.index && gpu.pci.empty() && !gpu.uuid.empty()) text += " " + gpu.uuid;
  return text;
}

class Card {
 public:
  Card(const AttributionResult& result, const CardStyle& style)
      : result_(result), verdict_(result.verdict), style_(style), out_(style) {}
  std::string draw();

 private:
  void draw_head();
  void draw_cause();
  void draw_who();
  void draw_evidence();
  void draw_consequences();
  void draw_advice();
  void draw_commands();
  void draw_missing();
  std::vector<const TimelineItem*> evidence() const;

  const AttributionResult& result_;
  const Verdict& verdict_;
  CardStyle style_;
  CardWriter out_;
};

void Card::draw_head() {
  const ExecutionContext& context = result_.context;
  std::string left = context.job_id.empty() ? "job" : "job " + context.job_id;
  if (!context.name.empty()) left += " · " + context.name;
  if (!context.user.empty()) left += " · " + context.user;
  if (context.attempt > 0) left += fmt::format(" · attempt {}", context.attempt + 1);
  std::string right = lower(context.base_state());
  if (right.empty()) right = to_string(result_.terminal_state);
  if (context.exit_code) right += " " + to_string(*context.exit_code);
  if (context.start_time && context.end_time && *context.end_time >= *context.start_time) {
    right += " after " + format_duration(*context.end_time - *context.start_time);
  }
  if (!context.nodes.empty()) {
    right += " on " + plural(static_cast<long long>(context.nodes.size()), "node");
  }
  out_.rule(left, right);
  if (result_.provisional) out_.note("The job still runs: this is what is known so far.");
}

void Card::draw_cause() {
  const RootCause& cause = verdict_.root_cause;
  const bool is_known = result_.sub_domain != SubDomain::unknown;
  std::string verdict_word(to_string(result_.sub_domain));
  if (is_known) verdict_word += " · confidence " + percent(cause.confidence);
  out_.title(cause.title, tint_of(result_.domain), verdict_word);
  if (cause.explanation != cause.title + "." && cause.explanation != cause.title) {
    out_.paragraph(cause.explanation);
  }
}

void Card::draw_who() {
  const Culprits& culprits = verdict_.culprits;
  std::vector<std::string> parts;
  if (!culprits.nodes.empty()) {
    parts.push_back((culprits.nodes.size() == 1 ? "node " : "nodes ") +
                    fold_hostlist(culprits.nodes));
  }
  for (const GpuRef& gpu : culprits.gpus) parts.push_back(gpu_text(gpu));
  for (const NicRef& nic : culprits.nics) parts.push_back("port " + nic.device);
  if (verdict_.first_failing_rank) {
    parts.push_back(fmt::format("rank {} failed first", *verdict_.first_failing_rank));
  }
  const bool is_elsewhere =
      result_.domain != Domain::infrastructure && result_.domain != Domain::unknown;
  if (parts.empty() && is_elsewhere) {
    parts.emplace_back("no node or GPU is to blame");
  }
  if (!parts.empty()) out_.field("who", join(parts, ", "));
}

// What proves it first; below it, in the order of time, what confirms it and what followed.
std::vector<const TimelineItem*> Card::evidence() const {
  const std::vector<TimelineItem>& timeline = verdict_.timeline;
  std::vector<std::pair<int, const TimelineItem*>> ranked;
  for (const TimelineItem& item : timeline) {
    if (!item.mark.empty()) continue;
    const bool is_root = item.rule == verdict_.root_cause.rule;
    int weight = 4;
    if (is_root && item.time == verdict_.root_cause.time) {
      weight = 0;
    } else if (is_root || item.role == "confirmation") {
      weight = 1;
    } else if (item.caused_by) {
      weight = 2;
    } else if (item.role == "root") {
      weight = 3;
    }
    ranked.emplace_back(weight, &item);
  }
  const auto by_weight = [](const auto& a, const auto& b) { return a.first < b.first; };
  std::stable_sort(ranked.begin(), ranked.end(), by_weight);
  std::vector<const TimelineItem*> chosen;
  for (const auto& candidate : ranked) {
    const TimelineItem* item = candidate.second;
    // Several rules may tell of one line; once is enough.
    const bool is_shown = std::any_of(chosen.begin(), chosen.end(), [&](const TimelineItem* other) {
      return other->origin == item->origin && other->text == item->text;
    });
    if (!is_shown && chosen.size() < kMaxEvidence) chosen.push_back(item);
  }
  // They lie in one vector in the order of time.
  if (chosen.size() > 1) std::sort(chosen.begin() + 1, chosen.end());
  return chosen;
}

void Card::draw_evidence() {
  const auto chosen = evidence();
  if (chosen.empty()) return out_.field("evidence", "none");
  bool first = true;
  for (const TimelineItem* item : chosen) {
    out_.evidence(first ? "evidence" : "", *item, item->rule == verdict_.root_cause.rule);
    first = false;
  }
}

void Card::draw_consequences() {
  const Victims& victims = verdict_.victims;
  if (victims.ranks > 0 || victims.nodes > 0) {
    std::vector<std::string> rules;
    for (const auto& [rule, count] : victims.by_rule) {
      rules.push_back(fmt::format("{} × {}", count, rule));
    }
    std::string who = victims.ranks > 0 ? plural(victims.ranks, "rank") : "";
    if (victims.nodes > 0) {
      who += (who.empty() ? "" : " on ") + plural(victims.nodes, "node");
    }
    out_.field("followed", who + (rules.empty() ? "" : ": " + join(rules, ", ")));
  }
  const Progress& progress = verdict_.progress;
  std::vector<std::string> parts;
  if (progress.last_step) {
    parts.push_back(fmt::format("step {}", *progress.last_step) +
                    (progress.last_step_time ? " at " + clock_text(*progress.last_step_time) : ""));
  }
  if (progress.last_checkpoint_time) {
    parts.push_back("checkpoint at " + clock_text(*progress.last_checkpoint_time));
  }
  if (progress.lost_gpu_hours && *progress.lost_gpu_hours > 0) {
    parts.push_back(fmt::format("{:.1f} GPU hours lost", *progress.lost_gpu_hours));
  }
  if (!parts.empty()) out_.field("got to", join(parts, ", "));
}

void Card::draw_advice() {
  const Advice& advice = verdict_.advice;
  out_.gap();
  out_.strong_field(
      "do now", advice.summary.empty() ? std::string(to_string(advice.action)) : advice.summary);
  draw_commands();
}

// Lines to paste. Names come from the scheduler; a node name that a shell would not take as it is
// gets no command.
void Card::draw_commands() {
  const Advice& advice = verdict_.advice;
  const auto is_plain = [](std::string_view name) {
    return name.find_first_not_of(
               "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
               ".-_[],") == std::string_view::npos;
  };
  const bool is_slurm = result_.context.scheduler != "kueue";
  if (!advice.exclude_nodes.empty()) {
    const std::string nodes = fold_hostlist(advice.exclude_nodes);
    // Brackets mean something to a shell.
    const bool has_bracket = nodes.find('[') != std::string::npos;
    if (is_slurm && is_plain(nodes)) {
      out_.command(fmt::format("sbatch --exclude={0}{1}{0} SCRIPT", has_bracket ? "'" : "", nodes));
    }
  }
  for (const DrainAdvice& drain : advice.drain) {
    if (!is_plain(drain.node)) continue;
    if (is_slurm) {
      std::string reason = drain.reason;
      std::replace(reason.begin(), reason.end(), '"', '_');
      out_.command(
          fmt::format("scontrol update NodeName={} State=DRAIN Reason=\"{}\"", drain.node, reason));
    } else {
      out_.command("kubectl cordon " + drain.node);
    }
  }
}

void Card::draw_missing() {
  std::vector<std::string> sentences = verdict_.missing;
  for (const ConnectorReport& report : result_.connector_reports) {
    if (report.status == ConnectorStatus::ok) continue;
    sentences.push_back(
        fmt::format("{}: {} ({})", report.connector, report.reason, to_string(report.status)));
  }
  for (const IngestionReport& report : result_.ingestion_reports) {
    if (report.failed > 0) {
      sentences.push_back(fmt::format("{}: {} could not be delivered", report.connector,
                                      plural(report.failed, "observation")));
    }
  }
  bool first = true;
  for (const std::string& sentence : sentences) {
    out_.field(first ? "missing" : "", sentence);
    first = false;
  }
}

std::string Card::draw() {
  draw_head();
  draw_cause();
  draw_who();
  draw_evidence();
  draw_consequences();
  draw_advice();
  draw_missing();
  if (style_.explain) explain(result_, &out_);
  return out_.take();
}

}  // namespace

std::string text_card(const AttributionResult& result, const CardStyle& style) {
  return Card(result, style).draw();
}

}  // namespace nvab
