// SPDX-License-Identifier: Apache-2.0
// See rules_coverage.hh.
#include "epilog/rules_coverage.hh"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <deque>
#include <utility>

#include "common/base/json.hh"
#include "common/base/text.hh"
#include "common/engine/extract/extractor.hh"

namespace nvab {
namespace {

// A failure speaks within this of the job's end; later lines are of its clean-up.
constexpr Duration kNearEnd = std::chrono::minutes(3);
// Lines without a time are near where they are among the last ones of trouble of their stream.
constexpr std::size_t kLastLines = 40;
// What tells two lines apart; behind it stand numbers and names.
constexpr std::size_t kKeyLength = 100;
// Kinds of unknown lines that are kept, and shown.
constexpr std::size_t kMaxUnknown = 20'000;
constexpr std::size_t kShownUnknown = 40;
constexpr std::size_t kMaxExample = 240;

// Words that lines of trouble have. Any line that no rule knows would be a flood.
constexpr std::string_view kTrouble[] = {
    "error",    "fail",    "fatal",       "exception", "abort",     "panic",
    "cannot",   "unable",  "denied",      "refuse",    "timed out", "timeout",
    "killed",   "corrupt", "invalid",     "not found", "no such",   "lost",
    "segfault", "out of ", "not respond", "dead",      "unexpected"};

bool looks_like_trouble(std::string_view low) {
  return std::any_of(std::begin(kTrouble), std::end(kTrouble), [&](std::string_view word) {
    return low.find(word) != std::string_view::npos;
  });
}

// A line without what differs from one of its kind to the next.
std::string kind_of(std::string_view low) {
  std::string key;
  for (const char c : low) {
    if (key.size() >= kKeyLength) break;
    const bool is_digit = std::isdigit(static_cast<unsigned char>(c)) != 0;
    if (is_digit && key.ends_with('#')) continue;
    key += is_digit ? '#' : c == '\n' ? ' ' : c;
  }
  return key;
}

struct TroubleLine {
  std::string kind, text, where;
  std::optional<Time> time;
};

// The lines of trouble of one bundle that no rule knows, the last ones of each stream.
class UnknownLines {
 public:
  explicit UnknownLines(const Ruleset& rules) : rules_(rules) {}

  void see(const LogEntry& entry, Source source) {
    const std::string low = lower(entry.message);
    if (!looks_like_trouble(low)) return;
    events_.clear();
    extract_entry(rules_, entry, source, &events_);
    if (!events_.empty()) return;
    std::deque<TroubleLine>& last = by_stream_[entry.origin.stream];
    std::string text = excerpt(entry.message, kMaxExample);
    std::replace(text.begin(), text.end(), '\n', ' ');
    last.push_back({kind_of(low), std::move(text),
                    fmt::format("{}:{}", entry.origin.stream, entry.origin.line), entry.timestamp});
    if (last.size() > kLastLines) last.pop_front();
  }

  const std::map<std::string, std::deque<TroubleLine>>& by_stream() const { return by_stream_; }

