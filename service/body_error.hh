// SPDX-License-Identifier: Apache-2.0
// How what is wrong with a body is said, for the files that read bodies.
#pragma once

#include <string>
#include <string_view>

#include "common/base/text.hh"
#include "service/observation_body.hh"

namespace nvab {

inline tl::unexpected<BodyError> body_error(Problem problem, std::string_view what) {
  return tl::unexpected(BodyError{problem, "The body: " + std::string(what) + "."});
}

// Of the tape.
inline tl::unexpected<BodyError> body_error(const Error& error) {
  const bool is_limit = error.code == Error::Code::unavailable;
  return body_error(is_limit ? Problem::body_too_large : Problem::bad_json, error.message);
}

inline tl::unexpected<BodyError> unsupported_source(std::string_view source) {
  return body_error(Problem::unsupported_source,
                    "the source is '" + excerpt(sanitize(source), 40) +
                        "', but only applog, syslog, node_metrics, scheduler, task_exits and "
                        "flight_recorder are known");
}

}  // namespace nvab
