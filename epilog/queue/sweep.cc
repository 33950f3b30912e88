// SPDX-License-Identifier: Apache-2.0
// See sweep.hh.
#include "epilog/queue/sweep.hh"

#include <fmt/core.h>

#include <set>
#include <utility>

#include "common/base/file.hh"
#include "epilog/queue/contexts.hh"
#include "epilog/queue/worker.hh"

namespace nvab {
namespace {

// Hooks hand over in milliseconds and the queue is worked off in seconds: younger jobs are theirs.
constexpr Duration kHooksTurn = std::chrono::minutes(2);
// Rows reach accounting late where slurmdbd was away: each sweep looks so far back again.
constexpr Duration kOverlap = std::chrono::minutes(15);
constexpr std::size_t kMaxWatermark = 4096;

std::string watermark_path(const std::string& queue) { return queue + "/watermark.json"; }

std::optional<Time> read_watermark(const std::string& queue) {
  const auto text = read_file(watermark_path(queue), kMaxWatermark);
  const auto json = text ? Json::parse(*text) : fail(Error::Code::not_found, "");
  if (!json) return std::nullopt;
  const auto time = json->get("watermark").as_string();
  return time ? parse_rfc3339(*time) : std::nullopt;
}

// "cluster/1234_7/2026-…" -> the job as accounting calls it.
std::optional<SlurmJobId> job_of_key(const std::string& key) {
  const std::size_t begin = key.find('/') + 1;
  return parse_job_id(key.substr(begin, key.find('/', begin) - begin));
}

Json job_json(const SlurmRun& run) {
  const ExecutionContext& context = run.context;
  Json job = Json::object();
  const std::uint32_t raw = run.raw_ids.empty() ? run.id.job : run.raw_ids.front();
  job.set("job_id", Json::of(raw));
  if (run.id.array_task) {
    job.set("array_job_id", Json::of(run.id.job));
    job.set("array_task_id", Json::of(*run.id.array_task));
  } else if (run.raw_ids.size() > 1) {
    job.set("het_job_id", Json::of(run.id.job));
    job.set("het_offset", Json::of(0));
  }
  if (!context.cluster.empty()) job.set("cluster", Json::of(context.cluster));
  // Tells the attempt, as jobcomp/script does.
  if (context.submit_time) job.set("submit_time", Json::of(*context.submit_time));
  if (context.end_time) job.set("end_time", Json::of(*context.end_time));
  job.set("state", Json::of(context.base_state()));
  return job;
}

Result<void> put(const std::string& queue, const SlurmRun& run, Time now) {
  const std::uint32_t raw = run.raw_ids.empty() ? run.id.job : run.raw_ids.front();
  const auto submit = run.context.submit_time.value_or(Time()).time_since_epoch();
  // The same name for the same run: sweeps that overlap make one entry.
  const std::string id = fmt::format("{}.sweep.{}", raw, submit.count());
  Json entry = Json::object();
  entry.set("v", Json::of(1));
  entry.set("trigger_id", Json::of(id));
  entry.set("hook", Json::of("sweep"));
  entry.set("time", Json::of(now));
  entry.set("job", job_json(run));
  return write_file(queue + "/new/" + id + ".json", entry.dump() + "\n", 0640);
}

}  // namespace

Result<int> sweep(const std::string& queue, Duration first_back, const SweepWorld& world) {
  const Time until = world.now - kHooksTurn;
  const auto watermark = read_watermark(queue);
  SlurmSelection selection;
  selection.since = watermark ? *watermark - kOverlap : until - first_back;
  selection.until = until;
  auto found = world.select(selection);
  if (!found) return fail("sweeping accounting", std::move(found.error()));
  SlurmQuestion rest;
  std::set<std::string> asked;
  for (const std::string& key : found->keys) {
    const auto id = job_of_key(key);
    if (!id) continue;
    rest.keys.insert(key);
    if (asked.insert(to_string(*id)).second) rest.ids.push_back(*id);
  }
  int count = 0;
  if (!rest.ids.empty()) {
    const auto answer = world.look(rest);
    if (!answer) return fail("sweeping accounting", answer.error());
    for (const SlurmRun& run : answer->runs) {
      if (exists(marker_path(queue, queue_key(run)))) continue;
      auto done = put(queue, run, world.now);
      if (!done) return fail("sweeping accounting", std::move(done.error()));
      ++count;
    }
  }
  Json json = Json::object();
  json.set("watermark", Json::of(until));
  auto written = write_file(watermark_path(queue), json.dump() + "\n", 0640);
  if (!written) return fail("sweeping accounting", std::move(written.error()));
  return count;
}

}  // namespace nvab
