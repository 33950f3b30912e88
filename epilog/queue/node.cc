// SPDX-License-Identifier: Apache-2.0
// See node.hh.
#include "epilog/queue/node.hh"

#include <fmt/core.h>

#include <algorithm>
#include <vector>

#include "common/base/log.hh"
#include "common/base/text.hh"

namespace nvab {
namespace {

// A node's record of a job has some KB a task.
constexpr std::size_t kMaxRecordBytes = 64 * 1024 * 1024;
// Faults that end a job may begin before it.
constexpr Duration kBeforeJob = std::chrono::minutes(15);
// Reading the kernel's ring takes milliseconds.
constexpr Duration kReadTime = std::chrono::seconds(10);
// Where no task record says when the job began.
constexpr Duration kUnknownJob = std::chrono::hours(24);

// How often a node looks whether somebody asks about a job: less often than a runner waits.
constexpr Duration kLookEvery = std::chrono::seconds(3);

// "JOB.STEP.NODE.MICROSECONDS.ndjson": when the step began.
std::optional<Time> time_of_record(std::string_view name) {
  const std::size_t end = name.rfind('.');
  const std::size_t begin = name.rfind('.', end - 1) + 1;
  const auto us = parse_int(name.substr(begin, end - begin));
  return us ? std::optional(Time(Duration(*us))) : std::nullopt;
}

}  // namespace

std::string kernel_lines(const KernelRing& ring, std::string_view node, const KernelClock& clock,
                         Time since) {
  std::string text;
  const std::vector<Time> times = times_of(ring.records, clock);
  for (std::size_t i = 0; i < times.size(); ++i) {
    if (times[i] < since) continue;
    const KernelRecord& record = ring.records[i];
    std::string message = sanitize(record.text);
    // A line break in a message must not begin a line that seems to be another's.
    std::replace(message.begin(), message.end(), '\n', ' ');
    text += fmt::format("{} {} {}: {}\n", format_rfc3339(times[i]), node,
                        record.is_of_kernel() ? "kernel" : "kmsg", message);
  }
  return text;
}

Result<void> NodeWorker::check() const {
  if (send_) return {};
  if (evidence_.share.empty()) {
    return fail(Error::Code::malformed,
                "--node wants to know where evidence goes: set [run] service_url, or [queue] "
                "node_share to copy it to a shared folder");
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

Result<void> NodeWorker::copy(const JobHint& hint, Time now) const {
  Time since = now;
  if (auto done = copy_tasks(hint.job_id, &since); !done) return done;
  if (since == now) since = now - kUnknownJob;
  const auto ring = read_kernel_ring(evidence_.kmsg, Deadline::after(kReadTime));
  if (!ring) return tl::unexpected(ring.error());
  std::string node = hint.node.empty() ? hint.host : hint.node;
  std::replace(node.begin(), node.end(), '/', '_');
  if (node.empty() || node.front() == '.') node = "node" + node;
  const std::string folder = fmt::format("{}/kernel/{}", evidence_.share, hint.job_id);
  if (auto made = make_folders(folder); !made) return made;
  return write_file(folder + "/" + node + ".log",
                    kernel_lines(*ring, node, KernelClock::here(), since), 0640);
}

// The session is there from the moment at which the runner begins with the job, which is when
// accounting knows of its end, until it has its verdict; or never, for a job of no interest.
Result<bool> NodeWorker::send(QueueEntry& entry, const JobHint& hint, Time now) {
  const auto sent = send_(hint);
  if (!sent) return tl::unexpected(sent.error());
  if (*sent > 0 || now - hint.time.value_or(now) > settings_.node_patience) {
    if (*sent == 0) log_debug(fmt::format("job {}: nobody asked this node", hint.job_id));
    store_.finish(entry);
    return true;
  }
  ++entry.history.tries;
  entry.history.reason = "nobody asks about the job, yet";
  entry.history.not_before =
      now + back_off(settings_.retry_first, std::min(settings_.retry_longest, kLookEvery),
                     entry.history.tries);
  store_.put_off(entry, false);
  return false;
}

Result<bool> NodeWorker::work(QueueEntry& entry, const JobHint& hint, Time now) {
  if (send_) return send(entry, hint, now);
  const auto copied = copy(hint, now);
  if (copied) {
    store_.finish(entry);
    return true;
  }
  ++entry.history.tries;
  entry.history.reason = "copying this node's evidence: " + copied.error().message;
  if (entry.history.tries >= settings_.retries) {
    store_.bury(entry, entry.history.reason);
    return true;
  }
  entry.history.not_before =
      now + back_off(settings_.retry_first, settings_.retry_longest, entry.history.tries);
  store_.put_off(entry, false);
  return false;
}

Result<RoundResult> NodeWorker::round(Time now) {
  RoundResult result;
  store_.recover();
  auto entries = store_.claim(kMaxJobsPerCall, now);
  if (!entries) return tl::unexpected(std::move(entries.error()));
  result.claimed = entries->size();
  std::optional<Error> outage;
  for (QueueEntry& entry : *entries) {
    if (outage) {
      store_.give_back(entry);
      continue;
    }
    const auto hint = job_hint_from(entry.json);
    if (!hint) {
      store_.bury(entry, hint.error().message);
      continue;
    }
    const auto done = work(entry, *hint, now);
    if (!done) {
      outage = done.error();
      store_.give_back(entry);
    } else if (!*done) {
      ++result.put_off;
    }
  }
  if (outage) return tl::unexpected(std::move(*outage));
  return result;
}

}  // namespace nvab
