// SPDX-License-Identifier: Apache-2.0
// nvab-rules: list, show, lint, test, explain and compare rules. See nvab-rules(1).
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "common/base/build_info.hh"
#include "common/base/file.hh"
#include "common/base/text.hh"
#include "epilog/rules_coverage.hh"
#include "epilog/rules_diff.hh"
#include "epilog/rules_tool.hh"

namespace {

using namespace nvab;

// Exit codes, as in nvab-rules(1).
constexpr int kOk = 0;
constexpr int kFound = 1;  // lint, test or diff found something; explain and show found nothing
constexpr int kUsage = 2;
constexpr int kBadPacks = 3;

// A text to explain; larger logs are for nvab-run.
constexpr std::size_t kMaxExplained = 64 * 1024 * 1024;

struct Options {
  std::string site;
  std::vector<std::string> packs;
  std::string glob;
  std::string id;
  std::string benign;
  std::vector<std::string> files;
  std::string source;
  std::string before, after;         // rulesets of diff
  std::vector<std::string> bundles;  // of coverage and diff
  std::string format = "text";
  bool json = false, strict = false, all_lines = false, never = false, arm_shadow = false;
};

void print(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

int complain(const Error& error, int code) {
  std::fprintf(stderr, "nvab-rules: %s\n", error.message.c_str());
  return code;
}

std::string read_stdin() {
  std::string text;
  char block[64 * 1024];
  for (std::size_t n = 0;
       text.size() < kMaxExplained && (n = fread(block, 1, sizeof block, stdin)) > 0;) {
    text.append(block, n);
  }
  return text;
}

int report(const std::vector<Finding>& findings, bool strict) {
  print(findings_text(findings));
  for (const Finding& finding : findings) {
    if (finding.is_error || strict) return kFound;
  }
  return kOk;
}

int lint(const Options& options) {
  auto set = read_packs(options.site, options.packs);
  if (!set) return complain(set.error(), kFound);
  std::vector<Finding> findings = lint_packs(*set);
  std::size_t count = 0;
  for (const Pack& pack : set->packs) count += pack.rules.size();
  auto rules = Ruleset::build("default", set->packs);
  if (rules && !options.benign.empty()) {
    auto cost = lint_cost(**rules, options.benign);
    if (!cost) return complain(cost.error(), kUsage);
    findings.insert(findings.end(), cost->begin(), cost->end());
  }
  // Who checks a pack of their own cannot mend the built-in ones.
  if (!options.packs.empty()) {
    std::erase_if(findings, [&](const Finding& finding) {
      return std::none_of(options.packs.begin(), options.packs.end(), [&](const std::string& file) {
        return finding.where.starts_with(file + ":");
      });
    });
  }
  const int code = report(findings, options.strict);
  std::fprintf(stderr, "%zu packs, %zu rules, %zu findings\n", set->packs.size(), count,
               findings.size());
  return code;
}

int run_tests(const Ruleset& rules, const Options& options) {
  TestTotals totals;
  const int code = report(run_rule_tests(rules, options.glob, &totals), false);
  std::fprintf(stderr, "%d rules, %d tests, %d failed\n", totals.rules, totals.tests,
               totals.failed);
  return code;
}

int show(const Ruleset& rules, const Options& options) {
  if (const Rule* rule = rules.find(options.id)) {
    print(show_rule(rules, *rule));
    return kOk;
  }
  std::vector<std::string_view> ids;
  for (const Rule& rule : rules.rules()) ids.push_back(rule.id);
  const std::string_view near = nearest(options.id, ids);
  std::string sentence = "there is no rule " + options.id;
  if (!near.empty()) sentence += "; did you mean " + std::string(near) + "?";
  return complain({Error::Code::not_found, sentence}, kFound);
}

int explain(const Ruleset& rules, const Options& options) {
  const auto source = source_from(options.source);
  bool any = false;
  for (const std::string& file : options.files) {
    std::string text;
    if (file == "-") {
      text = read_stdin();
    } else {
      auto read = read_file(file, kMaxExplained);
      if (!read) return complain(read.error(), kUsage);
      text = std::move(*read);
    }
    const std::string out =
        explain_lines(rules, file == "-" ? "stdin" : file, text, source, options.all_lines);
    any = any || !out.empty();
    print(out);
  }
  if (!any) std::fputs("no rule fires, and none is near\n", stderr);
  return any ? kOk : kFound;
}

int cover(const Ruleset& rules, const Options& options) {
  const auto bundles = find_bundles(options.bundles);
  if (!bundles) return complain(bundles.error(), kUsage);
  CoverageReport report(rules);
  for (const std::string& bundle : *bundles) {
    if (auto added = report.add(bundle); !added) return complain(added.error(), kUsage);
  }
  print(options.format == "json" ? report.json(options.glob)
                                 : report.text(options.glob, options.never));
  return kOk;
}

// "builtin", or a folder of packs or a pack file on top of the built-in ones.
Result<std::unique_ptr<Ruleset>> rules_named(const std::string& name, bool arm_shadow) {
  if (name != "builtin" && !exists(name)) {
    return fail(Error::Code::not_found,
                name +
                    ": there is no such pack or folder of packs (the built-in rules alone are "
                    "called builtin)");
  }
  const bool is_builtin = name == "builtin", is_site = !is_builtin && is_folder(name);
  std::vector<std::string> files;
  if (!is_builtin && !is_site) files.push_back(name);
  auto set = read_packs(is_site ? name : "", files);
  if (!set) return tl::unexpected<Error>(set.error());
  for (Pack& pack : set->packs) {
    for (Rule& rule : pack.rules) rule.shadow = rule.shadow && !arm_shadow;
  }
  return Ruleset::build("default", set->packs);
}

int diff(const Options& options) {
  const auto before = rules_named(options.before, false);
  if (!before) return complain(before.error(), kBadPacks);
  const auto after = rules_named(options.after, options.arm_shadow);
  if (!after) return complain(after.error(), kBadPacks);
  const auto bundles = find_bundles(options.bundles);
  if (!bundles) return complain(bundles.error(), kUsage);
  std::vector<BundleDiff> diffs;
  bool any = false;
  for (const std::string& bundle : *bundles) {
    auto one = diff_bundle(bundle, **before, **after);
    if (!one) return complain(one.error(), kUsage);
    any = any || !one->changes.empty();
    diffs.push_back(std::move(*one));
  }
  print(options.format == "json" ? diffs_json(diffs) : diffs_text(diffs));
  return any ? kFound : kOk;
}

void add_bundle_commands(CLI::App& app, Options& options) {
  const auto add_format = [&](CLI::App* command) {
    command->add_option("--format", options.format, "text or json")
        ->check(CLI::IsMember({"text", "json"}))
        ->type_name("FORMAT");
  };
  CLI::App* coverage = app.add_subcommand("coverage", "Say which rules fire on bundles, and how");
  coverage->add_option("DIR", options.bundles, "Bundles, or folders of them")->required();
  coverage->add_option("--only", options.glob, "Only rules whose id fits, such as 'gpu.*'")
      ->type_name("GLOB");
  coverage->add_flag("--never", options.never, "List the rules that never fire");
  add_format(coverage);
  CLI::App* compare = app.add_subcommand("diff", "Say which verdicts other rules change");
  compare->add_option("OLD", options.before, "A pack, a folder of packs, or builtin")->required();
  compare->add_option("NEW", options.after, "The same")->required();
  compare->add_option("--on", options.bundles, "Bundles, or folders of them; may repeat")
      ->type_name("DIR")
      ->required()
      ->take_all();
  compare->add_flag("--arm-shadow", options.arm_shadow,
                    "Rules of NEW in shadow mode take effect: what would they change?");
  add_format(compare);
}

void add_commands(CLI::App& app, Options& options) {
  app.add_option("--rules-dir", options.site, "Folder of the site's own packs")
      ->type_name("DIR")
      ->capture_default_str();
  app.add_option("--pack", options.packs, "Another pack file, after those; may repeat")
      ->type_name("FILE")
      ->take_all();
  app.require_subcommand(1);
  app.fallthrough();

  CLI::App* list = app.add_subcommand("list", "List rules: id, role, sub-domain, title");
  list->add_option("GLOB", options.glob, "Only rules whose id fits, such as 'gpu.*'");
  list->add_flag("--json", options.json, "One JSON object a line");
  CLI::App* show = app.add_subcommand("show", "Show everything about one rule");
  show->add_option("ID", options.id, "The rule's id")->required();
  CLI::App* lint = app.add_subcommand("lint", "Find what is wrong with packs");
  lint->add_option("FILE", options.packs, "Pack files, beside the built-in ones");
  lint->add_option("--benign", options.benign,
                   "A log of jobs that went well: name rules whose first stage stops in it often")
      ->type_name("LOG");
  lint->add_flag("--strict", options.strict, "Warnings count as errors");
  CLI::App* test = app.add_subcommand("test", "Run the tests that rules carry");
  test->add_option("GLOB", options.glob, "Only rules whose id fits");
  CLI::App* explain = app.add_subcommand("explain", "Say which rules fire on lines, and why not");
  explain->add_option("FILE", options.files, "A log, or - for stdin")->required();
  explain->add_option("--source", options.source, "What the lines are; else they tell themselves")
      ->check(CLI::IsMember({"applog", "syslog", "scheduler", "task_exits"}))
      ->type_name("SOURCE");
  explain->add_flag("--all", options.all_lines, "Also show lines that no rule is near");
  add_bundle_commands(app, options);
}

int run(int argc, char** argv) {
  CLI::App app("Lists, explains, lints, tests and compares the rules by which jobs are judged.",
               "nvab-rules");
  app.set_version_flag("--version", "nvab-rules " + std::string(build_info().version));
  Options options;
  options.site = std::string(build_info().sysconf_dir) + "/rules.d";
  add_commands(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    std::fprintf(stderr, "nvab-rules: %s\nTry 'nvab-rules --help', or see nvab-rules(1).\n",
                 error.what());
    return kUsage;
  }
  if (app.got_subcommand("lint")) return lint(options);
  if (app.got_subcommand("diff")) return diff(options);
  auto set = read_packs(options.site, options.packs);
  if (!set) return complain(set.error(), kBadPacks);
  auto rules = Ruleset::build("default", set->packs);
  if (!rules) return complain(rules.error(), kBadPacks);
  if (app.got_subcommand("list")) {
    print(list_rules(**rules, options.glob, options.json));
    return kOk;
  }
  if (app.got_subcommand("coverage")) return cover(**rules, options);
  if (app.got_subcommand("show")) return show(**rules, options);
  if (app.got_subcommand("test")) return run_tests(**rules, options);
  return explain(**rules, options);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "nvab-rules: %s\n", error.what());
    return kFound;
  }
}
