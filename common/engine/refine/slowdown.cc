// SPDX-License-Identifier: Apache-2.0
// A job that reaches its time limit while progressing, but far more slowly than it began, did not
// ask for too little time: something slowed it. The pace of its progress lines says when, and what
// happened on a node at that moment says why.
#include <algorithm>
#include <map>

#include "common/base/text.hh"
#include "common/engine/refine/refine.hh"

namespace nvab {
namespace {

// Slower than this many times the pace of the first third, to the end: not the data, not the
// season.
constexpr double kMuchSlower = 2.2;
// Fewer points do not make a pace.
constexpr std::size_t kMinPoints = 10;

struct Point {
  Time time;
  long long step = 0;
};

// The longest dated series of steps that only grow.
std::vector<Point> read_points(const Analysis& a) {
  std::map<std::pair<std::string, std::string>, std::vector<Point>> by_stream;
  for (const Event& event : a.events) {
    if (event.rule->role != Role::progress || !event.counts() || !event.time) continue;
    if (event.time_quality != TimeQuality::exact || !event.capture("checkpoint").empty()) continue;
    const auto step = parse_int(event.capture("step"));
    if (!step) continue;
    std::vector<Point>& points = by_stream[{event.origin.stream, event.rule->id}];
    if (points.empty() || (*step > points.back().step && *event.time > points.back().time)) {
      points.push_back({*event.time, *step});
    }
  }
  std::vector<Point> longest;
  for (auto& [key, points] : by_stream) {
    if (points.size() > longest.size()) longest = std::move(points);
  }
  return longest;
}

double pace(const Point& from, const Point& to) {
  return to_seconds(to.time - from.time) / static_cast<double>(to.step - from.step);
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<long>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

struct Slowdown {
  Time after, before;  // it began between these
  double times = 0;    // slower
};

std::optional<Slowdown> find_slowdown(const std::vector<Point>& points) {
  if (points.size() < kMinPoints) return std::nullopt;
  std::vector<double> paces;
  for (std::size_t i = 0; i + 1 < points.size(); ++i)
    paces.push_back(pace(points[i], points[i + 1]));
  const double early =
      median({paces.begin(), paces.begin() + static_cast<long>(paces.size() / 3 + 1)});
  std::size_t onset = paces.size();
  while (onset > 0 && paces[onset - 1] > early * kMuchSlower) --onset;
  if (onset == 0 || onset + 2 > paces.size() || early <= 0) return std::nullopt;
  const double late = median({paces.begin() + static_cast<long>(onset), paces.end()});
  // The interval before the first slow one may already hold the beginning.
  return Slowdown{points[onset - 1].time, points[onset + 1].time, late / early};
}

// A fault of one place that can slow a job without ending it: also one that it lived through.
bool can_slow(const Event& event) {
  if (!event.counts() && event.mark != Mark::recovered) return false;
  if (event.rule->role == Role::progress || event.rule->role == Role::placement) return false;
  if (event.source == Source::applog || event.source == Source::scheduler) return false;
  const OutcomeRow* row = find_outcome(event.rule->outcome);
  return row != nullptr && domain_of(row->sub_domain) == Domain::infrastructure;
}

int find_reason(const Analysis& a, const Slowdown& slowdown) {
  int reason = -1;
  for (std::size_t i = 0; i < a.events.size(); ++i) {
    const Event& event = a.events[i];
    if (!event.time || !can_slow(event)) continue;
    if (*event.time < slowdown.after - kClockSlack ||
        *event.earliest() > slowdown.before + kClockSlack)
      continue;
    const bool better = reason < 0 || event.rule->strength >
                                          a.events[static_cast<std::size_t>(reason)].rule->strength;
    if (better) reason = static_cast<int>(i);
  }
  return reason;
}

}  // namespace

void judge_slowdown(Analysis& a) {
  if (!a.is_state("TIMEOUT") && !a.is_state("DEADLINE")) return;
  const auto slowdown = find_slowdown(read_points(a));
  if (!slowdown) return;
  const int reason = find_reason(a, *slowdown);
  if (reason < 0) return;
  const Event& event = a.events[static_cast<std::size_t>(reason)];
  Hypothesis hypothesis;
  hypothesis.root = reason;
  hypothesis.events = {reason};
  hypothesis.outcome = event.rule->outcome;
  hypothesis.is_slowdown = true;
  const OutcomeRow* row = find_outcome(hypothesis.outcome);
  if (row->blames_node && !event.place.node.empty()) hypothesis.nodes = {event.place.node};
  if (event.rule->blames == Blame::gpu && !hypothesis.nodes.empty()) {
    const Place& place = event.place;
    hypothesis.gpus = {{place.node, place.gpu, place.pci, place.uuid}};
  }
  constexpr double kSlowed = 0.75;
  hypothesis.weigh(kSlowed, event.rule->id + " came when the steps became slower");
  hypothesis.note = "From then on each step took " +
                    std::to_string(static_cast<int>(slowdown->times * 10) / 10) +
                    " times as long, until the time limit";
  a.hypotheses.insert(a.hypotheses.begin(), std::move(hypothesis));
}

}  // namespace nvab
