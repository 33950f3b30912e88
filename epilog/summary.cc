// SPDX-License-Identifier: Apache-2.0
// See summary.hh.
#include "epilog/summary.hh"

#include <fmt/core.h>

#include <algorithm>

namespace nvab {
namespace {

Json stats_to_json(const RunStats& stats) {
  Json json = Json::object();
  json.set("discovered", Json::of(stats.discovered));
  json.set("attempted", Json::of(stats.attempted));
  json.set("attributed", Json::of(stats.attributed));
  json.set("conflicted", Json::of(stats.conflicted));
  json.set("failed", Json::of(stats.failed));
  json.set("succeeded", Json::of(stats.succeeded));
  return json;
}

Json context_to_json(const ContextSummary& summary) {
  Json json = Json::object();
  json.set("context", Json::of(summary.context));
  json.set("job", Json::of(summary.job));
  json.set("attempt", Json::of(summary.attempt));
  json.set("status", Json::of(to_string(summary.status)));
  if (!summary.attributor_id.empty()) {
    json.set("attributor_id", Json::of(summary.attributor_id));
  }
  if (!summary.reason.empty()) json.set("reason", Json::of(summary.reason));
  if (summary.status != ContextStatus::attributed) return json;
  json.set("terminal_state", Json::of(to_string(summary.terminal_state)));
  json.set("sub_domain", Json::of(to_string(summary.sub_domain)));
  json.set("domain", Json::of(to_string(domain_of(summary.sub_domain))));
  json.set("cause", Json::of(summary.cause));
  json.set("confidence", Json::of(summary.confidence));
  json.set("culprit_nodes", json_strings(summary.culprit_nodes));
  json.set("action", Json::of(to_string(summary.action)));
  json.set("evidence_status", Json::of(to_string(summary.evidence_status)));
  json.set("provisional", Json::of(summary.provisional));
  Json outputs = Json::array();
  for (const DeliverySummary& delivery : summary.outputs) {
    Json item = Json::object();
    item.set("output", Json::of(delivery.output));
    item.set("status", Json::of(delivery.error.empty() ? "ok" : "failed"));
    if (!delivery.error.empty()) item.set("reason", Json::of(delivery.error));
    outputs.push(std::move(item));
  }
  json.set("outputs", std::move(outputs));
  return json;
}

std::string context_line(const ContextSummary& summary) {
  std::string line = fmt::format("job {}: ", summary.job);
  switch (summary.status) {
    case ContextStatus::attributed:
      line += fmt::format("attributed, {} / {}, {}", to_string(summary.terminal_state),
                          to_string(summary.sub_domain), to_string(summary.action));
      if (!summary.reason.empty()) line += "; " + summary.reason;
      break;
    case ContextStatus::conflicted:
      line += "conflicted, session " + summary.attributor_id + " is open elsewhere";
      break;
    case ContextStatus::failed:
      line += "failed, " + summary.reason;
      break;
  }
  return line + "\n";
}

std::string stats_line(std::string_view name, const RunStats& stats) {
  return fmt::format(
      "{}: {} discovered, {} attempted, {} attributed, {} conflicted, {} failed, {} succeeded\n",
      name, stats.discovered, stats.attempted, stats.attributed, stats.conflicted, stats.failed,
      stats.succeeded);
}

RunStats totals_of(const std::vector<RunSummary>& runs) {
  RunStats totals;
  for (const RunSummary& run : runs) totals += run.stats;
  return totals;
}

}  // namespace

RunStats& RunStats::operator+=(const RunStats& other) {
  discovered += other.discovered;
  attempted += other.attempted;
  attributed += other.attributed;
  conflicted += other.conflicted;
  failed += other.failed;
  succeeded += other.succeeded;
  return *this;
}

std::string_view to_string(ContextStatus status) {
  switch (status) {
    case ContextStatus::attributed:
      return "attributed";
    case ContextStatus::conflicted:
      return "conflicted";
    case ContextStatus::failed:
      return "failed";
  }
  return "";
}

ContextSummary summarize(const AttributionResult& result) {
  ContextSummary summary;
  summary.context = result.context.key();
  summary.job = result.context.job_id;
  summary.attempt = result.context.attempt;
  summary.status = ContextStatus::attributed;
  summary.attributor_id = result.attributor_id;
  summary.terminal_state = result.terminal_state;
  summary.sub_domain = result.sub_domain;
  summary.action = result.verdict.advice.action;
  summary.cause = result.verdict.root_cause.id;
  summary.confidence = result.verdict.root_cause.confidence;
  summary.evidence_status = result.evidence_status;
  summary.culprit_nodes = result.verdict.culprits.nodes;
  summary.provisional = result.provisional;
  return summary;
}

Json summaries_to_json(const std::vector<RunSummary>& runs) {
  Json list = Json::array();
  for (const RunSummary& run : runs) {
    Json item = Json::object();
    item.set("run", Json::of(run.name));
    if (!run.error.empty()) item.set("error", Json::of(run.error));
    item.set("exit_code", Json::of(run.exit_code));
    item.set("last_run_stats", stats_to_json(run.stats));
    Json contexts = Json::array();
    for (const ContextSummary& context : run.contexts) contexts.push(context_to_json(context));
    item.set("last_run_summaries", std::move(contexts));
    list.push(std::move(item));
  }
  Json json = Json::object();
  json.set("schema", Json::of("nvab.summary/1"));
  json.set("runs", std::move(list));
  json.set("totals", stats_to_json(totals_of(runs)));
  return json;
}

std::string summaries_to_text(const std::vector<RunSummary>& runs) {
  std::string text;
  for (const RunSummary& run : runs) {
    for (const ContextSummary& context : run.contexts) text += context_line(context);
    if (run.error.empty()) {
      text += stats_line(run.name, run.stats);
    } else {
      text += fmt::format("{}: {}\n", runs.size() > 1 ? run.name : "nvab-run", run.error);
    }
  }
  if (runs.size() > 1) text += stats_line(fmt::format("all {} runs", runs.size()), totals_of(runs));
  return text;
}

int exit_code_of(const RunSummary& run, bool strict) {
  if (!run.error.empty()) return run.exit_code != kExitOk ? run.exit_code : kExitNoOutput;
  if (run.stats.attempted > 0 && run.stats.succeeded == 0) return kExitNoOutput;
  if (!strict) return kExitOk;
  const bool all_complete =
      std::all_of(run.contexts.begin(), run.contexts.end(), [](const ContextSummary& context) {
        return context.status != ContextStatus::attributed ||
               context.evidence_status == EvidenceStatus::complete;
      });
  return all_complete ? kExitOk : kExitIncomplete;
}

int exit_code_of(const std::vector<RunSummary>& runs) {
  for (const RunSummary& run : runs) {
    if (run.exit_code != kExitOk) return run.exit_code;
  }
  return kExitOk;
}

int exit_code_of(Action action) {
  switch (action) {
    case Action::none_needed:
      return 10;
    case Action::requeue:
      return 11;
    case Action::requeue_exclude_nodes:
      return 12;
    case Action::resubmit_with_more_time:
      return 13;
    case Action::resubmit_with_more_memory:
      return 14;
    case Action::fix_before_retry:
      return 15;
    case Action::investigate:
      return 16;
  }
  return 16;
}

int exit_code_by_action(const std::vector<RunSummary>& runs) {
  int code = exit_code_of(runs);
  if (code != kExitOk) return code;
  for (const RunSummary& run : runs) {
    for (const ContextSummary& context : run.contexts) {
      if (context.status == ContextStatus::attributed) {
        code = std::max(code, exit_code_of(context.action));
      }
    }
  }
  return code;
}

}  // namespace nvab
