// SPDX-License-Identifier: Apache-2.0
// From a verdict to a result, and results both ways.
#include "common/model/result.hh"

#include <algorithm>
#include <cmath>

#include "common/model/json_fields.hh"
#include "common/model/verdict_json.hh"

namespace nvab {
namespace {

constexpr std::string_view kStatuses[] = {"ok",     "no_data",   "unavailable",
                                          "denied", "timed_out", "error"};

bool is_log(const ConnectorReport& report) {
  return report.source == Source::applog || report.source == Source::syslog;
}

bool had_data(const ConnectorReport& report) {
  return report.status == ConnectorStatus::ok || report.observation_count > 0;
}

bool has_run(const ConnectorReport& report) {
  return report.status == ConnectorStatus::ok || report.status == ConnectorStatus::no_data;
}

EvidenceStatus evidence_status(const std::vector<ConnectorReport>& connectors,
                               const std::vector<IngestionReport>& ingestions) {
  const bool any_log =
      std::any_of(connectors.begin(), connectors.end(),
                  [](const ConnectorReport& report) { return is_log(report) && had_data(report); });
  if (!any_log) return EvidenceStatus::insufficient;
  const bool all_ran = std::all_of(connectors.begin(), connectors.end(), has_run);
  const bool all_delivered =
      std::all_of(ingestions.begin(), ingestions.end(),
                  [](const IngestionReport& report) { return report.failed == 0; });
  return all_ran && all_delivered ? EvidenceStatus::complete : EvidenceStatus::partial;
}

ConnectorReport read_connector_report(JsonFields in) {
  ConnectorReport report;
  report.connector = in.text("connector");
  report.source = in.word<Source>("source", source_from).value_or(Source::applog);
  report.status =
      in.word<ConnectorStatus>("status", connector_status_from).value_or(ConnectorStatus::error);
  report.reason = in.text("reason");
  report.observation_count = in.small("observation_count").value_or(0);
  report.seconds = in.number("seconds").value_or(0);
  report.details = in.any("details");
  return report;
}

IngestionReport read_ingestion_report(JsonFields in) {
  IngestionReport report;
  report.connector = in.text("connector");
  report.submitted = in.small("submitted").value_or(0);
  report.duplicates = in.small("duplicates").value_or(0);
  report.failed = in.small("failed").value_or(0);
  return report;
}

}  // namespace

std::string_view to_string(ConnectorStatus status) { return kStatuses[static_cast<int>(status)]; }

std::optional<ConnectorStatus> connector_status_from(std::string_view word) {
  const auto found = std::find(std::begin(kStatuses), std::end(kStatuses), word);
  if (found == std::end(kStatuses)) return std::nullopt;
  return static_cast<ConnectorStatus>(found - std::begin(kStatuses));
}

AttributionResult enrich(ExecutionContext context, Verdict verdict,
                         std::vector<ConnectorReport> connector_reports,
                         std::vector<IngestionReport> ingestion_reports) {
  AttributionResult result;
  const OutcomeRow* row = find_outcome(verdict.outcome);
  result.terminal_state = terminal_state(context.base_state(), verdict.outcome);
  result.sub_domain = row != nullptr ? row->sub_domain : SubDomain::unknown;
  result.domain = domain_of(result.sub_domain);
  result.evidence_status = evidence_status(connector_reports, ingestion_reports);
  result.provisional = context.is_running();
  result.context = std::move(context);
  result.verdict = std::move(verdict);
  result.connector_reports = std::move(connector_reports);
  result.ingestion_reports = std::move(ingestion_reports);
  return result;
}

Json to_json(const ConnectorReport& report) {
  constexpr double kMicro = 1e6;  // finer is noise
  Json out = Json::object();
  out.set("connector", Json::of(report.connector));
  out.set("source", Json::of(to_string(report.source)));
  out.set("status", Json::of(to_string(report.status)));
  out.set("reason", report.reason.empty() ? Json() : Json::of(report.reason));
  out.set("observation_count", Json::of(report.observation_count));
  out.set("seconds", Json::of(std::round(report.seconds * kMicro) / kMicro));
  if (!report.details.is_null()) out.set("details", report.details);
  return out;
}

Json to_json(const IngestionReport& report) {
  Json out = Json::object();
  out.set("connector", Json::of(report.connector));
  out.set("submitted", Json::of(report.submitted));
  out.set("duplicates", Json::of(report.duplicates));
  out.set("failed", Json::of(report.failed));
  return out;
}

Json to_json(const AttributionResult& result) {
  Json out = Json::object();
  out.set("schema", Json::of(kResultSchema));
  out.set("attributor_id", Json::of(result.attributor_id));
  out.set("context", to_json(result.context));
  out.set("terminal_state", Json::of(to_string(result.terminal_state)));
  out.set("domain", Json::of(to_string(result.domain)));
  out.set("sub_domain", Json::of(to_string(result.sub_domain)));
  write_finding(out, result.verdict);
  out.set("evidence_status", Json::of(to_string(result.evidence_status)));
  out.set("provisional", Json::of(result.provisional));
  out.set("connector_reports", json_list(result.connector_reports, to_json));
  out.set("ingestion_reports", json_list(result.ingestion_reports, to_json));
  write_limits(out, result.verdict);
  return out;
}

Result<AttributionResult> result_from_json(const Json& json) {
  Error error;
  JsonFields in(json, "", error);
  AttributionResult result;
  result.attributor_id = in.text("attributor_id");
  result.terminal_state = in.word<TerminalState>("terminal_state", terminal_state_from)
                              .value_or(TerminalState::unknown);
  result.sub_domain =
      in.word<SubDomain>("sub_domain", sub_domain_from).value_or(SubDomain::unknown);
  result.domain = domain_of(result.sub_domain);
  result.evidence_status = in.word<EvidenceStatus>("evidence_status", evidence_status_from)
                               .value_or(EvidenceStatus::insufficient);
  result.provisional = in.flag("provisional");
  result.connector_reports = in.items("connector_reports", read_connector_report);
  result.ingestion_reports = in.items("ingestion_reports", read_ingestion_report);
  result.verdict = read_verdict(in);
  if (json.is_null()) in.complain("", "wants an object");
  if (in.failed()) return fail("reading a result", std::move(error));
  auto context = context_from_json(in.has("context") ? in.any("context") : Json::object());
  if (!context) return fail("reading a result", std::move(context.error()));
  result.context = std::move(*context);
  return result;
}

}  // namespace nvab
