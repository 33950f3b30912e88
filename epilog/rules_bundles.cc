// SPDX-License-Identifier: Apache-2.0
// See rules_bundles.hh.
#include "epilog/rules_bundles.hh"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "common/base/file.hh"
#include "epilog/replay.hh"

namespace nvab {
namespace {

// SITE/YEAR/MONTH/JOB is as deep as anybody files bundles.
constexpr int kMaxDepth = 5;

class JudgingSession final : public Session {
 public:
  JudgingSession(Engine& engine, const SeeEntry& see) : engine_(engine), see_(see) {}
  const std::string& id() const override { return id_; }
  Result<Submitted> submit(const Observation& observation) override {
    engine_.ingest(observation);
    if (!see_) return Submitted::accepted;
    for (const LogEntry& entry : observation.entries) see_(entry, observation.source);
    return Submitted::accepted;
  }
  Result<Verdict> attribution() override { return engine_.attribute(); }

 private:
  Engine& engine_;
  const SeeEntry& see_;
  std::string id_;
};

void find_below(const std::string& path, int depth, std::vector<std::string>* bundles) {
  if (exists(path + "/job.json")) {
    bundles->push_back(path);
    return;
  }
  std::error_code ignored;
  if (depth == 0 || !is_folder(path) || std::filesystem::is_symlink(path, ignored)) return;
  const auto names = list_folder(path);
  for (const std::string& name : names ? *names : std::vector<std::string>{}) {
    find_below(path + "/" + name, depth - 1, bundles);
  }
}

}  // namespace

Result<std::vector<std::string>> find_bundles(const std::vector<std::string>& paths) {
  std::vector<std::string> bundles;
  for (std::string path : paths) {
    while (path.size() > 1 && path.ends_with('/')) path.pop_back();
    const std::size_t before = bundles.size();
    find_below(path, kMaxDepth, &bundles);
    if (bundles.size() == before) {
      return fail(Error::Code::not_found,
                  path + ": there is no bundle in it (a folder with a job.json)");
    }
  }
  std::sort(bundles.begin(), bundles.end());
  bundles.erase(std::unique(bundles.begin(), bundles.end()), bundles.end());
  return bundles;
}

Result<JudgedBundle> judge_bundle(const std::string& folder, const Ruleset& rules,
                                  const SeeEntry& see) {
  Host host;
  host.rules = &rules;
  host.all_lines = static_cast<bool>(see);
  auto replay = open_replay(folder, host);
  if (!replay) return tl::unexpected<Error>(replay.error());
  auto contexts = replay->contexts->discover();
  if (!contexts) return tl::unexpected<Error>(contexts.error());
  JudgedBundle judged;
  judged.context = contexts->front();
  Engine engine(rules, judged.context);
  JudgingSession session(engine, see);
  for (const NamedCollector& collector : replay->collectors) {
    run_collector(collector, judged.context, session, nullptr, host, Deadline());
  }
  judged.judgement = engine.judge(rules);
  return judged;
}

}  // namespace nvab
