// SPDX-License-Identifier: Apache-2.0
// The table of NVIDIA's Xid codes: each public code has a rule of its own, or a reason why not;
// what the rules say agrees with the immediate action of NVIDIA's catalogue (r590) where public
// tables contradict each other, and the provenance tells why; a site can decide otherwise.
#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/text.hh"
#include "common/engine/builtin_packs.hh"
#include "common/engine/ruleset.hh"
#include "tests/cmocka.hh"

using namespace nvab;

namespace {

std::unique_ptr<Ruleset> g_rules;

constexpr int kLastCode = 172;  // of the r590 catalogue

struct NoRule {
  int first, last;
  const char* why;
};
// Codes without a rule of their own: gpu.other_xid takes them, and says to look.
constexpr NoRule kNoRule[] = {
    {1, 4, "invalid push buffers of old graphics channels; compute reports 11, 25, 32 and 80"},
    {5, 5, "unused"},
    {6, 7, "invalid push buffers, as 1"},
    {9, 9, "driver error programming the GPU: nothing is known but the number"},
    {10, 10, "unused"},
    {12, 12, "driver error handling an exception: the exception has a code of its own"},
    {15, 15, "unused"},
    {16, 16, "display engine hung"},
    {17, 17, "unused"},
    {18, 18, "bus mastering disabled: set by hand, no fault of a running job is known by it"},
    {19, 19, "display engine"},
    {20, 22, "video: invalid push buffers of MPEG engines that compute GPUs lack"},
    {24, 24, "semaphore timeout of old boards; 109 says it now"},
    {26, 26, "framebuffer timeout of old boards; 46 and 48 say it now"},
    {27, 29, "video processor of old boards"},
    {30, 30, "semaphore access of old boards; 31 says it now"},
    {33, 33, "micro-controller of old boards; 61 and 62 say it now"},
    {34, 36, "video processor of old boards"},
    {49, 53, "unused"},
    {55, 55, "unused"},
    {81, 81, "VGA"},
    {111, 111, "display bundle"},
};

const char* reason_for_no_rule(int code) {
  for (const NoRule& none : kNoRule) {
    if (code >= none.first && code <= none.last) return none.why;
  }
  return nullptr;
}

std::vector<const Rule*> rules_of(const std::string& message, const Ruleset& rules = *g_rules) {
  std::vector<RuleMatch> matches;
  rules.match(message, Source::syslog, "kernel", &matches);
  std::vector<const Rule*> found;
  for (const RuleMatch& match : matches) {
    if (!match.rule->generic) found.push_back(match.rule);
  }
  return found;
}

// The head of a line in the formats of the drivers up to R565, from R570 on, and of a MIG instance.
std::vector<std::string> lines_of(int code) {
  const std::string number = std::to_string(code);
  const std::string tail = code == 154
                               ? ", GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset "
                                 "Required)"
                               : ", pid=4711, name=python, Ch 00000010";
  const std::string tail_144 =
      ", RLW_CTRL Fatal XC0 i0 Link 05 (0x004a2c85 0x00000000 0x00000000 0x00000000)";
  const bool is_nvlink5 = code >= 144 && code <= 150;
  std::string text = is_nvlink5 ? tail_144 : tail;
  if (code == 149) text.replace(2, 8, "NETIR_LINK_EVT");
  return {"NVRM: Xid (PCI:0000:61:00): " + number + text,
          "NVRM: Xid (PCI:0000:61:00.0): " + number + text,
          "NVRM: Xid (PCI:0000:61:00 GPU-I:05): " + number + text,
          "NVRM: Xid (0000:61:00): " + number + text};
}

void every_public_code_has_a_rule_or_a_reason(void**) {
  std::string trouble;
  for (int code = 1; code <= kLastCode; ++code) {
    const char* reason = reason_for_no_rule(code);
    for (const std::string& line : lines_of(code)) {
      const bool has_rule = !rules_of(line).empty();
      if (has_rule && reason != nullptr) trouble += "has a rule and a reason: " + line + "\n";
      if (!has_rule && reason == nullptr) trouble += "no rule: " + line + "\n";
    }
  }
  if (!trouble.empty()) fail_msg("%s", trouble.c_str());
}

void every_rule_says_where_its_meaning_is_documented(void**) {
  for (const Rule& rule : g_rules->rules()) {
    if (!rule.id.starts_with("gpu.xid.") && !rule.id.starts_with("nvlink.xid")) continue;
    if (rule.provenance.size() < 20) fail_msg("%s has no provenance", rule.id.c_str());
  }
}

// What NVIDIA's catalogue asks for at once, and whether other tables contradict it.
struct Row {
  int code;
  enum Asks { ignore, restart_app, reset, reboot, workflow } asks;
  const char* disputed_by;  // a word that the provenance must have; null: nobody
};
constexpr Row kTable[] = {
    {13, Row::restart_app, nullptr}, {31, Row::restart_app, nullptr},
    {43, Row::ignore, nullptr},      {45, Row::ignore, nullptr},
    {48, Row::workflow, "Azure"},    {63, Row::ignore, "Azure"},
    {64, Row::reset, "AWS"},         {68, Row::restart_app, "Azure"},
    {74, Row::workflow, nullptr},    {79, Row::reboot, nullptr},
    {92, Row::ignore, "Azure"},      {94, Row::restart_app, "Meta"},
    {95, Row::reset, nullptr},       {109, Row::reset, "Meta"},
    {119, Row::reset, nullptr},      {120, Row::reset, nullptr},
    {145, Row::workflow, nullptr},
};

bool is_infrastructure(const Rule& rule) {
  const OutcomeRow* row = find_outcome(rule.outcome);
  return row != nullptr && domain_of(row->sub_domain) == Domain::infrastructure;
}

std::string trouble_with(const Row& row, const Rule& rule) {
  const bool is_root = rule.role == Role::root;
  switch (row.asks) {
    case Row::ignore:
      if (is_root || rule.drain) return "is to be ignored, and is a root or drains";
      break;
    case Row::restart_app:
      if (rule.drain) return "wants the program restarted, and drains";
      break;
    case Row::reset:
    case Row::workflow:
      if (!is_root || !is_infrastructure(rule)) return "wants a reset, and blames no GPU";
      break;
    case Row::reboot:
      if (!is_root || !rule.drain) return "wants a reboot, and does not drain";
      break;
  }
  const bool tells =
      row.disputed_by == nullptr || rule.provenance.find(row.disputed_by) != std::string::npos;
  return tells ? "" : std::string("does not say how it decided against ") + row.disputed_by;
}

void rules_agree_with_the_catalogue_and_say_why(void**) {
  for (const Row& row : kTable) {
    const auto found = rules_of(lines_of(row.code).front());
    if (found.empty()) fail_msg("Xid %d has no rule", row.code);
    const std::string trouble = trouble_with(row, *found.front());
    if (!trouble.empty()) {
      fail_msg("Xid %d: %s %s", row.code, found.front()->id.c_str(), trouble.c_str());
    }
  }
}

// An Xid that another one led to is no cause, whatever its own meaning.
void what_a_previous_xid_caused_is_no_root(void**) {
  for (const Rule* rule :
       rules_of("NVRM: Xid (PCI:0000:61:00): 45, pid=4711, name=python, channel 0x00000010 (caused "
                "by previous Xid 31)")) {
    assert_true(rule->role == Role::cascade || rule->role == Role::teardown);
  }
}

void the_text_of_154_says_what_to_do(void**) {
  const std::string head =
      "NVRM: Xid (PCI:0000:61:00): 154, GPU recovery action changed from 0x0 "
      "(None) to ";
  const auto role_of = [&](const char* action) {
    const auto found = rules_of(head + action);
    if (found.empty()) fail_msg("no rule for 154 %s", action);
    return found.front()->role;
  };
  assert_int_equal(role_of("0x1 (GPU Reset Required)"), Role::cascade);
  assert_int_equal(role_of("0x2 (Node Reboot Required)"), Role::cascade);
  assert_int_equal(role_of("0x3 (Drain P2P)"), Role::cascade);
  assert_int_equal(role_of("0x4 (Drain and Reset)"), Role::cascade);
  assert_int_equal(role_of("0x0 (None)"), Role::benign);
}

// The exporter's gauge says the same as the kernel's line.
void the_metric_agrees_with_the_line(void**) {
  for (const Rule& rule : g_rules->rules()) {
    if (!rule.id.starts_with("gpu.dcgm.xid.") || !rule.metric) continue;
    for (const double value : rule.metric->values) {
      const int code = static_cast<int>(value);
      const auto found = rules_of(lines_of(code).front());
      if (found.empty()) fail_msg("%s has %d, and no line does", rule.id.c_str(), code);
      const bool drains =
          std::any_of(found.begin(), found.end(), [](const Rule* line) { return line->drain; });
      const bool any_root = std::any_of(found.begin(), found.end(),
                                        [](const Rule* line) { return line->role == Role::root; });
      if (rule.role == Role::root && !any_root) fail_msg("%s: %d is a root", rule.id.c_str(), code);
      if (rule.drain && !drains && !any_root) fail_msg("%s: %d drains", rule.id.c_str(), code);
    }
  }
}

std::vector<Pack> with_site(const std::string& text) {
  std::vector<Pack> packs;
  for (const BuiltinPack& builtin : builtin_packs()) {
    packs.push_back(*parse_pack(std::string(builtin.name) + ".toml", builtin.text));
  }
  auto site = parse_pack("site.toml", text);
  if (!site) fail_msg("%s", site.error().message.c_str());
  packs.push_back(std::move(*site));
  return packs;
}

void a_site_may_decide_otherwise(void**) {
  const auto rules = Ruleset::build("site", with_site(R"([pack]
name = "site"
disable = ["gpu.xid.63"]
[[rule]]
id = "gpu.xid.94"
title = "Contained memory error: this site replaces such GPUs"
match = 'NVRM: Xid \(PCI:(?<pci>[0-9a-f:.]+)\): 94\b'
role = "root"
outcome = "gpu_ecc"
blames = "gpu"
drain = true
strength = 90
provenance = "our contract"
)"));
  if (!rules) fail_msg("%s", rules.error().message.c_str());
  const auto found = rules_of(lines_of(94).front(), **rules);
  assert_int_equal(found.size(), 1);
  assert_true(found.front()->drain);
  assert_string_equal(found.front()->pack.c_str(), "site");
  assert_true(rules_of(lines_of(63).front(), **rules).empty());
}

int load(void**) {
  auto rules = Ruleset::load("default", "");
  if (!rules) return 1;
  g_rules = std::move(*rules);
  return 0;
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(every_public_code_has_a_rule_or_a_reason),
      cmocka_unit_test(every_rule_says_where_its_meaning_is_documented),
      cmocka_unit_test(rules_agree_with_the_catalogue_and_say_why),
      cmocka_unit_test(what_a_previous_xid_caused_is_no_root),
      cmocka_unit_test(the_text_of_154_says_what_to_do),
      cmocka_unit_test(the_metric_agrees_with_the_line),
      cmocka_unit_test(a_site_may_decide_otherwise),
  };
  return cmocka_run_group_tests(tests, load, nullptr);
}
