// SPDX-License-Identifier: Apache-2.0
// Rule packs: TOML in, checked rules out. What needs the pattern compiled is checked later, by
// Ruleset::build.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "common/base/text.hh"
#include "common/base/toml.hh"
#include "common/engine/rule.hh"
#include "common/engine/toml_fields.hh"

namespace nvab {
namespace {

// Far more than all packs of a site; bounds what a hostile one can cost.
constexpr std::size_t kMaxRules = 10'000;

// Samples are doubles, which hold whole numbers up to 2^53 exactly.
constexpr double kMaskBits = 53;

constexpr std::string_view kSources[] = {"applog",    "syslog",     "node_metrics",
                                         "scheduler", "task_exits", "flight_recorder"};

// "gpu.xid.79": words of lower case letters, digits, '_' and '-', joined by '.', at least two: the
// first one is the family that `explains` globs name.
bool is_rule_id(std::string_view id) {
  const std::vector<std::string_view> words = split(id, '.');
  return words.size() >= 2 && std::all_of(words.begin(), words.end(), [](std::string_view word) {
           return !word.empty() &&
                  word.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_-") ==
                      std::string_view::npos;
         });
}

void read_sources(TomlFields* fields, Rule* rule) {
  const Toml* list = fields->any("source", Toml::Kind::array);
  if (!list) return;
  rule->sources.clear();
  for (const Toml& element : list->elements) {
    const int index = fields->index_of(element, "source", kSources);
    if (index >= 0) rule->sources.push_back(static_cast<Source>(index));
  }
  if (rule->sources.empty()) fields->complain("source", "is empty: no line would ever match");
}

void check_metric(TomlFields* fields, const MetricMatch& metric) {
  if (metric.names.empty()) fields->complain("names", "is missing: which metrics?");
  const bool sticky = metric.test == MetricTest::changes_to;
  if (sticky && metric.values.empty()) {
    fields->complain("values", "is missing: changes_to wants the values that mean trouble");
  }
  if (!sticky && !metric.values.empty()) {
    fields->complain("values", "belongs to test = \"changes_to\"; use threshold");
  }
  const bool mask = metric.test == MetricTest::has_bits;
  if (mask != (metric.bits != 0)) {
    fields->complain("bits", mask ? "is missing: has_bits wants a list of bit numbers"
                                  : "belongs to test = \"has_bits\"");
  }
}

// Bit numbers rather than a mask: documentation lists them so, and TOML's numbers are signed.
void read_bits(TomlFields* fields, MetricMatch* metric) {
  std::vector<double> numbers;
  fields->numbers("bits", &numbers);
  for (const double number : numbers) {
    const bool fits = number >= 0 && number < kMaskBits && number == std::floor(number);
    if (!fits) return fields->complain("bits", "wants bit numbers from 0 to 52");
    metric->bits |= std::uint64_t{1} << static_cast<unsigned>(number);
  }
}

Result<void> read_labels(std::string_view file, const Toml* table, const std::string& what,
                         std::map<std::string, std::string>* labels) {
  if (!table) return {};
  TomlFields fields(file, *table, what + ": labels");
  if (!table->is(Toml::Kind::table)) fields.complain("labels", "wants {label = \"glob\"}");
  for (const auto& [name, value] : table->members) fields.text(name, &(*labels)[name]);
  return fields.finish();
}

Result<MetricMatch> read_metric(std::string_view file, const Toml& table, const std::string& what) {
  MetricMatch metric;
  TomlFields fields(file, table, what + ": metric");
  fields.texts("names", &metric.names);
  fields.word("test", MetricTest::changes_to, MetricTest::has_bits, &metric.test);
  fields.numbers("values", &metric.values);
  read_bits(&fields, &metric);
  if (auto labels = read_labels(file, fields.any("labels"), what, &metric.labels); !labels)
    return tl::unexpected<Error>(labels.error());
  const bool threshold = fields.number("threshold", &metric.threshold);
  const bool hold = fields.duration("hold", &metric.hold);
  check_metric(&fields, metric);
  const bool beyond = metric.test == MetricTest::above || metric.test == MetricTest::below;
  if (beyond && !threshold) fields.complain("threshold", "is missing");
  const bool level = beyond || metric.test == MetricTest::has_bits;
  if (metric.test == MetricTest::increases && !threshold) metric.threshold = 1;
  if (hold && !level) fields.complain("hold", "belongs to \"above\", \"below\" and \"has_bits\"");
  if (auto done = fields.finish(); !done) return tl::unexpected<Error>(done.error());
  return metric;
}

void read_want(TomlFields* fields, RuleTest* test) {
  const Toml* want = fields->any("want");
  if (!want) return fields->complain("want", "is missing: \"match\", \"no match\" or captures");
  if (want->is(Toml::Kind::table)) {
    for (const auto& [name, value] : want->members) {
      if (!value.is(Toml::Kind::string)) fields->complain("want", "wants strings: " + name);
      test->want[name] = value.text;
    }
    return;
  }
  constexpr std::string_view kWords[] = {"match", "no match"};
  test->want_match = fields->index_of(*want, "want", kWords) != 1;
}

Result<RuleTest> read_test(std::string_view file, const Toml& table, const std::string& what) {
  RuleTest test;
  TomlFields fields(file, table, what + ": test");
  if (!fields.text("line", &test.line)) fields.complain("line", "is missing");
  read_want(&fields, &test);
  if (auto done = fields.finish(); !done) return tl::unexpected<Error>(done.error());
  return test;
}

// The outcome decides what a rule that does not say otherwise blames and advises.
void read_outcome(TomlFields* fields, Rule* rule) {
  std::vector<std::string_view> words;
  for (const OutcomeRow& row : outcomes()) words.push_back(row.outcome);
  const int index = fields->index_of("outcome", words);
  const int everywhere = fields->index_of("everywhere", words);
  if (everywhere >= 0) rule->everywhere = words[static_cast<std::size_t>(everywhere)];
  const int only_some = fields->index_of("only_some", words);
  if (only_some >= 0) rule->only_some = words[static_cast<std::size_t>(only_some)];
  if (index >= 0) {
    rule->outcome = words[static_cast<std::size_t>(index)];
    if (outcomes()[static_cast<std::size_t>(index)].blames_node) rule->blames = Blame::node;
  }
  fields->word("blames", Blame::none, Blame::peer, &rule->blames);
  Action action{};
  const bool known =
      fields->word("action", Action::investigate, Action::resubmit_with_more_memory, &action);
  if (known) rule->action = action;
  fields->flag("drain", &rule->drain);
  if (rule->role == Role::root && rule->outcome.empty()) {
    fields->complain("outcome", "is missing: a root says how the job ended");
  }
  if (rule->drain && rule->blames == Blame::none) {
    fields->complain("drain", "wants a rule that blames a node, gpu, nic or peer");
  }
}

void read_match(TomlFields* fields, Rule* rule) {
  const bool line = fields->text("match", &rule->match);
  fields->text("unless", &rule->unless);
  fields->flag("caseless", &rule->caseless);
  const bool metric = fields->any("metric") != nullptr;
  if (line && metric) fields->complain("metric", "and match exclude each other");
  if (!line && !metric) fields->complain("match", "or metric is missing");
  if (line && rule->match.empty()) fields->complain("match", "is empty");
  if (metric && !rule->unless.empty()) fields->complain("unless", "belongs to match");
  rule->sources = metric ? std::vector<Source>{Source::node_metrics}
                         : std::vector<Source>{Source::applog, Source::syslog};
  read_sources(fields, rule);
  for (Source source : rule->sources) {
    if (metric != (source == Source::node_metrics)) {
      fields->complain("source", metric ? "of a metric rule is node_metrics"
                                        : "node_metrics wants metric instead of match");
    }
  }
  fields->texts("app", &rule->apps);
}

void read_meaning(TomlFields* fields, Rule* rule) {
  fields->text("cause", &rule->cause);
  fields->text("title", &rule->title);
  fields->word("role", Role::root, Role::benign, &rule->role);
  read_outcome(fields, rule);
  fields->integer("strength", 1, 100, &rule->strength);
  fields->flag("generic", &rule->generic);
  fields->texts("explains", &rule->explains);
  fields->texts("ends", &rule->ends);
  fields->duration("within", &rule->within);
  fields->word("reach", Reach::same_rank, Reach::job, &rule->reach);
  fields->text("advice", &rule->advice);
  fields->text("explanation", &rule->explanation);
  fields->text("provenance", &rule->provenance);
  fields->flag("shadow", &rule->shadow);
  if (rule->role == Role::root && rule->title.empty()) fields->complain("title", "is missing");
}

Result<void> read_parts(std::string_view file, const Toml* metric, const Toml* tests,
                        const std::string& what, Rule* rule) {
  if (metric) {
    auto read = read_metric(file, *metric, what);
    if (!read) return tl::unexpected<Error>(read.error());
    rule->metric = std::move(*read);
  }
  if (!tests) return {};
  for (const Toml& element : tests->elements) {
    auto test = read_test(file, element, what);
    if (!test) return tl::unexpected<Error>(test.error());
    rule->tests.push_back(std::move(*test));
  }
  return {};
}

void fill_defaults(std::string_view file, const Toml& table, Rule* rule) {
  rule->file = file;
  rule->line = table.line;
  if (rule->title.empty()) rule->title = rule->id;
  if (!rule->cause.empty()) return;
  rule->cause = rule->id;
  std::replace(rule->cause.begin(), rule->cause.end(), '.', '_');
}

Result<Rule> read_rule(std::string_view file, const Toml& table) {
  Rule rule;
  const Toml* id = table.get("id");
  const std::string what = id && !id->text.empty() ? "rule " + id->text : "a rule";
  TomlFields fields(file, table, what);
  if (!fields.text("id", &rule.id)) fields.complain("id", "is missing");
  if (!rule.id.empty() && !is_rule_id(rule.id)) {
    fields.complain("id", "wants lower case words joined by dots, like \"gpu.xid.79\"");
  }
  read_match(&fields, &rule);
  read_meaning(&fields, &rule);
  const Toml* metric = fields.any("metric");
  const Toml* tests = fields.any("test", Toml::Kind::array);
  if (auto done = fields.finish(); !done) return tl::unexpected<Error>(done.error());
  if (auto read = read_parts(file, metric, tests, what, &rule); !read) {
    return tl::unexpected<Error>(read.error());
  }
  fill_defaults(file, table, &rule);
  return rule;
}

Result<void> read_header(std::string_view file, const Toml& table, Pack* pack) {
  TomlFields fields(file, table, "[pack]");
  if (!fields.text("name", &pack->name) || pack->name.empty()) {
    fields.complain("name", "is missing");
  }
  fields.text("version", &pack->version);
  fields.texts("disable", &pack->disabled);
  return fields.finish();
}

Result<void> read_sets(std::string_view file, const Toml* list, RuleSets* sets) {
  if (!list) return {};
  for (const Toml& element : list->elements) {
    TomlFields fields(file, element, "a set");
    std::string name;
    std::vector<std::string> globs;
    if (!fields.text("name", &name) || name.empty()) fields.complain("name", "is missing");
    if (!fields.texts("rules", &globs) || globs.empty()) fields.complain("rules", "is missing");
    const auto nested = [](const std::string& glob) { return glob.starts_with('@'); };
    if (std::any_of(globs.begin(), globs.end(), nested))
      fields.complain("rules", "holds a set; sets hold rules only");
    if (!sets->emplace(name, std::move(globs)).second) fields.complain("name", "is there already");
    if (auto done = fields.finish(); !done) return done;
  }
  return {};
}

Result<void> read_rules(std::string_view file, const Toml& list, Pack* pack) {
  if (list.elements.size() > kMaxRules) {
    return fail(Error::Code::malformed,
                fmt::format("{}: more than {} rules in one pack", file, kMaxRules));
  }
  std::map<std::string, int> lines;  // id -> line of its rule
  for (const Toml& element : list.elements) {
    auto rule = read_rule(file, element);
    if (!rule) return tl::unexpected<Error>(rule.error());
    const auto [other, is_new] = lines.emplace(rule->id, rule->line);
    if (!is_new) {
      return fail(Error::Code::malformed, fmt::format("{}:{}: rule {} is there already, at line {}",
                                                      file, rule->line, rule->id, other->second));
    }
    rule->pack = pack->name;
    pack->rules.push_back(std::move(*rule));
  }
  return {};
}

}  // namespace

Result<Pack> parse_pack(std::string_view file_name, std::string_view text) {
  auto document = parse_toml(file_name, text);
  if (!document) return tl::unexpected<Error>(document.error());
  TomlFields fields(file_name, *document, "the pack");
  const Toml* header = fields.any("pack", Toml::Kind::table);
  if (!header) fields.complain("[pack]", "is missing (with at least a name)");
  const Toml* rules = fields.any("rule", Toml::Kind::array);
  const Toml* sets = fields.any("set", Toml::Kind::array);
  if (auto done = fields.finish(); !done) return tl::unexpected<Error>(done.error());
  Pack pack;
  if (auto read = read_header(file_name, *header, &pack); !read) {
    return tl::unexpected<Error>(read.error());
  }
  if (auto read = read_sets(file_name, sets, &pack.sets); !read) {
    return tl::unexpected<Error>(read.error());
  }
  if (!rules) return pack;
  if (auto read = read_rules(file_name, *rules, &pack); !read) {
    return tl::unexpected<Error>(read.error());
  }
  return pack;
}

}  // namespace nvab
