// SPDX-License-Identifier: Apache-2.0
// Packs become one ruleset: overrides, checks, digest, first stage.
#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "common/base/digest.hh"
#include "common/base/text.hh"
#include "common/engine/extract/block_kinds.hh"
#include "common/engine/ruleset_impl.hh"

namespace nvab {
namespace {

// Progress lines are sampled, so that their first stage may select more.
constexpr std::size_t kMinProgressLiteral = 3;

tl::unexpected<Error> fail_rule(const Rule& rule, std::string_view problem) {
  return fail(Error::Code::malformed,
              fmt::format("{}:{}: rule {}: {}", rule.file, rule.line, rule.id, problem));
}

using RuleMap = std::map<std::string, CompiledRule, std::less<>>;

Result<void> merge(const Pack& pack, RuleMap* rules) {
  for (const std::string& id : pack.disabled) {
    if (rules->erase(id) > 0) continue;
    std::vector<std::string_view> ids;
    for (const auto& [known, rule] : *rules) ids.push_back(known);
    const std::string_view near = nearest(id, ids);
    return fail(Error::Code::malformed,
                fmt::format("pack {}: disable: there is no rule {}{}", pack.name, id,
                            near.empty() ? "" : fmt::format("; did you mean '{}'?", near)));
  }
  for (const Rule& rule : pack.rules) (*rules)[rule.id] = CompiledRule{rule, {}};
  return {};
}

// "@name" becomes what the set of that name holds.
Result<void> expand_sets(const Rule& rule, const RuleSets& sets, std::vector<std::string>* globs) {
  std::vector<std::string> all;
  for (std::string& glob : *globs) {
    if (!glob.starts_with('@')) {
      all.push_back(std::move(glob));
      continue;
    }
    const auto set = sets.find(std::string_view(glob).substr(1));
    if (set == sets.end()) {
      return fail_rule(rule, fmt::format("there is no [[set]] called '{}'", glob.substr(1)));
    }
    all.insert(all.end(), set->second.begin(), set->second.end());
  }
  *globs = std::move(all);
  return {};
}

// "{name}" in an explanation must be a field that every event has or a capture of the rule.
std::string unknown_placeholder(const Rule& rule, const std::vector<std::string>& captures) {
  constexpr std::string_view kAlways[] = {"node", "rank", "gpu", "nic"};
  for (std::size_t at = 0; (at = rule.explanation.find('{', at)) != std::string::npos; ++at) {
    const std::size_t end = rule.explanation.find('}', at);
    if (end == std::string::npos) return rule.explanation.substr(at);
    const std::string word = rule.explanation.substr(at + 1, end - at - 1);
    if (std::find(std::begin(kAlways), std::end(kAlways), word) == std::end(kAlways) &&
        std::find(captures.begin(), captures.end(), word) == captures.end()) {
      return word;
    }
  }
  return "";
}

Result<void> check_patterns(const Rule& rule) {
  if (rule.metric) return {};
  const auto match = Regex::compile(rule.match, rule.caseless);
  if (!match) return fail_rule(rule, match.error().message);
  if (!rule.unless.empty()) {
    const auto unless = Regex::compile(rule.unless, rule.caseless);
    if (!unless) return fail_rule(rule, "unless: " + unless.error().message);
  }
  const std::string unknown = unknown_placeholder(rule, match->group_names());
  if (unknown.empty()) return {};
  return fail_rule(rule, fmt::format("explanation: no capture is called '{}'", unknown));
}

bool is_glob(std::string_view word) { return word.find_first_of("*?") != std::string_view::npos; }

// Walks `explains` from rule to rule by exact ids. Globs name families of possible effects and may
// well include the rule itself; the engine orders such pairs by time.
class CycleFinder {
 public:
  explicit CycleFinder(const RuleMap& rules) : rules_(rules) {}

  // The ids of a cycle, the first one repeated at the end; empty when there is none.
  std::vector<std::string> find() {
    for (const auto& [id, rule] : rules_) {
      if (visit(id)) return path_;
    }
    return {};
  }

