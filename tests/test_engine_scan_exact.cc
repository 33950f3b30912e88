// SPDX-License-Identifier: Apache-2.0
// ctest: timeout=600
// The two-stage scan against PCRE2 alone: of a corpus made from the examples of all built-in rules
// (mutated, embedded, behind prefixes, inside JSON) both must find the same rules on the same
// lines, however the bytes are cut into pieces.
#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/base/json.hh"
#include "common/base/text.hh"
#include "common/engine/builtin_packs.hh"
#include "common/engine/extract/stream_reader.hh"
#include "tests/cmocka.hh"

using namespace nvab;

namespace {

const std::vector<Pack>& packs() {
  static const std::vector<Pack> all = [] {
    std::vector<Pack> read;
    for (const BuiltinPack& builtin : builtin_packs()) {
      read.push_back(*parse_pack(std::string(builtin.name) + ".toml", builtin.text));
    }
    return read;
  }();
  return all;
}

const Ruleset& rules() {
  static const std::unique_ptr<Ruleset> built = std::move(*Ruleset::build("t", packs()));
  return *built;
}

// The lines of all tests of all rules, those that must match and those that must not.
std::vector<std::string> examples() {
  std::vector<std::string> lines;
  for (const Pack& pack : packs()) {
    for (const Rule& rule : pack.rules) {
      for (const RuleTest& test : rule.tests) lines.push_back(test.line);
    }
  }
  return lines;
}

class Corpus {
 public:
  explicit Corpus(unsigned seed) : random_(seed) {}

  std::string syslog() {
    std::string text;
    for (const std::string& example : examples()) {
      add(&text, "Mar  1 10:00:00 gn13 kernel: ", example);
      add(&text, "2026-03-01T10:00:00.123456+00:00 gn13 slurmd[77]: ", mutated(example));
      add(&text, "<3>[ 4711.123456] ", embedded(example));
      text += journal_line(mutated(example)) + '\n';
    }
    return text;
  }
  std::string applog() {
    std::string text;
    for (const std::string& example : examples()) {
      text += example + '\n';
      for (int i = 0; i < 3; ++i) add(&text, prefix(), mutated(example));
      add(&text, prefix(), embedded(example));
      text += json_line(example) + '\n';
      text += mutated(example) + (pick(4) == 0 ? "\r\n" : pick(4) == 0 ? "\r" : "\n");
      if (pick(8) == 0) text += filler() + '\n';
    }
    return text;
  }

 private:
  std::size_t pick(std::size_t count) { return random_() % count; }

  void add(std::string* text, const std::string& prefix, const std::string& block) {
    for (std::string_view line : split(block, '\n')) *text += prefix + std::string(line) + '\n';
  }
  std::string filler() { return std::string(pick(9000), "ab [:"[pick(5)]); }

  std::string prefix() {
    constexpr const char* kPrefixes[] = {"",
                                         "3: ",
                                         "[rank3]: ",
                                         "2026-03-01 10:00:00,123 ",
                                         "gn13:4711:4712 [0] NCCL WARN ",
                                         "2026-03-01T10:00:00.5Z stderr F ",
                                         "[default2]:",
                                         "(Worker pid=7, ip=10.0.0.1) ",
                                         "    ",
                                         "[1,3]<stderr>: "};
    return kPrefixes[pick(std::size(kPrefixes))];
  }

