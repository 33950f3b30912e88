// SPDX-License-Identifier: Apache-2.0
// Errors as clients see them: RFC 9457 documents with a stable code that programs branch on.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "common/base/json.hh"
#include "service/http.hh"

namespace nvab {

enum class Problem {
  bad_path,
  bad_query,
  bad_header,
  bad_encoding,
  bad_json,
  bad_workload,
  bad_observation,
  bad_annotation,
  unknown_ruleset,
  unauthorized,
  wrong_token,
  token_required,
  no_such_path,
  no_such_session,
  no_such_run,
  method_not_allowed,
  request_timeout,
  session_exists,
  observation_exists,
  workload_mismatch,
  body_too_large,
  session_full,
  unsupported_media_type,
  unsupported_encoding,
  unsupported_source,
  unsupported_format,
  too_many_sessions,
  too_many_connections_of_client,
  internal,
  rules_broken,
  too_many_connections,
  out_of_memory,
  starting,
  stopping,
  journal_unavailable,
  results_unavailable,
};

struct ProblemRow {
  Problem problem;
  int status;
  std::string_view code;   // "session_exists": stable
  std::string_view title;  // the same for every occurrence
  // Seconds after which trying again makes sense; 0: it does not, as it is.
  int retry_after = 0;
};
std::span<const ProblemRow> problems();  // by Problem
const ProblemRow& row_of(Problem problem);

// `detail` is a sentence about this occurrence. `members` (an object, or null) are added as they
// are: what a program needs to go on.
Response problem_response(Problem problem, std::string_view detail, const Json& members = {});
// The document alone.
std::string problem_json(Problem problem, std::string_view detail, const Json& members = {});

}  // namespace nvab
