// SPDX-License-Identifier: Apache-2.0
// See promql_fetch.hh.
#include "epilog/metric/promql_fetch.hh"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "common/base/text.hh"
#include "epilog/body_pipe.hh"
#include "epilog/metric/promql_answer.hh"

namespace nvab {
namespace {

// A list of this many nodes has some KB as a regular expression, which servers take well.
constexpr std::size_t kMaxNodes = 256;
// Ranges end before their first point, so a filter looks back this much further: as long as servers
// take a point for the present one.
constexpr Duration kLookBack = std::chrono::minutes(5);
// Below this a time is not split any further: the server refuses something else.
constexpr Duration kShortestWindow = std::chrono::minutes(10);

// What a refusal is about, by the words of Prometheus, Thanos, Mimir/Cortex and VictoriaMetrics.
enum class Refusal { other, points, time, size, at_modifier };

bool has_any(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(), [&](std::string_view word) {
    return text.find(word) != std::string_view::npos;
  });
}

Refusal refusal_of(std::string_view words) {
  const std::string text = lower(words);
  if (has_any(text, {"exceeded maximum resolution", "too many points", "maxpointspertimeseries"})) {
    return Refusal::points;
  }
  if (has_any(text, {"query time range exceeds", "query length", "maxqueryduration",
                     "max-query-length"})) {
    return Refusal::time;
  }
  if (has_any(text, {"@ modifier", "unexpected character: '@'", "unexpected \"@\"", "disabled"})) {
    return Refusal::at_modifier;
  }
  if (has_any(text, {"too many", "too large", "too long", "limit", "exceed", "maximum"})) {
    return Refusal::size;
  }
  return Refusal::other;
}

bool is_refusal(int status) { return status == 400 || status == 413 || status == 422; }

}  // namespace

struct PromqlFetch::Request {
  const PromqlQuery& query;
  std::span<const std::string> nodes;
  PromqlWindow window;
  bool whole, is_part;
  Deadline deadline;
  const Sink& sink;

  Duration length() const { return window.end - window.start; }
  std::string body(bool without_filter) const {
    const bool is_whole = whole || query.text.empty() || (without_filter && !query.whole.empty());
    const std::string text =
        render_promql(is_whole ? query.whole : query.text, nodes, length() + kLookBack);
    return fmt::format("query={}&start={:.3f}&end={:.3f}&step={:g}", url_escape(text),
                       to_unix_seconds(window.start), to_unix_seconds(window.end),
                       to_seconds(window.step));
  }
};

Duration promql_step(Duration window, Duration shortest, std::size_t max_points) {
  shortest = std::max<Duration>(shortest, std::chrono::seconds(1));
  // One for the end, and one for what the start is moved back to meet the step.
  const auto points = static_cast<Duration::rep>(std::max<std::size_t>(max_points, 3) - 2);
  const Duration::rep needed = (window.count() + points - 1) / points;
  return shortest * std::max<Duration::rep>(1, (needed + shortest.count() - 1) / shortest.count());
}

// By POST, whose length no proxy limits.
Result<void> PromqlFetch::ask_once(const Request& request, std::string* refusal) {
  HttpRequest http;
  http.method = "POST";
  http.url = "/api/v1/query_range";
  http.headers = {"Content-Type: application/x-www-form-urlencoded", "Accept: application/json"};
  http.body = request.body(refuses_at_end_);
  PromqlAnswer parsed([&](MetricSeries&& series) {
    if (series.name.empty()) series.name = request.query.name;
    request.sink(std::move(series), request.is_part);
    return !request.deadline.passed();
  });
  Result<bool> is_whole = true;
  bool was_read = false;
  const auto answer = stream_body(backend_, std::move(http), request.deadline,
                                  [&](const std::function<std::string_view()>& next) {
                                    was_read = true;
                                    is_whole = read_json(next, parsed);
                                  });
  const std::string doing = fmt::format("{}: {}", backend_.url(), request.query.shown());
  if (request.deadline.passed()) return fail(Error::Code::timeout, doing + ": the time was over");
  if (!answer) return fail(doing, answer.error());
  if (answer->status / 100 != 2) {
    if (answer->status == 413) *refusal = "too large";
    if (is_refusal(answer->status)) *refusal += answer->body;
    return tl::unexpected(answer_error(doing, *answer));
  }
  warnings_.insert(parsed.warnings().begin(), parsed.warnings().end());
  if (!is_whole) return fail(doing + ": the answer", is_whole.error());
  const std::string trouble = was_read ? parsed.trouble() : "the answer is empty";
  if (!trouble.empty()) return fail(Error::Code::malformed, doing + ": " + trouble);
  return {};
}

Result<void> PromqlFetch::by_nodes(const Request& request) {
  const std::size_t half = request.nodes.size() / 2;
  Request part = request;
  part.nodes = request.nodes.first(half);
  if (auto done = ask(part); !done) return done;
  part.nodes = request.nodes.subspan(half);
  return ask(part);
}

// Both halves have the point between them, so that no change is lost there.
Result<void> PromqlFetch::by_time(const Request& request) {
  const Duration::rep steps = request.length() / request.window.step / 2;
  Request part = request;
  part.is_part = true;
  part.window.end = request.window.start + steps * request.window.step;
  if (auto done = ask(part); !done) return done;
  part.window = request.window;
  part.window.start += steps * request.window.step;
  return ask(part);
}

Result<void> PromqlFetch::ask(const Request& request) {
  if (request.nodes.size() > kMaxNodes) return by_nodes(request);
  std::string refusal;
  auto done = ask_once(request, &refusal);
  if (done || refusal.empty()) return done;
  const Refusal what = refusal_of(refusal);
  if (what == Refusal::at_modifier && !refuses_at_end_ && !request.whole) {
    refuses_at_end_ = true;
    return ask(request);
  }
  // A server with a lower limit than we were told: half the points, again.
  if (what == Refusal::points && request.window.step * 2 < request.length()) {
    Request wider = request;
    wider.window.step *= 2;
    return ask(wider);
  }
  if (what == Refusal::time && request.length() > kShortestWindow) return by_time(request);
  if (what == Refusal::size && request.nodes.size() > 1) return by_nodes(request);
  return done;
}

Result<void> PromqlFetch::run(const PromqlQuery& query, std::span<const std::string> nodes,
                              PromqlWindow window, bool whole, Deadline deadline,
                              const Sink& sink) {
  window.step = promql_step(window.end - window.start, window.step, max_points_);
  // The last point is the end: what changed just before it must show.
  const Duration length = window.end - window.start;
  window.start = window.end - (length + window.step - Duration(1)) / window.step * window.step;
  return ask(Request{query, nodes, window, whole, false, deadline, sink});
}

}  // namespace nvab
