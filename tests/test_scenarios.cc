// SPDX-License-Identifier: Apache-2.0
// ctest: timeout=600
// Whole jobs with their labels: nvab-run judges each folder of tests/scenarios, and the result is
// compared with its expected.json (the format is in nvab-result(5)). A folder named in KNOWN_WRONG
// must still be wrong: one that has come right is taken off the list.
//
// test_scenarios [FOLDER…] runs only those; to add a scenario, add a folder.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "common/base/file.hh"
#include "common/base/json.hh"
#include "common/base/subprocess.hh"
#include "common/base/text.hh"
#include "tests/cmocka.hh"

using namespace nvab;

namespace {

constexpr Duration kPerScenario = std::chrono::seconds(60);

std::set<std::string> g_known_wrong;

std::set<std::string> names(const Json& list) {
  const auto all = strings_of(list);
  return {all.begin(), all.end()};
}

// A value, or one of the others that count as right.
bool is_one_of(const std::string& got, const Json& want, std::string_view key,
               std::string_view also) {
  if (want.get(key).as_string() == got) return true;
  return names(want.get(also)).contains(got);
}

// "00000000:61:00.0", "0000:61:00" and "61:00.0" are one device.
std::string plain_pci(std::string text) {
  text = lower(text);
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  if (std::count(text.begin(), text.end(), ':') == 2) text.erase(0, text.find(':') + 1);
  return text;
}

bool same_gpu(const Json& want, const Json& got) {
  if (want.get("node").as_string() != got.get("node").as_string()) return false;
  const auto uuid = want.get("uuid").as_string();
  if (uuid && uuid == got.get("uuid").as_string()) return true;
  const auto pci = want.get("pci").as_string(), got_pci = got.get("pci").as_string();
  if (pci && got_pci && plain_pci(*pci) == plain_pci(*got_pci)) return true;
  const auto index = want.get("index").as_int();
  return index && index == got.get("index").as_int();
}

std::string gpus_trouble(const Json& want, const Json& got) {
  if (want.size() == 0) return {};
  bool all = want.size() == got.size();
  for (const Json& gpu : want.elements()) {
    const auto found = got.elements();
    all = all && std::any_of(found.begin(), found.end(),
                             [&](const Json& other) { return same_gpu(gpu, other); });
  }
  return all ? "" : "culprits.gpus " + got.dump() + " and not " + want.dump() + "\n";
}

std::string nodes_trouble(const Json& want, const Json& got) {
  const std::set<std::string> nodes = names(got.get("culprits").get("nodes"));
  bool right = nodes == names(want.get("culprit_nodes"));
  for (const Json& also : want.get("culprit_nodes_also").elements()) {
    right = right || nodes == names(also);
  }
  std::string trouble = gpus_trouble(want.get("culprit_gpus"), got.get("culprits").get("gpus"));
  if (!right) {
    trouble += "culprits.nodes " + got.get("culprits").get("nodes").dump() + " and not " +
               want.get("culprit_nodes").dump() + "\n";
  }
  return trouble;
}

// Nodes that may not be drained, and domains and nodes that may not be blamed.
std::string blame_trouble(const Json& want, const Json& got) {
  std::string trouble;
  std::set<std::string> may_drain =
      names(want.get(want.has("drain_ok") ? "drain_ok" : "culprit_nodes"));
  if (!want.has("drain_ok")) {
    for (const Json& also : want.get("culprit_nodes_also").elements()) {
      may_drain.merge(names(also));
    }
  }
  std::set<std::string> blamed = names(got.get("culprits").get("nodes"));
  for (const Json& drain : got.get("advice").get("drain").elements()) {
    const std::string node = drain.get("node").as_string().value_or("");
    if (!may_drain.contains(node)) trouble += "advice.drain names " + node + "\n";
    blamed.insert(node);
  }
  blamed.insert(got.get("sub_domain").as_string().value_or(""));
  for (const std::string& word : names(want.get("must_not_blame"))) {
    if (blamed.contains(word)) trouble += "blames " + word + "\n";
  }
  return trouble;
}

// What is not as expected, a line each; empty when all is right.
std::string compare(const Json& want, const Json& got) {
  std::string trouble;
  const auto check = [&](std::string_view what, const Json& value, std::string_view key) {
    const std::string word = value.as_string().value_or("(nothing)");
    if (is_one_of(word, want, key, std::string(key) + "_also")) return;
    trouble += std::string(what) + " " + word + " and not " + want.get(key).dump() + "\n";
  };
  check("terminal_state", got.get("terminal_state"), "outcome");
  check("sub_domain", got.get("sub_domain"), "domain");
  check("advice.action", got.get("advice").get("action"), "retry");
  const auto rank = want.get("first_failing_rank").as_int();
  if (rank && rank != got.get("first_failing_rank").as_int()) {
    trouble += "first_failing_rank " + got.get("first_failing_rank").dump() + " and not " +
               std::to_string(*rank) + "\n";
  }
  return trouble + nodes_trouble(want, got) + blame_trouble(want, got);
}

std::string judge(const std::string& folder) {
  const auto label = read_file(folder + "/expected.json", 1 << 20);
  if (!label) return label.error().message + "\n";
  const auto want = Json::parse(*label);
  if (!want) return folder + "/expected.json: " + want.error().message + "\n";
  Command command;
  command.argv = {test::build_path("obj/nvab-run"), "--replay", folder, "--format", "json"};
  command.deadline = Deadline::after(kPerScenario);
  const auto end = run_command(command);
  if (!end) return end.error().message + "\n";
  const auto got = Json::parse(trim(end->output));
  if (!got) return "no result: " + end->errors + "\n";
  std::string trouble = compare(*want, *got);
  if (!trouble.empty()) {
    trouble += "cause " + got->get("root_cause").get("id").dump() +
               ", why the label: " + want->get("why").as_string().value_or("") + "\n";
  }
  return trouble;
}

void the_verdict_is_as_labelled(void** state) {
  const auto* folder = static_cast<const std::string*>(*state);
  const std::string trouble = judge(*folder);
  const bool is_known_wrong = g_known_wrong.contains(folder->substr(folder->rfind('/') + 1));
  if (is_known_wrong && trouble.empty()) fail_msg("it is right: take it off KNOWN_WRONG");
  if (is_known_wrong) {
    print_message("known to be wrong:\n%s", trouble.c_str());
  } else if (!trouble.empty()) {
    fail_msg("%s", trouble.c_str());
  }
}

std::vector<std::string> all_scenarios(const std::string& root) {
  std::vector<std::string> folders;
  const auto names_found = list_folder(root);
  for (const std::string& name : names_found ? *names_found : std::vector<std::string>{}) {
    if (exists(root + "/" + name + "/expected.json")) folders.push_back(root + "/" + name);
  }
  return folders;
}

void read_known_wrong(const std::string& path) {
  const auto text = read_file(path, 1 << 20);
  if (!text) return;
  for (const std::string_view line : split(*text, '\n')) {
    const std::string_view name = trim(line.substr(0, line.find('#')));
    if (!name.empty()) g_known_wrong.emplace(name);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string root = test::source_path("tests/scenarios");
  std::vector<std::string> folders(argv + 1, argv + argc);
  for (std::string& folder : folders) {
    while (folder.ends_with('/')) folder.pop_back();
  }
  if (folders.empty()) folders = all_scenarios(root);
  if (folders.empty()) {
    std::fprintf(stderr, "no scenario in %s\n", root.c_str());
    return 1;
  }
  read_known_wrong(root + "/KNOWN_WRONG");
  std::vector<CMUnitTest> tests;
  for (std::string& folder : folders) {
    tests.push_back({folder.c_str() + folder.rfind('/') + 1, the_verdict_is_as_labelled, nullptr,
                     nullptr, &folder});
  }
  return _cmocka_run_group_tests("scenarios", tests.data(), tests.size(), nullptr, nullptr);
}
