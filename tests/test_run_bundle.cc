// SPDX-License-Identifier: Apache-2.0
// ctest: timeout=300
// Saving what was collected and judging it again: for every scenario the verdict is the same, byte
// for byte; redacted, it is the same under the new names, and the old ones are gone.
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <set>
#include <vector>

#include "common/base/file.hh"
#include "common/base/text.hh"
#include "epilog/output/bundle.hh"
#include "epilog/output/redact_bundle.hh"
#include "epilog/pipeline.hh"
#include "epilog/replay.hh"
#include "tests/cmocka.hh"

using namespace nvab;

namespace {

std::unique_ptr<Ruleset> g_rules;
std::string g_folder;  // for what is saved

struct LastResult final : Output {
  AttributionResult* into;
  explicit LastResult(AttributionResult* result) : into(result) {}
  Result<void> write(const AttributionResult& result) override {
    *into = result;
    return {};
  }
};

// Judges the bundle and saves it to `save` (empty: not).
AttributionResult replay(const std::string& folder, const std::string& save = "",
                         bool all_lines = false) {
  Host host;
  host.rules = g_rules.get();
  host.all_lines = all_lines;
  AttributionResult result;
  Pipeline pipeline;
  auto opened = open_replay(folder, host);
  if (!opened) fail_msg("%s", opened.error().message.c_str());
  pipeline.contexts = std::move(opened->contexts);
  pipeline.collectors = std::move(opened->collectors);
  pipeline.no_drain = opened->no_drain;
  pipeline.attributor = make_embedded_attributor(*g_rules);
  pipeline.outputs.push_back({"test", std::make_unique<LastResult>(&result)});
  if (!save.empty()) pipeline.keeper = make_bundle({save, false, all_lines}, host);
  const RunSummary summary = run_pipeline(pipeline, host);
  if (summary.contexts.size() != 1 || !summary.contexts[0].reason.empty()) {
    fail_msg("%s: %s", folder.c_str(),
             summary.contexts.empty() ? summary.error.c_str() : summary.contexts[0].reason.c_str());
  }
  return result;
}

std::vector<std::string> scenarios() {
  const std::string root = test::source_path("tests/scenarios");
  std::vector<std::string> folders;
  const auto names = list_folder(root);
  for (const std::string& name : *names) {
    if (exists(root + "/" + name + "/job.json")) folders.push_back(root + "/" + name);
  }
  assert_true(folders.size() > 10);
  return folders;
}

void check_same(const std::string& name, const AttributionResult& before,
                const AttributionResult& after) {
  const std::string old = to_json(before.verdict).dump(), now = to_json(after.verdict).dump();
  if (old != now) fail_msg("%s:\n%s\n%s", name.c_str(), old.c_str(), now.c_str());
  assert_int_equal(before.evidence_status, after.evidence_status);
  assert_string_equal(to_json(before.context).dump().c_str(),
                      to_json(after.context).dump().c_str());
}

void clear() { std::filesystem::remove_all(g_folder); }

void a_saved_bundle_gives_the_identical_verdict(void**) {
  for (const std::string& folder : scenarios()) {
    clear();
    const AttributionResult before = replay(folder, g_folder);
    check_same(folder, before, replay(g_folder));
  }
}

void a_bundle_of_all_lines_gives_the_identical_verdict(void**) {
  for (const std::string& folder : scenarios()) {
    clear();
    const AttributionResult before = replay(folder, g_folder, /*all_lines=*/true);
    check_same(folder, before, replay(g_folder));
  }
}

void a_bundle_that_was_saved_from_a_saved_one_is_the_same_again(void**) {
  const std::string folder = test::source_path("tests/scenarios/demo");
  clear();
  const AttributionResult before = replay(folder, g_folder + "/one");
  replay(g_folder + "/one", g_folder + "/two");
  check_same(folder, before, replay(g_folder + "/two"));
}

// All texts of a bundle and the names of its files.
std::string all_text(const std::string& folder) {
  std::string text;
  for (const auto& file : std::filesystem::recursive_directory_iterator(folder)) {
    text += file.path().string().substr(folder.size()) + "\n";
    if (!file.is_regular_file()) continue;
    const auto bytes = read_file(file.path().string(), 1 << 26);
    assert_true(bytes.has_value());
    text += *bytes;
  }
  return text;
}

bool has_word(const std::string& text, const std::string& word) {
  const auto is_part = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    const bool begins = at == 0 || !is_part(text[at - 1]);
    const std::size_t end = at + word.size();
    if (begins && (end == text.size() || !is_part(text[end]))) return true;
  }
  return false;
}

