// SPDX-License-Identifier: Apache-2.0
// What nvab-run prints and stores about one context (nvab.result/1): the verdict, the taxonomy's
// words for it, and how complete the evidence was.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/model/context.hh"
#include "common/model/verdict.hh"

namespace nvab {

inline constexpr std::string_view kResultSchema = "nvab.result/1";

enum class ConnectorStatus { ok, no_data, unavailable, denied, timed_out, error };
std::string_view to_string(ConnectorStatus status);
std::optional<ConnectorStatus> connector_status_from(std::string_view word);

struct ConnectorReport {
  std::string connector;  // "log.file.sys"
  Source source = Source::applog;
  ConnectorStatus status = ConnectorStatus::ok;
  std::string reason;  // a sentence; empty when ok
  int observation_count = 0;
  double seconds = 0;
  Json details;  // what was read or queried: paths, bytes, query text, pages
};

struct IngestionReport {
  std::string connector;
  int submitted = 0, duplicates = 0, failed = 0;
};

struct AttributionResult {
  std::string attributor_id;
  ExecutionContext context;
  Verdict verdict;
  TerminalState terminal_state = TerminalState::unknown;
  SubDomain sub_domain = SubDomain::unknown;
  Domain domain = Domain::unknown;
  EvidenceStatus evidence_status = EvidenceStatus::complete;
  std::vector<ConnectorReport> connector_reports;
  std::vector<IngestionReport> ingestion_reports;
  bool provisional = false;
  // Of the hand-over that it answers, the same in each try; empty where a person asked. No part of
  // the JSON: two runs of one hand-over give the same.
  std::string trigger_id;
};

// Adds terminal_state, sub_domain, domain and evidence_status to a verdict; pure.
AttributionResult enrich(ExecutionContext context, Verdict verdict,
                         std::vector<ConnectorReport> connector_reports,
                         std::vector<IngestionReport> ingestion_reports);

Json to_json(const AttributionResult& result);
Json to_json(const ConnectorReport& report);
Json to_json(const IngestionReport& report);
Result<AttributionResult> result_from_json(const Json& json);

}  // namespace nvab
