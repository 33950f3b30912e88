// SPDX-License-Identifier: Apache-2.0
// What can be wrong with rules that are well-formed.
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "common/base/decode.hh"
#include "common/base/file.hh"
#include "common/base/regex.hh"
#include "common/base/text.hh"
#include "common/engine/literals.hh"
#include "epilog/log/line_splitter.hh"
#include "epilog/rules_tool.hh"

namespace nvab {
namespace {

// A literal that an ordinary log holds more often than one in this many bytes (2^-bits) makes the
// scan stop too often. Measured: words such as "error" have some 16 bits, "NVRM: Xid" 40.
constexpr double kMinRarityBits = 18;
// Lines of a good log that the first stage may stop at for one rule, out of a million.
constexpr double kMaxBenignPerMillion = 100;

std::string place_of(const Rule& rule) {
  return fmt::format("{}:{}: {}", rule.file, rule.line, rule.id);
}

class Lint {
 public:
  explicit Lint(const PackSet& set) : set_(set) {}
  std::vector<Finding> run();

 private:
  void error(const Rule& rule, std::string what) {
    findings_.push_back({true, place_of(rule), std::move(what)});
  }
  void warn(const Rule& rule, std::string what) {
    findings_.push_back({false, place_of(rule), std::move(what)});
  }
  void check_ids();
  bool check_pattern(const Rule& rule);
  void check_literals(const Rule& rule);
  void check_documentation(const Rule& rule);
  void check_explains(const Rule& rule, const Ruleset& rules);
  void check_reachable(const Rule& rule, const Ruleset& rules);
  void check_same_pattern(const Ruleset& rules);