  // One to three small accidents, never a line break gained or lost.
  std::string mutated(std::string text) {
    for (std::size_t i = 1 + pick(3); i > 0 && !text.empty(); --i) {
      const std::size_t at = pick(text.size());
      if (text[at] == '\n') continue;
      switch (pick(6)) {
        case 0:
          text.erase(at, 1);
          break;
        case 1:
          text.insert(at, 1, "x0 :\"\\\xc3"[pick(7)]);
          break;
        case 2:
          if ((text[at] & 0x40) != 0) text[at] = static_cast<char>(text[at] ^ 0x20);
          break;
        case 3:
          text.insert(at, 1, text[at]);
          break;
        case 4:
          text[at] = static_cast<char>('0' + pick(10));
          break;
        case 5:
          std::transform(text.begin(), text.end(), text.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
      }
    }
    return text;
  }

  std::string embedded(const std::string& text) {
    return std::string(pick(30), '.') + " " + text.substr(0, text.find('\n')) +
           std::string(pick(12), '-') + mutated(text.substr(0, text.find('\n')));
  }

  std::string json_line(const std::string& text) {
    Json object = Json::object();
    object.set("time", Json::of("2026-03-01T10:00:00Z"));
    object.set("message", Json::of(text));
    return object.dump();
  }
  std::string journal_line(const std::string& text) {
    Json object = Json::object();
    object.set("_TRANSPORT", Json::of("kernel"));
    object.set("_HOSTNAME", Json::of("gn13"));
    object.set("MESSAGE", Json::of(sanitize(text)));
    return object.dump();
  }

  std::mt19937 random_;
};

using Pairs = std::set<std::pair<std::uint64_t, std::string>>;  // offset of the entry, rule

StreamInfo stream_of(Source source) {
  StreamInfo info;
  info.name = "corpus";
  info.source = source;
  return info;
}

bool applies(const Rule& rule, const LogEntry& entry, Source source) {
  if (rule.metric || rule.role == Role::progress) return false;
  if (std::find(rule.sources.begin(), rule.sources.end(), source) == rule.sources.end()) {
    return false;
  }
  return rule.apps.empty() ||
         std::any_of(rule.apps.begin(), rule.apps.end(),
                     [&](const std::string& glob) { return glob_match(glob, entry.app); });
}

// Each line read, each rule tried.
Pairs by_pcre_alone(const std::string& text, Source source) {
  Pairs pairs;
  StreamReader reader(
      rules(), stream_of(source),
      [&](LogEntry&& entry) {
        for (const Rule& rule : rules().rules()) {
          if (!applies(rule, entry, source)) continue;
          if (rules().try_rule(rule, entry.message)) pairs.insert({entry.origin.offset, rule.id});
        }
      },
      true);
  reader.feed(text);
  reader.finish();
  return pairs;
}

Pairs by_two_stages(const std::string& text, Source source, std::size_t piece) {
  Pairs pairs;
  std::vector<RuleMatch> matches;
  StreamReader reader(rules(), stream_of(source), [&](LogEntry&& entry) {
    matches.clear();
    rules().match(entry.message, source, entry.app, &matches);
    for (const RuleMatch& match : matches) pairs.insert({entry.origin.offset, match.rule->id});
  });
  for (std::size_t at = 0; at < text.size(); at += piece) {
    // Its own allocation: a byte read before or behind the piece is seen.
    const std::string bytes = text.substr(at, piece);
    reader.feed(bytes);
  }
  reader.finish();
  return pairs;
}

std::size_t report(const char* what, const Pairs& pairs, const Pairs& others,
                   const std::string& text) {
  std::size_t count = 0;
  for (const auto& [offset, rule] : pairs) {
    if (others.count({offset, rule}) > 0 || ++count > 10) continue;
    const std::string line = text.substr(offset, text.find('\n', offset) - offset);
    print_error("%s: %s at %llu: %s\n", what, rule.c_str(), static_cast<unsigned long long>(offset),
                excerpt(line, 300).c_str());
  }
  return count;
}

void compare(const std::string& text, Source source, std::size_t at_least) {
  const Pairs wanted = by_pcre_alone(text, source);
  print_message("%s: %zu bytes, %zu pairs\n", std::string(to_string(source)).c_str(), text.size(),
                wanted.size());
  assert_true(wanted.size() >= at_least);
  for (std::size_t piece : {std::size_t{1}, std::size_t{13}, std::size_t{4095}, std::size_t{4096},
                            std::size_t{65537}, std::size_t{1} << 20, text.size()}) {
    const Pairs found = by_two_stages(text, source, piece);
    const std::size_t missed = report("missed", wanted, found, text);
    const std::size_t invented = report("not there", found, wanted, text);
    if (missed + invented > 0) print_error("in pieces of %zu bytes\n", piece);
    assert_int_equal(missed, 0);
    assert_int_equal(invented, 0);
  }
}

}  // namespace

static void program_logs_give_the_same_pairs(void**) {
  compare(Corpus(20260301).applog(), Source::applog, 4000);
}

static void system_logs_give_the_same_pairs(void**) {
  compare(Corpus(20260302).syslog(), Source::syslog, 2000);
}

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(program_logs_give_the_same_pairs),
      cmocka_unit_test(system_logs_give_the_same_pairs),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
