// SPDX-License-Identifier: Apache-2.0
// See result_filter.hh.
#include "epilog/output/result_filter.hh"

namespace nvab {
namespace {

bool is_failure(const AttributionResult& result) {
  if (result.sub_domain == SubDomain::user_cancel) return false;
  const bool is_quiet = result.terminal_state == TerminalState::completed ||
                        result.terminal_state == TerminalState::cancelled;
  // A job that says it completed may have lost a step to a bad GPU.
  return !is_quiet || result.domain == Domain::infrastructure;
}

}  // namespace

ResultFilter result_filter_from(std::string_view word) {
  if (word == "all") return ResultFilter::all;
  if (word == "infrastructure") return ResultFilter::infrastructure;
  if (word == "drain") return ResultFilter::drain;
  if (word == "requested") return ResultFilter::requested;
  return ResultFilter::failures;
}

bool passes(ResultFilter filter, const AttributionResult& result) {
  if (result.provisional) return false;
  switch (filter) {
    case ResultFilter::all:
      return true;
    case ResultFilter::failures:
      return is_failure(result);
    case ResultFilter::infrastructure:
      return result.domain == Domain::infrastructure;
    case ResultFilter::drain:
      return !result.verdict.advice.drain.empty();
    case ResultFilter::requested:
      return result.context.files.is_requested;
  }
  return true;
}

}  // namespace nvab
