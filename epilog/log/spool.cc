// SPDX-License-Identifier: Apache-2.0
// See spool.hh.
#include "epilog/log/spool.hh"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <optional>

#include "common/base/decode.hh"
#include "common/base/file.hh"
#include "common/base/text.hh"
#include "common/wire/task_record.h"
#include "epilog/eca/job_ids.hh"
#include "epilog/log/line_splitter.hh"

namespace nvab {
namespace {

// Clocks of node and controller differ by less where anything works at all.
constexpr Duration kClockSlack = std::chrono::minutes(5);
// Accounting's times have whole seconds.
constexpr Duration kRounding = std::chrono::seconds(1);

// "1234.batch.n1.1772362798123456.ndjson"
struct SpoolName {
  std::string_view prefix;  // "1234.batch.n1"
  long long job = 0;
  std::string_view step;
  Time begin{};
};

std::optional<SpoolName> parse_name(std::string_view name) {
  constexpr std::string_view kEnding = ".ndjson";
  if (!name.ends_with(kEnding)) return std::nullopt;
  name.remove_suffix(kEnding.size());
  SpoolName parsed;
  const std::size_t first = name.find('.'), last = name.rfind('.');
  const std::size_t second = first == last ? last : name.find('.', first + 1);
  if (second == std::string_view::npos || second >= last) return std::nullopt;
  const auto job = parse_int(name.substr(0, first));
  const auto micros = parse_int(name.substr(last + 1));
  if (!job || !micros) return std::nullopt;
  parsed.prefix = name.substr(0, last);
  parsed.job = *job;
  parsed.step = name.substr(first + 1, second - first - 1);
  parsed.begin = Time(Duration(*micros));
  return parsed;
}

std::vector<long long> raw_ids_of(const ExecutionContext& context) {
  if (!context.files.raw_ids.empty()) return context.files.raw_ids;
  std::vector<long long> ids;
  if (const auto id = parse_job_id(context.job_id)) ids.push_back(id->job);
  return ids;
}

// Empty: only those who may write records can have written the file.
std::string why_doubtful(const std::string& path, const std::string& spool) {
  struct stat file {
  }, folder{};
  if (::lstat(path.c_str(), &file) != 0) return {};  // reading it will say why
  const bool is_slurms = ::stat(spool.c_str(), &folder) == 0 && file.st_uid == folder.st_uid;
  if (S_ISLNK(file.st_mode)) return path + " is a link";
  if (file.st_uid != 0 && file.st_uid != ::geteuid() && !is_slurms) {
    return fmt::format("{} belongs to user {}, who can have written anything", path, file.st_uid);
  }
  if ((file.st_mode & (S_IWGRP | S_IWOTH)) != 0) return path + " can be written by others";
  return {};
}

// How far outside the run's window a step began.
Duration distance(Time begin, const ExecutionContext& context) {
  if (context.start_time && begin < *context.start_time - kRounding) {
    return *context.start_time - begin;
  }
  if (context.end_time && begin > *context.end_time + kRounding) return begin - *context.end_time;
  return Duration{0};
}

}  // namespace

std::vector<std::string> choose_spool_files(const std::vector<std::string>& names,
                                            const ExecutionContext& context) {
  const std::vector<long long> ids = raw_ids_of(context);
  const auto asked = parse_job_id(context.job_id);
  const std::string step = asked ? asked->step : std::string();
  // Of one step on one node there is a file for each run: the one nearest to this run is its.
  std::map<std::string, std::pair<Duration, std::string>, std::less<>> best;
  for (const std::string& name : names) {
    const auto parsed = parse_name(name);
    if (!parsed || std::find(ids.begin(), ids.end(), parsed->job) == ids.end()) continue;
    if (!step.empty() && parsed->step != step) continue;
    const Duration away = distance(parsed->begin, context);
    if (away > kClockSlack) continue;
    const auto [at, is_new] =
        best.try_emplace(std::string(parsed->prefix), std::make_pair(away, name));
    if (!is_new && away < at->second.first) at->second = {away, name};
  }
  std::vector<std::string> chosen;
  for (const auto& [prefix, file] : best) chosen.push_back(file.second);
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

Result<std::vector<std::string>> spool_files(const std::string& spool,
                                             const ExecutionContext& context,
                                             std::vector<std::string>* refused) {
  const auto names = list_folder(spool);
  if (!names) return tl::unexpected<Error>(names.error());
  std::vector<std::string> paths;
  for (const std::string& name : choose_spool_files(*names, context)) {
    std::string path = spool + "/" + name;
    const std::string doubt = why_doubtful(path, spool);
    if (doubt.empty()) {
      paths.push_back(std::move(path));
    } else if (refused != nullptr) {
      refused->push_back(doubt);
    }
  }
  return paths;
}

Result<void> read_task_file(const std::string& path, Deadline deadline, TaskTable* table) {
  auto fd = open_regular(path);
  if (!fd) return tl::unexpected<Error>(fd.error());
  LineSplitter lines(NVAB_TASK_LINE_MAX);
  const auto add = [&](std::string_view line) { table->add_line(line); };
  bool in_time = true;
  const auto decoded = decode_file(*fd, [&](std::string_view block) {
    lines.feed(block, add);
    in_time = !deadline.passed();
    return in_time;
  });
  lines.finish(add);
  if (!decoded) return tl::unexpected<Error>(decoded.error());
  if (!in_time) return fail(Error::Code::timeout, "the time for reading was over");
  if (lines.skipped() > 0) {
    return fail(Error::Code::malformed,
                fmt::format("{} lines are longer than any task record", lines.skipped()));
  }
  return {};
}

std::vector<TaskStream> recorded_streams(const std::string& spool, const ExecutionContext& context,
                                         Deadline deadline) {
  // Also for a single step: what srun's tasks print usually goes through srun into the script's
  // file.
  ExecutionContext whole = context;
  whole.job_id = whole.job_id.substr(0, whole.job_id.find('.'));
  const auto paths = spool_files(spool, whole);
  if (!paths) return {};
  TaskTable table(whole);
  for (const std::string& path : *paths) (void)read_task_file(path, deadline, &table);
  return table.streams();
}

}  // namespace nvab
