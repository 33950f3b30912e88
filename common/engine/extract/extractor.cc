// SPDX-License-Identifier: Apache-2.0
// One entry -> its events, and which of several rules has the say.
#include "common/engine/extract/extractor.hh"

#include <algorithm>
#include <utility>

#include "common/base/text.hh"
#include "common/engine/extract/dialect.hh"

namespace nvab {
namespace {

// What a person reads of a line in a verdict; whole blocks would drown the answer.
constexpr std::size_t kMaxExcerpt = 400;
// A capture longer than this is no name, number or path of use.
constexpr std::size_t kMaxCapture = 300;

// Where the rule's rarest part stands; npos when only the whole pattern tells.
std::size_t literal_at(const Ruleset& rules, const Rule& rule, std::string_view message) {
  std::size_t at = std::string_view::npos;
  for (const Literal& literal : rules.literals(rule)) {
    if (!literal.caseless) at = std::min(at, message.find(literal.text));
  }
  return at;
}

// Of a block, the line that the rule is about: where its last capture stands, else its literal,
// else the last line.
std::string_view telling_line(const Ruleset& rules, std::string_view message,
                              const RuleMatch& match) {
  if (message.find('\n') == std::string_view::npos) return message;
  std::size_t at = message.size();
  for (const Capture& capture : match.captures) {
    if (!capture.text.empty()) at = static_cast<std::size_t>(capture.text.data() - message.data());
  }
  if (at >= message.size()) at = literal_at(rules, *match.rule, message);
  if (at >= message.size()) at = message.find_last_not_of("\n ");
  if (at == std::string_view::npos) return message;
  std::size_t begin = message.rfind('\n', at);
  begin = begin == std::string_view::npos ? 0 : begin + 1;
  return message.substr(begin, message.find('\n', at) - begin);
}

// Readers deliver parsed entries; who sends raw lines (the HTTP API, Loki) knows neither the time's
// stamp nor the program in them.
bool is_raw(const LogEntry& entry, Source source) {
  if (source == Source::syslog) return entry.app.empty() && !entry.timestamp;
  return source == Source::applog && !entry.timestamp && entry.node.empty();
}

void fill_from_head(const LineHead& head, LogEntry* entry) {
  const auto fill = [](std::optional<int>* field, std::optional<int> value) {
    if (!*field) *field = value;
  };
  fill(&entry->rank, head.rank);
  fill(&entry->task, head.task);
  fill(&entry->local_rank, head.local_rank);
  fill(&entry->pid, head.pid);
  if (entry->node.empty()) entry->node = head.node;
  if (entry->app.empty()) entry->app = head.app;
  if (entry->severity.empty()) entry->severity = head.severity;
  // Without the stream only a full stamp says when it was.
  if (!entry->timestamp && (head.stamp == StampKind::zoned || head.stamp == StampKind::zoneless)) {
    entry->timestamp = head.time;
    entry->time_quality = TimeQuality::exact;
  }
  entry->message = std::string(head.message);
}

void fill_from_json(JsonLine line, LogEntry* entry) {
  if (!entry->rank) entry->rank = line.rank;
  if (!entry->pid) entry->pid = line.pid;
  if (entry->node.empty()) entry->node = line.node;
  if (entry->app.empty()) entry->app = line.app;
  if (entry->severity.empty()) entry->severity = line.severity;
  if (!entry->timestamp && line.time) {
    entry->timestamp = line.time;
    entry->time_quality = TimeQuality::exact;
  }
  entry->message = std::move(line.message);
}

Event make_event(const Ruleset& rules, const LogEntry& entry, Source source,
                 const RuleMatch& match) {
  Event event;
  event.rule = match.rule;
  event.source = source;
  event.trust = entry.trust;
  event.time = entry.timestamp;
  event.time_quality = entry.time_quality;
  event.place.observer = entry.node;
  event.place.rank = entry.rank;
  event.place.task = entry.task;
  event.place.local_rank = entry.local_rank;
  event.place.pid = entry.pid;
  for (const Capture& capture : match.captures) {
    event.captures.emplace_back(capture.name, excerpt(capture.text, kMaxCapture));
  }
  event.text = excerpt(telling_line(rules, entry.message, match), kMaxExcerpt);
  event.origin = entry.origin;
  // A program's own output is all that its user can vouch for.
  if (entry.trust == Trust::user && source != Source::applog) event.mark = Mark::untrusted;
  if (match.rule->shadow) event.mark = Mark::shadow;
  return event;
}

// Benign takes the entry from all others; what is specific takes it from what is generic. Placement
// and progress say something else and take part in neither.
void settle(std::vector<Event>* events, std::size_t first) {
  const auto contends = [](const Event& e) {
    return e.counts() && e.rule->role != Role::placement && e.rule->role != Role::progress;
  };
  bool benign = false, specific = false;
  for (std::size_t i = first; i < events->size(); ++i) {
    const Event& event = (*events)[i];
    if (!contends(event)) continue;
    benign |= event.rule->role == Role::benign;
    specific |= event.rule->role != Role::benign && !event.rule->generic;
  }
  for (std::size_t i = first; i < events->size(); ++i) {
    Event& event = (*events)[i];
    if (!contends(event)) continue;
    if (benign) {
      event.mark = Mark::benign;
    } else if (specific && event.rule->generic) {
      event.mark = Mark::superseded;
    }
  }
}

}  // namespace

void parse_raw_entry(Source source, LogEntry* entry) {
  if (!is_raw(*entry, source)) return;
  if (auto json = unwrap_json(entry->message)) fill_from_json(std::move(*json), entry);
  HeadOptions options;
  options.task_labels = !entry->task;
  const std::string line = std::move(entry->message);
  fill_from_head(parse_head(line, source, options), entry);
}

void extract_entry(const Ruleset& rules, const LogEntry& entry, Source source,
                   std::vector<Event>* events) {
  if (is_raw(entry, source)) {
    LogEntry parsed = entry;
    parse_raw_entry(source, &parsed);
    return extract_parsed(rules, parsed, source, events);
  }
  extract_parsed(rules, entry, source, events);
}

void extract_parsed(const Ruleset& rules, const LogEntry& entry, Source source,
                    std::vector<Event>* events) {
  std::vector<RuleMatch> matches;
  rules.match(entry.message, source, entry.app, &matches);
  rules.match_progress(entry.message, source, &matches);
  if (entry.only_shadow) {
    std::erase_if(matches, [](const RuleMatch& match) { return !match.rule->shadow; });
  }
  const std::size_t first = events->size();
  for (const RuleMatch& match : matches) events->push_back(make_event(rules, entry, source, match));
  settle(events, first);
}

}  // namespace nvab
