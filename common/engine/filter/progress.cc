// SPDX-License-Identifier: Apache-2.0
// The signs of life of a job, and the marks that follow from them.
#include <algorithm>
#include <map>
#include <string>

#include "common/base/text.hh"
#include "common/engine/filter/filters.hh"

namespace nvab {
namespace {

// A failure stops a synchronous job within a step; lines in flight and slower writers need a
// little. Progress later than this after an event means that the job lived on.
constexpr Duration kRecoveryGrace = std::chrono::seconds(60);

std::string stream_key(const Event& event) {
  std::string key = event.origin.stream;
  if (event.place.rank) key += '#' + std::to_string(*event.place.rank);
  return key;
}

void note_progress(ProgressFacts* facts, const Event& event) {
  facts->any = true;
  const std::optional<Time> time = event.last_time ? event.last_time : event.time;
  const bool checkpoint = !event.capture("checkpoint").empty();
  const bool done = !event.capture("done").empty();
  if (time && event.time_quality != TimeQuality::none) {
    if (!facts->last_time || *time > *facts->last_time) facts->last_time = time;
    if (checkpoint && (!facts->last_checkpoint || *time > *facts->last_checkpoint)) {
      facts->last_checkpoint = time;
    }
    if (done && (!facts->done_time || *time < *facts->done_time)) facts->done_time = time;
  }
  if (const auto step = parse_int(event.capture("step")); step && !checkpoint) {
    facts->last_step = std::max(facts->last_step.value_or(0), *step);
  }
  std::uint64_t& last = facts->last_line[stream_key(event)];
  last = std::max(last, event.origin.line);
  if (done) {
    facts->done = true;
    std::uint64_t& line = facts->done_line[event.origin.stream];
    if (line == 0 || event.origin.line < line) line = event.origin.line;
  }
}

// A progress bar is drawn once more when it is closed, behind the traceback that ended the loop:
// the step that it showed before is no sign of life.
bool is_drawn_again(std::map<std::string, std::string>* shown, const Event& event) {
  const std::string_view step = event.capture("step");
  if (step.empty() || !event.capture("checkpoint").empty()) return false;
  const std::string key =
      stream_key(event) + ' ' + event.rule->id + ' ' + std::string(event.capture("total"));
  std::string& last = (*shown)[key];
  if (last == step) return true;
  last = step;
  return false;
}

// Progress by the clock after the event, or by line in its own stream.
bool progressed_after(const Analysis& a, const Event& event) {
  const ProgressFacts& facts = a.progress;
  if (event.time && facts.last_time && event.time_quality == TimeQuality::exact) {
    return *facts.last_time > *event.time + kRecoveryGrace;
  }
  const auto last = facts.last_line.find(stream_key(event));
  return last != facts.last_line.end() && event.origin.line > 0 && last->second > event.origin.line;
}

// How long one progress line usually follows the other, from the stream that has most of them.
std::optional<Duration> usual_interval(const Analysis& a) {
  struct Span {
    std::optional<Time> first, last;
    std::uint32_t count = 0;
  };
  std::map<std::pair<std::string, std::string>, Span> spans;
  for (const Event& event : a.events) {
    if (event.rule->role != Role::progress || !event.time || !event.counts()) continue;
    Span& span = spans[{event.origin.stream, event.rule->id}];
    if (!span.first) span.first = event.time;
    span.last = event.time;
    span.count += event.count;
  }
  std::optional<Duration> interval;
  std::uint32_t most = 2;
  for (const auto& [key, span] : spans) {
    if (span.count <= most) continue;
    most = span.count;
    interval = (*span.last - *span.first) / (span.count - 1);
  }
  return interval;
}

}  // namespace

void read_progress(Analysis& a) {
  std::map<std::string, std::string> shown;  // stream, rule and total -> the step last seen there
  for (const Event& event : a.events) {
    if (event.rule->role != Role::progress || !event.counts()) continue;
    if (!is_drawn_again(&shown, event)) note_progress(&a.progress, event);
  }
  a.progress.interval = usual_interval(a);
}

void mark_recovered(Analysis& a) {
  for (Event& event : a.events) {
    if (!event.counts()) continue;
    const bool symptom = event.rule->role == Role::root || event.rule->role == Role::cascade;
    if (!symptom || event.source == Source::scheduler || event.source == Source::task_exits)
      continue;
    if (progressed_after(a, event)) event.mark = Mark::recovered;
  }
}

}  // namespace nvab
