// SPDX-License-Identifier: Apache-2.0
// The parameter `when` of outputs that tell somebody something: which results are worth it. Pure.
#pragma once

#include <optional>
#include <string_view>

#include "common/base/settings.hh"
#include "common/model/result.hh"

namespace nvab {

enum class ResultFilter {
  all,
  failures,        // jobs that did not complete and that nobody cancelled
  infrastructure,  // something of the machine is to blame
  drain,           // a node needs repair
  requested        // the owner asked (--attribution=on)
};

inline constexpr std::string_view kResultFilters = "all|failures|infrastructure|drain|requested";

// `word` is one of kResultFilters, which settings have checked.
ResultFilter result_filter_from(std::string_view word);

// Never a verdict on a job that still runs.
bool passes(ResultFilter filter, const AttributionResult& result);

}  // namespace nvab
