// SPDX-License-Identifier: Apache-2.0
// See node.hh.
#include "epilog/queue/node.hh"

#include <errno.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "common/base/text.hh"

namespace nvab {
namespace {

// A node's record of a job has some KB a task.
constexpr std::size_t kMaxRecordBytes = 64 * 1024 * 1024;
// Kernels keep 16 MB at most by their usual settings.
constexpr std::size_t kMaxKernelBytes = 32 * 1024 * 1024;
// Faults that end a job may begin before it.
constexpr Duration kBeforeJob = std::chrono::minutes(15);
// Where no task record says when the job began.
constexpr Duration kUnknownJob = std::chrono::hours(24);

// When the kernel's clock was 0. It does not count while the machine sleeps, which nodes do not.
Time boot_time() {
  timespec mono = {};
  ::clock_gettime(CLOCK_MONOTONIC, &mono);
  const auto now = std::chrono::floor<Duration>(std::chrono::system_clock::now());
  return now - std::chrono::seconds(mono.tv_sec) -
         std::chrono::duration_cast<Duration>(std::chrono::nanoseconds(mono.tv_nsec));
}

// "JOB.STEP.NODE.MICROSECONDS.ndjson": when the step began.
std::optional<Time> time_of_record(std::string_view name) {
  const std::size_t end = name.rfind('.');
  const std::size_t begin = name.rfind('.', end - 1) + 1;
  const auto us = parse_int(name.substr(begin, end - begin));
  return us ? std::optional(Time(Duration(*us))) : std::nullopt;
}

}  // namespace

std::string kernel_lines(std::string_view records, std::string_view node, Time boot, Time since) {
  std::string text;
  for (const std::string_view line : split(records, '\n')) {
    const std::size_t head_end = line.find(';');
    // Lines that begin with a blank go on about the record before: names of devices.
    if (head_end == std::string_view::npos || line.front() == ' ') continue;
    const auto fields = split(line.substr(0, head_end), ',');
    const auto priority = parse_int(fields[0]);
    const auto us = fields.size() > 2 ? parse_int(fields[2]) : std::nullopt;
    if (!priority || !us || *us < 0) continue;
    const Time time = boot + Duration(*us);
    if (time < since) continue;
    const bool is_kernel = *priority / 8 == 0;
    text += fmt::format("{} {} {}: {}\n", format_rfc3339(time), node, is_kernel ? "kernel" : "kmsg",
                        sanitize(line.substr(head_end + 1)));
  }
  return text;
}

Result<void> NodeWorker::check() const {
  if (evidence_.share.empty()) {
    return fail(Error::Code::malformed,
                "--node copies evidence to a shared folder: set [queue] node_share");
  }
  auto made = make_folders(evidence_.share + "/tasks");
  return made ? make_folders(evidence_.share + "/kernel") : made;
}

Result<void> NodeWorker::copy_tasks(std::uint32_t job, Time* since) const {
  const auto names = list_folder(evidence_.spool);
  if (!names) {
    // No plugin here: then there are no records.
    if (names.error().code == Error::Code::not_found) return {};
    return tl::unexpected(names.error());
  }
  const std::string prefix = std::to_string(job) + ".";
  for (const std::string& name : *names) {
    if (!name.starts_with(prefix) || !name.ends_with(".ndjson")) continue;
    auto text = read_file(evidence_.spool + "/" + name, kMaxRecordBytes);
    if (!text) return tl::unexpected(std::move(text.error()));
    auto written = write_file(evidence_.share + "/tasks/" + name, *text, 0640);
    if (!written) return written;
    if (const auto begun = time_of_record(name)) *since = std::min(*since, *begun - kBeforeJob);
  }
  return {};
}

Result<std::string> NodeWorker::read_kernel_log() const {
  const Fd fd(::open(evidence_.kmsg.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!fd) return tl::unexpected(from_errno(errno, "opening " + evidence_.kmsg));
  std::string text;
  std::vector<char> piece(16 * 1024);
  while (text.size() < kMaxKernelBytes) {
    const ssize_t got = ::read(fd.get(), piece.data(), piece.size());
    // EPIPE: the kernel has overwritten what was next, and goes on with what is there.
    if (got < 0 && (errno == EINTR || errno == EPIPE)) continue;
    if (got <= 0) break;
    text.append(piece.data(), static_cast<std::size_t>(got));
  }
  return text;
}

Result<void> NodeWorker::copy(const JobHint& hint, Time now) const {
  Time since = now;
  if (auto done = copy_tasks(hint.job_id, &since); !done) return done;
  if (since == now) since = now - kUnknownJob;
  const auto records = read_kernel_log();
  if (!records) return tl::unexpected(records.error());
  std::string node = hint.node.empty() ? hint.host : hint.node;
  std::replace(node.begin(), node.end(), '/', '_');
  if (node.empty() || node.front() == '.') node = "node" + node;
  const std::string folder = fmt::format("{}/kernel/{}", evidence_.share, hint.job_id);
  if (auto made = make_folders(folder); !made) return made;
  return write_file(folder + "/" + node + ".log", kernel_lines(*records, node, boot_time(), since),
                    0640);
}

Result<RoundResult> NodeWorker::round(Time now) {
  RoundResult result;
  store_.recover();
  auto entries = store_.claim(kMaxJobsPerCall, now);
  if (!entries) return tl::unexpected(std::move(entries.error()));
  result.claimed = entries->size();
  for (QueueEntry& entry : *entries) {
    const auto hint = job_hint_from(entry.json);
    if (!hint) {
      store_.bury(entry, hint.error().message);
      continue;
    }
    const auto copied = copy(*hint, now);
    if (copied) {
      store_.finish(entry);
      continue;
    }
    ++entry.history.tries;
    entry.history.reason = "copying this node's evidence: " + copied.error().message;
    if (entry.history.tries >= settings_.retries) {
      store_.bury(entry, entry.history.reason);
      continue;
    }
    entry.history.not_before =
        now + back_off(settings_.retry_first, settings_.retry_longest, entry.history.tries);
    store_.put_off(entry, false);
    ++result.put_off;
  }
  return result;
}

}  // namespace nvab