void a_redacted_bundle_tells_nobody_and_gives_the_same_verdict(void**) {
  int different = 0;
  const auto folders = scenarios();
  for (const std::string& folder : folders) {
    clear();
    const AttributionResult before = replay(folder, g_folder + "/plain");
    Host host;
    host.rules = g_rules.get();
    assert_true(make_folders(g_folder + "/redacted").has_value());
    const auto difference =
        redact_bundle(g_folder + "/plain", g_folder + "/redacted", before, host);
    if (!difference) fail_msg("%s: %s", folder.c_str(), difference.error().message.c_str());
    if (!difference->empty()) {
      print_message("%s: %s\n", folder.c_str(), difference->c_str());
      ++different;
    }
    const std::string text = all_text(g_folder + "/redacted");
    std::vector<std::string> secrets = before.context.nodes;
    if (before.context.user.size() > 2) secrets.push_back(before.context.user);
    for (const std::string& secret : secrets) {
      if (has_word(text, secret)) fail_msg("%s: %s is still there", folder.c_str(), secret.c_str());
    }
  }
  // A rule may go by what a path or name says; then write() warns. That must stay rare.
  if (different * 50 > static_cast<int>(folders.size())) fail_msg("%d differ", different);
}

void what_a_collector_could_not_see_stays_unseen(void**) {
  clear();
  const AttributionResult before = replay(test::source_path("tests/scenarios/demo"), g_folder);
  auto about = Json::parse(*read_file(g_folder + "/bundle.json", 1 << 20));
  Json report = Json::object();
  report.set("connector", Json::of("log.file.far")).set("source", Json::of("syslog"));
  report.set("status", Json::of("denied")).set("reason", Json::of("no key"));
  about->set("connector_reports", Json::array().push(report));
  assert_true(write_file(g_folder + "/bundle.json", about->dump()).has_value());
  const AttributionResult after = replay(g_folder);
  assert_int_equal(before.evidence_status, EvidenceStatus::complete);
  assert_int_equal(after.evidence_status, EvidenceStatus::partial);
  assert_string_equal(after.connector_reports.back().connector.c_str(), "log.file.far");
  assert_string_equal(after.connector_reports.back().reason.c_str(),
                      "when the bundle was saved: no key");
}

void a_line_that_was_edited_counts_and_is_reported(void**) {
  clear();
  replay(test::source_path("tests/scenarios/demo"), g_folder);
  const std::string path = g_folder + "/syslog/heron03.log";
  std::string text = *read_file(path, 1 << 20);
  const std::size_t at = text.find("GPU has fallen off the bus");
  assert_true(at != std::string::npos);
  text.replace(text.rfind('\n', at) + 1, 5, "EDITED");
  assert_true(write_file(path, text).has_value());
  const AttributionResult after = replay(g_folder);
  bool is_said = false;
  for (const ConnectorReport& report : after.connector_reports) {
    is_said = is_said || report.reason.find("changed since they were saved") != std::string::npos;
  }
  assert_true(is_said);
}

void a_link_in_a_bundle_is_not_followed(void**) {
  clear();
  replay(test::source_path("tests/scenarios/demo"), g_folder);
  const std::string path = g_folder + "/syslog/heron03.log";
  assert_int_equal(::rename(path.c_str(), (g_folder + "/elsewhere").c_str()), 0);
  assert_int_equal(::symlink("../elsewhere", path.c_str()), 0);
  const AttributionResult after = replay(g_folder);
  assert_int_equal(after.evidence_status, EvidenceStatus::partial);
  assert_true(to_json(after).dump().find("fallen off the bus") == std::string::npos);
}

