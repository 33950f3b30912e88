// SPDX-License-Identifier: Apache-2.0
// Which rules fire on lines, and why others near them do not.
#include <fmt/core.h>

#include <algorithm>

#include "common/base/text.hh"
#include "common/engine/extract/extractor.hh"
#include "common/engine/extract/stream_reader.hh"
#include "epilog/rules_tool.hh"

namespace nvab {
namespace {

// Near rules shown for one line: the rest would be no help.
constexpr std::size_t kMaxNear = 8;

bool reads(const Rule& rule, Source source) {
  return std::find(rule.sources.begin(), rule.sources.end(), source) != rule.sources.end();
}

bool wants_app(const Rule& rule, std::string_view app) {
  return rule.apps.empty() ||
         std::any_of(rule.apps.begin(), rule.apps.end(),
                     [&](const std::string& glob) { return glob_match(glob, app); });
}

// Shorter beginnings of a literal tell nothing.
constexpr std::size_t kMinBeginning = 8;

struct Nearness {
  const Literal* literal = nullptr;
  std::string_view part;  // of the literal: all of it, or a beginning of at least half
};

Nearness nearness(const Ruleset& rules, const Rule& rule, std::string_view message,
                  std::string_view low) {
  Nearness best;
  for (const Literal& literal : rules.literals(rule)) {
    const std::string_view text = literal.text;
    const std::size_t least = std::max(kMinBeginning, (text.size() + 1) / 2);
    for (std::size_t size = text.size(); size >= least || size == text.size(); --size) {
      if ((literal.caseless ? low : message).find(text.substr(0, size)) == message.npos) continue;
      if (size > best.part.size()) best = {&literal, text.substr(0, size)};
      break;
    }
  }
  return best;
}

// Empty: it is not near.
std::string why_not(const Ruleset& rules, const Rule& rule, const LogEntry& entry, Source source,
                    std::string_view low) {
  const Nearness near = nearness(rules, rule, entry.message, low);
  if (near.literal == nullptr) return {};
  if (near.part.size() < near.literal->text.size()) {
    return fmt::format("'{}' is there, but not all of '{}'", near.part, near.literal->text);
  }
  const bool matches = rules.try_rule(rule, entry.message).has_value();
  if (matches && !reads(rule, source)) {
    return fmt::format("it would match, but does not read {}", to_string(source));
  }
  if (matches && !wants_app(rule, entry.app)) {
    return fmt::format("it would match, but wants a line of {} and not of '{}'",
                       join(rule.apps, ", "), entry.app);
  }
  if (matches) return {};
  return fmt::format("'{}' is there, but the rest of the pattern is not{}", near.literal->text,
                     rule.unless.empty() ? "" : ", or its `unless` is");
}

std::string fired(const Event& event) {
  std::string text = fmt::format("  fires  {} ({}", event.rule->id, to_string(event.rule->role));
  if (!event.rule->outcome.empty()) text += ", " + event.rule->outcome;
  text += ")";
  for (const auto& [name, value] : event.captures) text += fmt::format(" {}={}", name, value);
  if (!event.counts()) text += fmt::format("; set aside: {}", to_string(event.mark));
  return text + "\n";
}

std::string head_line(std::string_view name, const LogEntry& entry, Source source) {
  std::string message = excerpt(entry.message, 200);
  std::replace(message.begin(), message.end(), '\n', ' ');
  std::string about;
  if (!entry.node.empty()) about += " node=" + entry.node;
  if (entry.rank) about += fmt::format(" rank={}", *entry.rank);
  if (!entry.app.empty()) about += " app=" + entry.app;
  return fmt::format("{}:{} [{}{}] {}\n", name, entry.origin.line, to_string(source), about,
                     message);
}

std::string explain_entry(const Ruleset& rules, std::string_view name, const LogEntry& entry,
                          Source source, bool all_lines) {
  std::vector<Event> events;
  extract_entry(rules, entry, source, &events);
  std::string out;
  for (const Event& event : events) out += fired(event);
  const std::string low = lower(entry.message);
  std::size_t near = 0;
  for (const Rule& rule : rules.rules()) {
    const bool has_fired =
        std::any_of(events.begin(), events.end(), [&](const Event& e) { return e.rule == &rule; });
    if (has_fired || rule.metric) continue;
    const std::string why = why_not(rules, rule, entry, source, low);
    if (why.empty() || ++near > kMaxNear) continue;
    out += fmt::format("  not    {}: {}\n", rule.id, why);
  }
  if (near > kMaxNear) out += fmt::format("  not    {} more near ones\n", near - kMaxNear);
  if (out.empty() && !all_lines) return {};
  if (out.empty()) out = "  no rule is near\n";
  return head_line(name, entry, source) + out;
}

// What wrote the line tells: programs of the system name themselves.
Source source_of(std::string_view text) {
  for (const std::string_view line : split(text.substr(0, 64 * 1024), '\n')) {
    const LineHead head = parse_head(line, Source::syslog);
    const bool is_kernel =
        head.is_kernel || head.app == "kernel" || head.stamp == StampKind::uptime;
    if (is_kernel || (!head.app.empty() && !head.node.empty())) return Source::syslog;
  }
  return Source::applog;
}

}  // namespace

std::string explain_lines(const Ruleset& rules, std::string_view name, std::string_view text,
                          std::optional<Source> source, bool all_lines) {
  const Source read_as = source ? *source : source_of(text);
  std::string out;
  const StreamInfo stream = probe_stream(name, read_as, text.substr(0, 64 * 1024), {}, {});
  StreamReader reader(
      rules, stream,
      [&](LogEntry&& entry) { out += explain_entry(rules, name, entry, read_as, all_lines); },
      /*select_all=*/true);
  reader.feed(text);
  reader.finish();
  return out;
}

}  // namespace nvab