 private:
  const Ruleset& rules_;
  std::vector<Event> events_;
  std::map<std::string, std::deque<TroubleLine>> by_stream_;
};

bool is_near_end(const TroubleLine& line, const ExecutionContext& context) {
  if (!line.time || !context.end_time) return true;
  return *line.time >= *context.end_time - kNearEnd && *line.time <= *context.end_time + kNearEnd;
}

void count_event(const Event& event, bool supports, RuleCoverage* rule) {
  rule->events += event.count;
  if (event.mark == Mark::shadow) {
    rule->shadow += event.count;
  } else if (!event.counts()) {
    rule->set_aside += event.count;
  } else if (supports) {
    rule->support += event.count;
  } else if (event.cause >= 0) {
    rule->effect += event.count;
  } else {
    rule->open += event.count;
  }
}

std::string percent(std::size_t part, std::size_t all) {
  return all == 0 ? "-" : fmt::format("{}%", part * 100 / all);
}

Json counts_json(const std::string& id, const Rule& rule, const RuleCoverage& seen) {
  Json json = Json::object();
  json.set("rule", Json::of(id)).set("role", Json::of(to_string(rule.role)));
  json.set("bundles", Json::of(static_cast<unsigned long>(seen.bundles.size())));
  const std::pair<const char*, std::uint64_t> counts[] = {
      {"events", seen.events}, {"root", seen.root}, {"support", seen.support},
      {"effect", seen.effect}, {"open", seen.open}, {"set_aside", seen.set_aside},
      {"shadow", seen.shadow}};
  for (const auto& [name, count] : counts) json.set(name, Json::of(count));
  return json;
}

}  // namespace

Result<void> CoverageReport::add(const std::string& bundle) {
  UnknownLines lines(rules_);
  auto judged = judge_bundle(
      bundle, rules_, [&](const LogEntry& entry, Source source) { lines.see(entry, source); });
  if (!judged) return tl::unexpected<Error>(judged.error());
  ++bundles_;
  const Judgement& judgement = judged->judgement;
  unknown_verdicts_ += judgement.verdict.outcome == "unknown" ? 1 : 0;
  const std::set<int> support(judgement.support.begin(), judgement.support.end());
  for (std::size_t i = 0; i < judgement.events.size(); ++i) {
    const Event& event = judgement.events[i];
    RuleCoverage& rule = rules_seen_[event.rule->id];
    rule.bundles.insert(bundle);
    count_event(event, support.contains(static_cast<int>(i)), &rule);
    if (static_cast<int>(i) == judgement.root) ++rule.root;
  }
  for (const Event& event : judgement.shadow) {
    rules_seen_[event.rule->id].bundles.insert(bundle);
    count_event(event, false, &rules_seen_[event.rule->id]);
  }
  const bool failed = judged->context.base_state() != "COMPLETED";
  for (const auto& [stream, last] : lines.by_stream()) {
    for (const TroubleLine& line : last) {
      if (!failed || !is_near_end(line, judged->context)) continue;
      if (unknown_.size() >= kMaxUnknown && !unknown_.contains(line.kind)) continue;
      UnknownLine& unknown = unknown_[line.kind];
      if (unknown.lines++ == 0) {
        unknown.example = line.text;
        unknown.where = bundle + "/" + line.where;
      }
      unknown.bundles.insert(bundle);
    }
  }
  return {};
}

// The commonest first.
std::vector<const UnknownLine*> CoverageReport::unknown_lines() const {
  std::vector<const UnknownLine*> lines;
  for (const auto& [kind, line] : unknown_) lines.push_back(&line);
  std::stable_sort(lines.begin(), lines.end(), [](const UnknownLine* a, const UnknownLine* b) {
    return std::make_pair(a->bundles.size(), a->lines) >
           std::make_pair(b->bundles.size(), b->lines);
  });
  if (lines.size() > kShownUnknown) lines.resize(kShownUnknown);
  return lines;
}

std::string CoverageReport::text(std::string_view glob, bool list_never) const {
  std::string out =
      fmt::format("{:<40} {:>7} {:>7} {:>6} {:>8} {:>7} {:>6} {:>6} {:>6}\n", "rule", "bundles",
                  "events", "root", "support", "effect", "open", "aside", "shadow");
  std::size_t all = 0, fired = 0;
  std::vector<std::string> never;
  for (const Rule& rule : rules_.rules()) {
    if (!glob.empty() && !glob_match(glob, rule.id)) continue;
    ++all;
    const auto seen = rules_seen_.find(rule.id);
    if (seen == rules_seen_.end()) {
      never.push_back(rule.id);
      continue;
    }
    ++fired;
    const RuleCoverage& c = seen->second;
    out += fmt::format("{:<40} {:>7} {:>7} {:>6} {:>8} {:>7} {:>6} {:>6} {:>6}\n", rule.id,
                       c.bundles.size(), c.events, c.root, c.support, c.effect, c.open, c.set_aside,
                       c.shadow);
  }
  out += fmt::format("\n{} bundles, {} of them with the answer unknown\n", bundles_,
                     unknown_verdicts_);
  out += fmt::format("{} of {} rules fired ({}); {} never did{}\n", fired, all, percent(fired, all),
                     never.size(), list_never || never.empty() ? "" : " (--never lists them)");
  for (const std::string& id : list_never ? never : std::vector<std::string>{}) {
    out += "  never  " + id + "\n";
  }
  const auto unknown = unknown_lines();
  if (!unknown.empty()) out += "\nLines near the end of failed jobs that no rule knows:\n";
  for (const UnknownLine* line : unknown) {
    out += fmt::format("  {} bundles, {} lines: {}\n    {}\n", line->bundles.size(), line->lines,
                       line->example, line->where);
  }
  return out;
}

std::string CoverageReport::json(std::string_view glob) const {
  Json fired = Json::array(), never = Json::array(), unknown = Json::array();
  for (const Rule& rule : rules_.rules()) {
    if (!glob.empty() && !glob_match(glob, rule.id)) continue;
    const auto seen = rules_seen_.find(rule.id);
    if (seen == rules_seen_.end()) {
      never.push(Json::of(rule.id));
    } else {
      fired.push(counts_json(rule.id, rule, seen->second));
    }
  }
  for (const UnknownLine* line : unknown_lines()) {
    Json item = Json::object();
    item.set("bundles", Json::of(static_cast<unsigned long>(line->bundles.size())));
    item.set("lines", Json::of(line->lines)).set("example", Json::of(line->example));
    unknown.push(std::move(item.set("where", Json::of(line->where))));
  }
  Json out = Json::object();
  out.set("bundles", Json::of(static_cast<unsigned long>(bundles_)));
  out.set("unknown_verdicts", Json::of(static_cast<unsigned long>(unknown_verdicts_)));
  out.set("rules", std::move(fired)).set("never", std::move(never));
  out.set("unknown_lines", std::move(unknown));
  return out.dump() + "\n";
}

}  // namespace nvab