 private:
  bool visit(const std::string& id) {
    if (done_.count(id) > 0) return false;
    const auto start = std::find(path_.begin(), path_.end(), id);
    if (start != path_.end()) {
      path_.erase(path_.begin(), start);
      path_.push_back(id);
      return true;
    }
    const auto rule = rules_.find(id);
    if (rule == rules_.end()) return false;
    path_.push_back(id);
    for (const std::string& effect : rule->second.rule.explains) {
      if (!is_glob(effect) && visit(effect)) return true;
    }
    path_.pop_back();
    done_.insert(id);
    return false;
  }
  const RuleMap& rules_;
  std::vector<std::string> path_;
  std::set<std::string> done_;
};

Result<void> check_explains(const RuleMap& rules) {
  const std::vector<std::string> cycle = CycleFinder(rules).find();
  if (cycle.empty()) return {};
  return fail_rule(rules.find(cycle.front())->second.rule,
                   "explains: goes round in a circle: " + join(cycle, " -> "));
}

void append(std::string* out, std::string_view field) {
  *out += std::to_string(field.size());
  *out += ':';
  *out += field;
}

// Everything of a rule that can change a verdict, in a fixed order, each field with its length.
std::string canonical(const Rule& rule) {
  std::string out;
  auto list = [&](const std::vector<std::string>& words) {
    append(&out, std::to_string(words.size()));
    for (const std::string& word : words) append(&out, word);
  };
  for (const std::string* text :
       {&rule.id, &rule.cause, &rule.title, &rule.match, &rule.unless, &rule.outcome,
        &rule.everywhere, &rule.only_some, &rule.advice, &rule.explanation}) {
    append(&out, *text);
  }
  for (Source source : rule.sources) append(&out, to_string(source));
  list(rule.apps);
  list(rule.explains);
  list(rule.ends);
  append(&out, fmt::format("{} {} {} {} {} {} {} {} {} {}", rule.caseless, to_string(rule.role),
                           to_string(rule.blames), rule.strength, rule.generic, rule.within.count(),
                           to_string(rule.reach), rule.drain, rule.shadow,
                           rule.action ? to_string(*rule.action) : "-"));
  if (!rule.metric) return out;
  list(rule.metric->names);
  append(&out, fmt::format("{} {} {}", to_string(rule.metric->test), rule.metric->threshold,
                           rule.metric->hold.count()));
  for (double value : rule.metric->values) append(&out, fmt::format("{}", value));
  append(&out, std::to_string(rule.metric->bits));
  for (const auto& [label, glob] : rule.metric->labels) append(&out, label + '=' + glob);
  return out;
}

std::string digest_of(const RuleMap& rules) {
  std::string all;
  for (const auto& [id, compiled] : rules) append(&all, canonical(compiled.rule));
  return "sha256:" + sha256_hex(all);
}

Result<std::vector<Literal>> literals_of(const Rule& rule) {
  if (rule.metric) return std::vector<Literal>{};
  const bool sampled = rule.role == Role::progress;
  auto literals =
      required_literals(rule.match, rule.caseless, sampled ? kMinProgressLiteral : kMinLiteral);
  if (!literals) return fail_rule(rule, literals.error().message);
  return literals;
}

void fill_matchers(RulesetCore* core) {
  std::vector<OwnedLiteral> line, progress;
  for (const Rule& rule : core->rules) {
    const std::uint32_t index = core->index_of(rule);
    core->has_shadow = core->has_shadow || rule.shadow;
    auto& list = rule.role == Role::progress ? progress : line;
    for (const Literal& literal : core->literals[index]) list.push_back({literal, index});
  }
  const auto nobody = static_cast<std::uint32_t>(core->rules.size());
  for (std::string_view opener : block_openers()) {
    line.push_back({{std::string(opener), false}, nobody});
  }
  core->line_matcher.emplace(line);
  core->progress_matcher.emplace(progress);
}

// Checks a rule of a pack and works out its first stage.
Result<void> compile(CompiledRule* compiled) {
  if (auto checked = check_patterns(compiled->rule); !checked) return checked;
  auto literals = literals_of(compiled->rule);
  if (!literals) return tl::unexpected<Error>(literals.error());
  compiled->literals = std::move(*literals);
  for (Literal& literal : compiled->literals) LiteralMatcher::choose_place(&literal);
  return {};
}

Result<void> compile_packs(std::span<const Pack> packs, const RuleSets& sets, RuleMap* rules) {
  for (const Pack& pack : packs) {
    if (auto merged = merge(pack, rules); !merged) return merged;
  }
  for (auto& [id, compiled] : *rules) {
    for (auto* globs : {&compiled.rule.explains, &compiled.rule.ends}) {
      if (auto expanded = expand_sets(compiled.rule, sets, globs); !expanded) return expanded;
    }
  }
  for (auto& [id, compiled] : *rules) {
    if (!compiled.literals.empty()) continue;  // was compiled before
    if (auto done = compile(&compiled); !done) return done;
  }
  return check_explains(*rules);
}

// "1", or "gpu=1,nccl=2" when there are several.
std::string version_of(std::span<const Pack> packs) {
  std::vector<std::string> versions;
  for (const Pack& pack : packs) {
    if (!pack.version.empty()) versions.push_back(pack.name + "=" + pack.version);
  }
  return join(versions, ",");
}

std::shared_ptr<const RulesetCore> make_core(std::string_view name, RulesImage image) {
  auto core = std::make_shared<RulesetCore>();
  core->name = {std::string(name), std::move(image.version), std::move(image.digest)};
  core->sets = std::move(image.sets);
  core->rules.reserve(image.rules.size());
  core->literals.reserve(image.rules.size());
  for (CompiledRule& compiled : image.rules) {
    core->rules.push_back(std::move(compiled.rule));
    core->literals.push_back(std::move(compiled.literals));
  }
  fill_matchers(core.get());
  return core;
}

}  // namespace

Result<std::shared_ptr<const RulesetCore>> build_core(std::string_view name, RulesImage base,
                                                      std::span<const Pack> packs) {
  if (packs.empty() && !base.digest.empty()) return make_core(name, std::move(base));
  RuleMap rules;
  for (CompiledRule& compiled : base.rules) {
    std::string id = compiled.rule.id;
    rules.emplace(std::move(id), std::move(compiled));
  }
  RulesImage image;
  image.sets = std::move(base.sets);
  for (const Pack& pack : packs) {
    for (const auto& [name_of_set, globs] : pack.sets) image.sets[name_of_set] = globs;
  }
  if (auto done = compile_packs(packs, image.sets, &rules); !done)
    return tl::unexpected<Error>(done.error());
  image.digest = digest_of(rules);
  const std::string added = version_of(packs);
  image.version = base.version + (base.version.empty() || added.empty() ? "" : ",") + added;
  for (auto& [id, compiled] : rules) image.rules.push_back(std::move(compiled));
  return make_core(name, std::move(image));
}

Result<std::unique_ptr<Ruleset>> Ruleset::build(std::string_view name,
                                                std::span<const Pack> packs) {
  auto core = build_core(name, {}, packs);
  if (!core) return tl::unexpected<Error>(core.error());
  return std::unique_ptr<Ruleset>(new Ruleset(std::make_unique<Impl>(std::move(*core))));
}

}  // namespace nvab
