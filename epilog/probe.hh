// SPDX-License-Identifier: Apache-2.0
// What `nvab-run --doctor` asks of a connector: try, with as little as possible, all that a run
// will need of it, and say what to do about each fault.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace nvab {

enum class ProbeStatus {
  ok,
  warning,  // a run works, but sees less or may be wrong
  fault,    // this part of a run would fail
};

// One thing that was tried.
struct ProbeFinding {
  ProbeStatus status = ProbeStatus::ok;
  std::string what;   // "query http://prom:9090 for 1 sample"
  std::string found;  // what happened, a sentence or half of one
  std::string fix;    // what to do; empty when ok
};
using ProbeFindings = std::vector<ProbeFinding>;

inline ProbeFinding probe_ok(std::string what, std::string found) {
  return {ProbeStatus::ok, std::move(what), std::move(found), {}};
}
inline ProbeFinding probe_warning(std::string what, std::string found, std::string fix) {
  return {ProbeStatus::warning, std::move(what), std::move(found), std::move(fix)};
}
inline ProbeFinding probe_fault(std::string what, std::string found, std::string fix) {
  return {ProbeStatus::fault, std::move(what), std::move(found), std::move(fix)};
}

}  // namespace nvab
