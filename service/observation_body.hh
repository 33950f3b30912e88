// SPDX-License-Identifier: Apache-2.0
// Bodies of POST …/observation, in the format of v2 and in that of v1, as observations. Pure; any
// bytes.
#pragma once

#include <cstdint>
#include <string>
#include <tl/expected.hpp>

#include "common/engine/ruleset.hh"
#include "common/model/observation.hh"
#include "service/problem.hh"

namespace nvab {

// What is wrong with a body, for the one who sent it.
struct BodyError {
  Problem problem = Problem::bad_json;
  std::string detail;  // a sentence
};
template <typename T>
using BodyResult = tl::expected<T, BodyError>;

struct ParsedObservation {
  Observation observation;
  std::uint64_t bytes_replaced = 0;  // that were not UTF-8
};

// Both take the body for their own.
BodyResult<ParsedObservation> parse_observation_v2(std::string body);
// {"context": {"time_interval", "source", "format"}, "body": "JSON of raw_loki_streams or
// prometheus_metrics, as a text"}. Lines are read as those of a file; `rules` say which of them may
// begin a block (a clone of this thread's own).
BodyResult<ParsedObservation> parse_observation_v1(std::string body, const Ruleset& rules);

}  // namespace nvab
