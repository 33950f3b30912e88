// SPDX-License-Identifier: Apache-2.0
// The tests that rules carry. A line may be a message or a whole raw line: a rule must find it as
// either, and its first stage must stop at it.
#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "common/base/text.hh"
#include "epilog/rules_tool.hh"

namespace nvab {
namespace {

// The app that a rule asks for, where it asks for one by its plain name.
std::string app_for(const Rule& rule) {
  if (rule.apps.empty()) return {};
  std::string app = rule.apps.front();
  app.erase(std::remove_if(app.begin(), app.end(), [](char c) { return c == '*' || c == '?'; }),
            app.end());
  return app;
}

struct Found {
  std::map<std::string, std::string> captures;
};

std::optional<Found> find_in(const Ruleset& rules, const Rule& rule, Source source,
                             const RuleText& text) {
  std::vector<RuleMatch> matches;
  if (rule.role == Role::progress) {
    rules.match_progress(text.message, source, &matches);
  } else {
    rules.match(text.message, source, text.app, &matches);
  }
  for (const RuleMatch& match : matches) {
    if (match.rule != &rule) continue;
    Found found;
    for (const Capture& capture : match.captures) {
      found.captures[std::string(capture.name)] = capture.text;
    }
    return found;
  }
  return std::nullopt;
}

// As a message, then as a raw line of each source of the rule.
std::optional<Found> find_any(const Ruleset& rules, const Rule& rule, const RuleTest& test) {
  for (const Source source : rule.sources) {
    if (auto found = find_in(rules, rule, source, {test.line, app_for(rule)})) return found;
    if (source != Source::applog && source != Source::syslog) continue;
    RuleText text = rule_text(test.line, source);
    if (text.app.empty()) text.app = app_for(rule);
    if (auto found = find_in(rules, rule, source, text)) return found;
  }
  return std::nullopt;
}

// Empty: it is as the test wants it.
std::string judge(const Ruleset& rules, const Rule& rule, const RuleTest& test) {
  const auto found = find_any(rules, rule, test);
  if (!test.want_match) return found ? "matches, and should not" : "";
  if (!found) {
    return rules.try_rule(rule, test.line) ? "matches, but its first stage does not stop there"
                                           : "does not match, and should";
  }
  for (const auto& [name, value] : test.want) {
    const auto capture = found->captures.find(name);
    const std::string got = capture == found->captures.end() ? "" : capture->second;
    if (got != value) return fmt::format("captures {}='{}' and not '{}'", name, got, value);
  }
  const bool is_line_rule = rule.role != Role::progress;
  const bool is_scanned = std::any_of(rule.sources.begin(), rule.sources.end(), [](Source source) {
    return source == Source::applog || source == Source::syslog;
  });
  if (is_line_rule && is_scanned && rules.next_candidate(test.line, 0) == Ruleset::npos) {
    return "matches, but the scan of raw bytes does not stop there";
  }
  return "";
}

}  // namespace

std::vector<Finding> run_rule_tests(const Ruleset& rules, std::string_view glob,
                                    TestTotals* totals) {
  std::vector<Finding> findings;
  for (const Rule& rule : rules.rules()) {
    if (!glob.empty() && !glob_match(glob, rule.id)) continue;
    ++totals->rules;
    for (const RuleTest& test : rule.tests) {
      ++totals->tests;
      const std::string trouble = judge(rules, rule, test);
      if (trouble.empty()) continue;
      ++totals->failed;
      std::string line = excerpt(test.line, 160);
      std::replace(line.begin(), line.end(), '\n', ' ');
      findings.push_back({true, fmt::format("{}:{}: {}", rule.file, rule.line, rule.id),
                          fmt::format("{}: {}", trouble, line)});
    }
  }
  return findings;
}

}  // namespace nvab
