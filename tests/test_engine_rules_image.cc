// SPDX-License-Identifier: Apache-2.0
// What the digest of the rules covers, and what the image of the built-in rules keeps: each field
// that can change a verdict. A field that a pack may hold belongs into kFields.
#include "common/engine/rules_image.hh"

#include <string>

#include "common/engine/ruleset_impl.hh"
#include "tests/cmocka.hh"

using namespace nvab;

namespace {

struct Field {
  const char* key;
  const char* other;  // a TOML value that is not the one of kRule
};

constexpr Field kFields[] = {
    {"match", "'other text'"},
    {"unless", "'^quoted'"},
    {"caseless", "true"},
    {"source", "['syslog']"},
    {"app", "['kernel']"},
    {"cause", "'another'"},
    {"title", "'Another'"},
    {"role", "'cascade'"},
    {"outcome", "'filesystem_down'"},
    {"everywhere", "'launch_failure'"},
    {"only_some", "'launch_failure'"},
    {"blames", "'gpu'"},
    {"strength", "71"},
    {"generic", "true"},
    {"explains", "['a.*']"},
    {"within", "'7m'"},
    {"reach", "'same_node'"},
    {"action", "'requeue'"},
    {"drain", "true"},
    {"advice", "'Do it again.'"},
    {"explanation", "'On {node}.'"},
    {"shadow", "true"},
};

constexpr Field kMetricFields[] = {
    {"names", "['other_metric']"},
    {"test", "'below'"},
    {"threshold", "8"},
    {"hold", "'2m'"},
};

constexpr Field kRule[] = {
    {"id", "'a.b'"},           {"title", "'Title'"}, {"match", "'some text'"},
    {"outcome", "'gpu_lost'"}, {"blames", "'node'"},
};

constexpr Field kMetric[] = {
    {"names", "['some_metric']"}, {"test", "'above'"}, {"threshold", "7"}, {"hold", "'1m'"}};

std::string line_of(const Field& field) {
  return std::string(field.key) + " = " + field.other + "\n";
}

// The fields of `base`, with `other` in place of its own or added.
std::string fields_of(std::span<const Field> base, const Field* other) {
  std::string text;
  for (const Field& field : base) {
    if (!other || std::string(field.key) != other->key) text += line_of(field);
  }
  return other ? text + line_of(*other) : text;
}

Pack pack_of(const std::string& rule) {
  auto pack = parse_pack("p.toml", "[pack]\nname = 'p'\n[[rule]]\n" + rule);
  if (!pack) print_error("%s\n", pack.error().message.c_str());
  assert_true(pack.has_value());
  return std::move(*pack);
}

std::shared_ptr<const RulesetCore> build(const std::string& rule) {
  const Pack packs[] = {pack_of(rule)};
  auto core = build_core("t", {}, packs);
  if (!core) print_error("%s\n", core.error().message.c_str());
  assert_true(core.has_value());
  return *core;
}

// The digest of what is left of the rules after a way through an image.
std::string digest_through_image(const RulesetCore& core) {
  RulesImage image;
  for (const Rule& rule : core.rules) image.rules.push_back({rule, {{"some text", false, 0}}});
  auto read = read_rules_image(write_rules_image(image));
  assert_true(read.has_value());
  auto again = build_core("t", std::move(*read), {});
  assert_true(again.has_value());
  return (*again)->name.digest;
}

void each_field_counts(std::span<const Field> fields, std::span<const Field> base,
                       const std::string& before) {
  const std::string plain = build(before + fields_of(base, nullptr))->name.digest;
  for (const Field& field : fields) {
    const auto core = build(before + fields_of(base, &field));
    if (core->name.digest == plain) print_error("the digest does not cover %s\n", field.key);
    assert_string_not_equal(core->name.digest.c_str(), plain.c_str());
    if (digest_through_image(*core) != core->name.digest) {
      print_error("the image does not keep %s\n", field.key);
    }
    assert_string_equal(digest_through_image(*core).c_str(), core->name.digest.c_str());
  }
}

}  // namespace

static void each_field_of_a_rule_is_in_digest_and_image(void**) {
  each_field_counts(kFields, kRule, "");
}

static void each_field_of_a_metric_is_in_digest_and_image(void**) {
  each_field_counts(kMetricFields, kMetric,
                    "id = 'a.m'\ntitle = 'T'\noutcome = 'gpu_lost'\n[rule.metric]\n");
}

static void what_cannot_change_a_verdict_is_not_in_the_digest(void**) {
  const std::string rule = fields_of(kRule, nullptr);
  assert_string_equal(build(rule + "provenance = 'documented'\n")->name.digest.c_str(),
                      build(rule)->name.digest.c_str());
}

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(each_field_of_a_rule_is_in_digest_and_image),
      cmocka_unit_test(each_field_of_a_metric_is_in_digest_and_image),
      cmocka_unit_test(what_cannot_change_a_verdict_is_not_in_the_digest),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
