// SPDX-License-Identifier: Apache-2.0
// Reading packs for nvab-rules, listing and showing rules.
#include <fmt/core.h>

#include <iterator>
#include <utility>

#include "common/base/file.hh"
#include "common/base/json.hh"
#include "common/base/text.hh"
#include "common/engine/analysis.hh"
#include "common/engine/builtin_packs.hh"
#include "common/engine/extract/dialect.hh"
#include "epilog/rules_tool.hh"

namespace nvab {
namespace {

// As Ruleset::load has it.
constexpr std::size_t kMaxPackFile = 16 * 1024 * 1024;

Result<void> read_pack_file(const std::string& path, std::vector<Pack>* packs) {
  auto text = read_file(path, kMaxPackFile);
  if (!text) return tl::unexpected<Error>(text.error());
  auto pack = parse_pack(path, *text);
  if (!pack) return tl::unexpected<Error>(pack.error());
  packs->push_back(std::move(*pack));
  return {};
}

std::string sources_text(const Rule& rule) {
  std::vector<std::string> words;
  for (const Source source : rule.sources) words.emplace_back(to_string(source));
  return join(words, ", ");
}

std::string sub_domain_text(const Rule& rule) {
  const OutcomeRow* row = rule.outcome.empty() ? nullptr : find_outcome(rule.outcome);
  return row == nullptr ? "" : std::string(to_string(row->sub_domain));
}

Json rule_json(const Rule& rule) {
  Json json = Json::object();
  json.set("id", Json::of(rule.id)).set("cause", Json::of(rule.cause));
  json.set("title", Json::of(rule.title)).set("pack", Json::of(rule.pack));
  json.set("role", Json::of(to_string(rule.role))).set("outcome", Json::of(rule.outcome));
  json.set("sub_domain", Json::of(sub_domain_text(rule)));
  json.set("strength", Json::of(rule.strength)).set("drain", Json::of(rule.drain));
  Json sources = Json::array();
  for (const Source source : rule.sources) sources.push(Json::of(to_string(source)));
  json.set("source", std::move(sources));
  return json;
}

void put(std::string* out, std::string_view label, std::string_view text) {
  if (!text.empty()) *out += fmt::format("  {:<12} {}\n", label, text);
}

void put_tests(const Rule& rule, std::string* out) {
  for (const RuleTest& test : rule.tests) {
    std::string want = test.want_match ? "matches" : "does not match";
    for (const auto& [name, value] : test.want) want += fmt::format(" {}={}", name, value);
    put(out, "test", fmt::format("{}: {}", want, excerpt(test.line, 200)));
  }
}

// What no rule can say lives in code, in a fixed order; it is listed like a rule.
std::string list_passes(std::string_view glob, bool as_json) {
  std::string out;
  for (const Pass& pass : passes()) {
    const std::string id = fmt::format("pass.{}", pass.name);
    if (!glob.empty() && !glob_match(glob, id)) continue;
    if (as_json) {
      Json json = Json::object();
      json.set("id", Json::of(id)).set("role", Json::of("pass"));
      json.set("phase", Json::of(to_string(pass.phase))).set("title", Json::of(pass.help));
      out += json.dump() + "\n";
    } else {
      out += fmt::format("{:<34} {:<12} {:<16} {}\n", id, "pass", to_string(pass.phase), pass.help);
    }
  }
  return out;
}

}  // namespace

Result<PackSet> read_packs(const std::string& site_folder, const std::vector<std::string>& files) {
  PackSet set;
  for (const BuiltinPack& builtin : builtin_packs()) {
    auto pack = parse_pack(std::string(builtin.name) + ".toml", builtin.text);
    if (!pack) return tl::unexpected<Error>(pack.error());
    set.packs.push_back(std::move(*pack));
  }
  set.builtin_count = set.packs.size();
  if (!site_folder.empty() && is_folder(site_folder)) {
    auto names = list_folder(site_folder);
    if (!names) return tl::unexpected<Error>(names.error());
    for (const std::string& name : *names) {
      if (!name.ends_with(".toml") || name.starts_with(".")) continue;
      std::string path = site_folder;
      path.append("/").append(name);
      if (auto read = read_pack_file(path, &set.packs); !read) {
        return tl::unexpected<Error>(read.error());
      }
    }
  }
  for (const std::string& path : files) {
    if (auto read = read_pack_file(path, &set.packs); !read) {
      return tl::unexpected<Error>(read.error());
    }
  }
  return set;
}

std::string list_rules(const Ruleset& rules, std::string_view glob, bool as_json) {
  std::string out = list_passes(glob, as_json);
  for (const Rule& rule : rules.rules()) {
    if (!glob.empty() && !glob_match(glob, rule.id)) continue;
    if (as_json) {
      out += rule_json(rule).dump() + "\n";
    } else {
      out += fmt::format("{:<34} {:<12} {:<16} {}\n", rule.id, to_string(rule.role),
                         sub_domain_text(rule), rule.title);
    }
  }
  return out;
}

std::string show_rule(const Ruleset& rules, const Rule& rule) {
  std::string out = fmt::format("{}: {}\n", rule.id, rule.title);
  put(&out, "where", fmt::format("{}:{} (pack {})", rule.file, rule.line, rule.pack));
  put(&out, "cause", rule.cause);
  put(&out, "role", to_string(rule.role));
  put(&out, "outcome", rule.outcome.empty() ? "" : rule.outcome + " -> " + sub_domain_text(rule));
  put(&out, "blames", to_string(rule.blames));
  put(&out, "strength", std::to_string(rule.strength));
  put(&out, "drain", rule.drain ? "yes" : "");
  put(&out, "shadow", rule.shadow ? "yes: reported, without effect" : "");
  put(&out, "generic", rule.generic ? "yes: gives way to any other rule" : "");
  put(&out, "source", sources_text(rule));
  put(&out, "app", join(rule.apps, ", "));
  put(&out, "match", rule.match);
  put(&out, "unless", rule.unless);
  if (rule.metric) put(&out, "metric", join(rule.metric->names, ", "));
  for (const Literal& literal : rules.literals(rule)) {
    put(&out, "literal",
        fmt::format("'{}'{}", literal.text, literal.caseless ? " in any case" : ""));
  }
  put(&out, "explains", join(rule.explains, ", "));
  put(&out, "within", format_duration(rule.within));
  put(&out, "action", rule.action ? std::string(to_string(*rule.action)) : "");
  put(&out, "advice", rule.advice);
  put(&out, "explanation", rule.explanation);
  put(&out, "provenance", rule.provenance);
  put_tests(rule, &out);
  return out;
}

std::string findings_text(const std::vector<Finding>& findings) {
  std::string out;
  for (const Finding& finding : findings) {
    out += fmt::format("{}: {}: {}\n", finding.where, finding.is_error ? "error" : "warning",
                       finding.what);
  }
  return out;
}

RuleText rule_text(std::string_view lines, Source source) {
  RuleText text;
  bool is_first = true;
  for (const std::string_view line : split(lines, '\n')) {
    if (const auto json = unwrap_json(line)) {
      if (is_first) text.app = json->app;
      text.message += (is_first ? "" : "\n") + json->message;
    } else {
      const LineHead head = parse_head(line, source);
      if (is_first) text.app = std::string(head.app);
      text.message += (is_first ? "" : "\n") + sanitize(head.message);
    }
    is_first = false;
  }
  return text;
}

}  // namespace nvab