  const PackSet& set_;
  std::vector<Finding> findings_;
};

void Lint::check_ids() {
  std::map<std::string, const Rule*> seen;
  for (std::size_t i = 0; i < set_.packs.size(); ++i) {
    for (const Rule& rule : set_.packs[i].rules) {
      const auto [other, is_new] = seen.emplace(rule.id, &rule);
      if (is_new) continue;
      const std::string where = fmt::format("{}:{}", other->second->file, other->second->line);
      if (i < set_.builtin_count) {
        error(rule, "the id is taken already, at " + where);
      } else {
        warn(rule, "overrides the rule at " + where);
      }
      other->second = &rule;
    }
  }
}

bool Lint::check_pattern(const Rule& rule) {
  bool all_right = true;
  for (const std::string& pattern : {rule.match, rule.unless}) {
    if (pattern.empty()) continue;
    const auto compiled = Regex::compile(pattern, rule.caseless);
    if (compiled) continue;
    error(rule, compiled.error().message);
    all_right = false;
  }
  return all_right;
}

void Lint::check_literals(const Rule& rule) {
  const bool is_sampled = rule.role == Role::progress;
  const auto literals = required_literals(rule.match, rule.caseless, is_sampled ? 1 : kMinLiteral);
  if (!literals) return error(rule, literals.error().message);
  if (is_sampled) return;  // few lines are looked at
  for (const Literal& literal : *literals) {
    const double bits = rarity_bits(literal.text);
    if (bits < kMinRarityBits) {
      warn(rule, fmt::format("its literal '{}' stands in too many ordinary lines (about one in "
                             "2^{:.0f} bytes); ask for a rarer part of the message",
                             literal.text, bits));
    }
  }
}

void Lint::check_documentation(const Rule& rule) {
  if (rule.provenance.empty()) warn(rule, "says nowhere where its message is documented");
  if (rule.metric) return;
  const bool has_positive = std::any_of(rule.tests.begin(), rule.tests.end(),
                                        [](const RuleTest& test) { return test.want_match; });
  if (!has_positive) warn(rule, "has no test that it matches");
}

void Lint::check_explains(const Rule& rule, const Ruleset& rules) {
  for (const std::string& glob : rule.explains) {
    const bool fits = std::any_of(rules.rules().begin(), rules.rules().end(),
                                  [&](const Rule& r) { return glob_match(glob, r.id); });
    if (!fits) warn(rule, fmt::format("explains '{}', which fits no rule", glob));
  }
}

// Who takes the line of a test from the rule: a benign rule, or for a generic one any other.
std::optional<std::string> taker(const Rule& rule, const RuleTest& test, const Ruleset& rules) {
  for (const Source source : rule.sources) {
    const RuleText text = rule_text(test.line, source);
    const std::string app = rule.apps.empty() ? text.app : rule.apps.front();
    std::vector<RuleMatch> matches;
    rules.match(text.message, source, app, &matches);
    const bool is_found = std::any_of(matches.begin(), matches.end(),
                                      [&](const RuleMatch& m) { return m.rule == &rule; });
    if (!is_found) continue;
    for (const RuleMatch& match : matches) {
      const Role role = match.rule->role;
      if (match.rule == &rule || role == Role::placement || match.rule->shadow) continue;
      const bool takes = role == Role::benign || (rule.generic && !match.rule->generic);
      if (takes && rule.role != Role::benign) return match.rule->id;
    }
    return std::nullopt;
  }
  return std::nullopt;
}

// A rule none of whose own examples is left to it never has the say.
void Lint::check_reachable(const Rule& rule, const Ruleset& rules) {
  if (rule.role == Role::placement || rule.role == Role::progress || rule.metric) return;
  std::set<std::string> takers;
  for (const RuleTest& test : rule.tests) {
    if (!test.want_match) continue;
    const auto by = taker(rule, test, rules);
    if (!by) return;
    takers.insert(*by);
  }
  if (takers.empty()) return;
  const std::vector<std::string> ids(takers.begin(), takers.end());
  warn(rule, fmt::format("never has the say: {} takes every line of its tests", join(ids, ", ")));
}

void Lint::check_same_pattern(const Ruleset& rules) {
  std::map<std::string, const Rule*> seen;
  for (const Rule& rule : rules.rules()) {
    if (rule.metric) continue;
    std::string key =
        fmt::format("{}\n{}\n{}\n{}", rule.match, rule.unless, rule.caseless, join(rule.apps, ","));
    for (const Source source : rule.sources) key += fmt::format("\n{}", to_string(source));
    const auto [other, is_new] = seen.emplace(std::move(key), &rule);
    if (!is_new) warn(rule, "matches exactly what " + other->second->id + " matches");
  }
}

std::vector<Finding> Lint::run() {
  check_ids();
  bool all_right = true;
  for (const Pack& pack : set_.packs) {
    for (const Rule& rule : pack.rules) {
      check_documentation(rule);
      if (rule.metric) continue;
      all_right = check_pattern(rule) && all_right;
      check_literals(rule);
    }
  }
  auto rules = Ruleset::build("lint", set_.packs);
  if (!rules) {
    // What was found rule by rule says more than the first of them again.
    const bool is_said = std::any_of(findings_.begin(), findings_.end(),
                                     [](const Finding& f) { return f.is_error; });
    if (!is_said) findings_.push_back({true, "rules", rules.error().message});
    return std::move(findings_);
  }
  for (const Rule& rule : (*rules)->rules()) {
    check_explains(rule, **rules);
    check_reachable(rule, **rules);
  }
  check_same_pattern(**rules);
  return std::move(findings_);
}

}  // namespace

std::vector<Finding> lint_packs(const PackSet& set) { return Lint(set).run(); }

Result<std::vector<Finding>> lint_cost(const Ruleset& rules, const std::string& benign) {
  auto file = open_regular(benign);
  if (!file) return tl::unexpected<Error>(file.error());
  std::map<const Rule*, std::uint64_t> stops;
  std::uint64_t lines = 0;
  LineSplitter splitter(kMaxMatchText);
  const auto count = [&](std::string_view line) {
    ++lines;
    if (rules.next_candidate(line, 0) == Ruleset::npos) return;
    const std::string low = lower(line);
    for (const Rule& rule : rules.rules()) {
      if (rule.role == Role::progress) continue;
      for (const Literal& literal : rules.literals(rule)) {
        const std::string_view text = literal.caseless ? std::string_view(low) : line;
        if (text.find(literal.text) == std::string_view::npos) continue;
        ++stops[&rule];
        break;
      }
    }
  };
  auto decoded = decode_file(*file, [&](std::string_view block) {
    splitter.feed(block, count);
    return true;
  });
  if (!decoded) return tl::unexpected<Error>(decoded.error());
  splitter.finish(count);
  std::vector<Finding> findings;
  for (const auto& [rule, hits] : stops) {
    const double per_million = static_cast<double>(hits) * 1e6 / static_cast<double>(lines);
    if (per_million <= kMaxBenignPerMillion) continue;
    findings.push_back(
        {false, place_of(*rule),
         fmt::format("its first stage stops at {} of {} lines of {}", hits, lines, benign)});
  }
  return findings;
}

}  // namespace nvab