void a_folder_with_something_in_it_is_not_written_to(void**) {
  clear();
  assert_true(make_folders(g_folder).has_value());
  assert_true(write_file(g_folder + "/mine", "x").has_value());
  Host host;
  host.rules = g_rules.get();
  const auto keeper = make_bundle({g_folder, false, false}, host);
  keeper->begin(ExecutionContext{}, true);
  const auto written = keeper->write(AttributionResult{});
  assert_false(written.has_value());
  assert_non_null(std::strstr(written.error().message.c_str(), "name a new folder"));
  assert_int_equal(list_folder(g_folder)->size(), 1);
}

void each_of_several_contexts_gets_a_folder_of_its_own(void**) {
  clear();
  Host host;
  host.rules = g_rules.get();
  const auto keeper = make_bundle({g_folder, false, false}, host);
  for (const char* job : {"7", "ns/name", "../../x"}) {
    AttributionResult result;
    result.context.job_id = job;
    keeper->begin(result.context, false);
    assert_true(keeper->write(result).has_value());
  }
  assert_true(exists(g_folder + "/7/bundle.json"));
  assert_true(exists(g_folder + "/ns_name/job.json"));
  assert_int_equal(list_folder(g_folder)->size(), 3);
}

}  // namespace

// What a bundle says of who wrote its lines is a claim of whoever can write the bundle.
void a_bundle_that_others_can_have_written_drains_nothing(void**) {
  namespace fs = std::filesystem;
  clear();
  fs::create_directories(g_folder + "/syslog");
  write_file(g_folder + "/job.json",
             R"({"scheduler":"slurm","job_id":"7","state":"FAILED","nodes":["n1"],
                 "start":"2026-04-01T08:00:00Z","end":"2026-04-01T08:10:00Z","gpus_per_node":8})");
  const std::string log = g_folder + "/syslog/n1.dmesg";
  write_file(log,
             "[Wed Apr  1 08:09:50 2026] NVRM: Xid (PCI:0000:61:00): 79, pid='<unknown>', "
             "name=<unknown>, GPU has fallen off the bus.\n");
  const AttributionResult own = replay(g_folder);
  assert_int_equal(own.verdict.advice.drain.size(), 1);
  for (const std::string& path : {log, g_folder + "/syslog", g_folder}) {
    const fs::perms before = fs::status(path).permissions();
    fs::permissions(path, fs::perms::others_write, fs::perm_options::add);
    const AttributionResult foreign = replay(g_folder);
    fs::permissions(path, before);
    assert_int_equal(foreign.verdict.advice.drain.size(), 0);
    assert_string_equal(foreign.verdict.root_cause.id.c_str(), own.verdict.root_cause.id.c_str());
    assert_string_equal(
        foreign.verdict.missing.back().c_str(),
        ("no node is to be drained on this bundle: " + path + " can be written by anybody")
            .c_str());
  }
}

int main() {
  g_rules = std::move(*Ruleset::load("default", ""));
  // In memory where that is possible: what is saved is synced, thousands of times here.
  const std::string root = is_folder("/dev/shm") ? "/dev/shm" : ".";
  g_folder = root + "/bundle_test." + std::to_string(::getpid());
  const CMUnitTest tests[] = {
      cmocka_unit_test(a_saved_bundle_gives_the_identical_verdict),
      cmocka_unit_test(a_bundle_of_all_lines_gives_the_identical_verdict),
      cmocka_unit_test(a_bundle_that_was_saved_from_a_saved_one_is_the_same_again),
      cmocka_unit_test(a_redacted_bundle_tells_nobody_and_gives_the_same_verdict),
      cmocka_unit_test(what_a_collector_could_not_see_stays_unseen),
      cmocka_unit_test(a_line_that_was_edited_counts_and_is_reported),
      cmocka_unit_test(a_link_in_a_bundle_is_not_followed),
      cmocka_unit_test(a_bundle_that_others_can_have_written_drains_nothing),
      cmocka_unit_test(a_folder_with_something_in_it_is_not_written_to),
      cmocka_unit_test(each_of_several_contexts_gets_a_folder_of_its_own),
  };
  const int failed = cmocka_run_group_tests(tests, nullptr, nullptr);
  clear();
  return failed;
}
