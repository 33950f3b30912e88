// SPDX-License-Identifier: Apache-2.0
// One query over many nodes and a long time, in as many requests as the server's limits want: fewer
// points, fewer nodes, shorter times, until it answers.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "common/engine/extract/series.hh"
#include "epilog/http_backend.hh"
#include "epilog/metric/promql_queries.hh"

namespace nvab {

// More than any server gives, and less than what an answer of one is refused for.
inline constexpr std::size_t kMaxAskedPoints = 40'000;

struct PromqlWindow {
  Time start{}, end{};
  Duration step{0};
};

class PromqlFetch {
 public:
  // `is_part`: of this series further parts come, or came, in other calls.
  using Sink = std::function<void(MetricSeries&& series, bool is_part)>;

  // `backend` must outlive it. `max_points` a series and request.
  PromqlFetch(HttpBackend& backend, std::size_t max_points)
      : backend_(backend), max_points_(max_points) {}

  // Every series of the query about these nodes goes to `sink` as it arrives. With `whole` the
  // server leaves nothing out. Errors: what answer_error() says; timeout; malformed (an answer that
  // is none). What came before an error was delivered.
  Result<void> run(const PromqlQuery& query, std::span<const std::string> nodes,
                   PromqlWindow window, bool whole, Deadline deadline, const Sink& sink);

  // Partial answers that servers admitted to (Thanos: a store that is away).
  const std::set<std::string>& warnings() const { return warnings_; }

 private:
  struct Request;
  Result<void> ask(const Request& request);
  Result<void> ask_once(const Request& request, std::string* refusal);
  Result<void> by_nodes(const Request& request);
  Result<void> by_time(const Request& request);

  HttpBackend& backend_;
  std::size_t max_points_;
  bool refuses_at_end_ = false;  // the server does not know the @ modifier
  std::set<std::string> warnings_;
};

// The step, a multiple of `shortest`, with which the window has at most so many points.
Duration promql_step(Duration window, Duration shortest, std::size_t max_points);

}  // namespace nvab
