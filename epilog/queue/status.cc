// SPDX-License-Identifier: Apache-2.0
// See status.hh.
#include "epilog/queue/status.hh"

#include <errno.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/file.hh"
#include "common/base/text.hh"
#include "epilog/queue/entry.hh"
#include "epilog/queue/store.hh"

namespace nvab {
namespace {

constexpr std::size_t kMaxReasonBytes = 16 * 1024;

std::optional<Time> modified(const std::string& path) {
  struct stat about = {};
  if (::lstat(path.c_str(), &about) != 0) return std::nullopt;
  return Time(
      std::chrono::seconds(about.st_mtim.tv_sec) +
      std::chrono::duration_cast<Duration>(std::chrono::nanoseconds(about.st_mtim.tv_nsec)));
}

std::optional<QueueEntry> read_entry(const std::string& path, const std::string& id) {
  const auto text = read_file(path, kMaxEntryBytes);
  if (!text) return std::nullopt;
  auto entry = parse_entry(id, *text);
  return entry ? std::optional(std::move(*entry)) : std::nullopt;
}

void count_new(const std::string& folder, Time now, QueueStatus* status) {
  const auto names = list_folder(folder);
  if (!names) return;
  for (const std::string& name : *names) {
    const auto time = name.front() != '.' ? modified(folder + "/" + name) : std::nullopt;
    if (!time) continue;
    if (*time <= now) {
      ++status->waiting;
      status->oldest_waiting = std::max(status->oldest_waiting.value_or(Duration{0}), now - *time);
      continue;
    }
    ++status->put_off;
    const auto id = entry_id(name);
    if (!id || status->put_off_entries.size() >= kMaxShownEntries) continue;
    const auto entry = read_entry(folder + "/" + name, *id);
    if (!entry) continue;
    status->put_off_entries.push_back({*id, entry->history.reason, entry->history.tries});
  }
}

void count_claims(const std::string& folder, QueueStatus* status) {
  const auto runners = list_folder(folder);
  if (!runners) return;
  for (const std::string& runner : *runners) {
    const auto names = list_folder(folder + "/" + runner);
    if (!names || runner.front() == '.') continue;
    const std::string lock_path = folder + "/" + runner + "/lock";
    const Fd lock(::open(lock_path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    // A shared lock, for a moment: it keeps no runner from anything but taking up a dead one's
    // work.
    const bool lives = lock && ::flock(lock.get(), LOCK_SH | LOCK_NB) != 0;
    std::size_t entries = 0;
    for (const std::string& name : *names) entries += entry_id(name) ? 1 : 0;
    (lives ? status->claimed : status->abandoned) += entries;
    status->runners += lives ? 1 : 0;
  }
}

void count_dead(const std::string& folder, QueueStatus* status) {
  const auto names = list_folder(folder);
  if (!names) return;
  for (const std::string& name : *names) {
    if (name.front() == '.' || name.ends_with(".reason")) continue;
    ++status->dead;
    if (status->dead_entries.size() >= kMaxShownEntries) continue;
    const auto reason = read_file(folder + "/" + name + ".reason", kMaxReasonBytes);
    const auto id = entry_id(name);
    const auto entry = id ? read_entry(folder + "/" + name, *id) : std::nullopt;
    status->dead_entries.push_back({id.value_or(name), reason ? std::string(trim(*reason)) : "",
                                    entry ? entry->history.tries : 0});
  }
}

std::size_t count_suffix(const std::string& folder, std::string_view suffix) {
  const auto names = list_folder(folder);
  std::size_t count = 0;
  if (!names) return count;
  for (const std::string& name : *names) {
    if (name.front() != '.' && name.ends_with(suffix)) ++count;
  }
  return count;
}

std::string entry_lines(const char* title, const std::vector<QueueStatus::Entry>& entries,
                        std::size_t all) {
  if (entries.empty()) return {};
  std::string text = fmt::format("\n{}:\n", title);
  for (const auto& entry : entries) {
    text += fmt::format("  {}  {}\n", sanitize(entry.id), sanitize(entry.reason));
  }
  if (all > entries.size()) text += fmt::format("  and {} more\n", all - entries.size());
  return text;
}

Json entries_json(const std::vector<QueueStatus::Entry>& entries) {
  Json list = Json::array();
  for (const auto& entry : entries) {
    Json item = Json::object();
    item.set("id", Json::of(entry.id));
    item.set("tries", Json::of(entry.tries));
    item.set("reason", Json::of(entry.reason));
    list.push(std::move(item));
  }
  return list;
}

// "1234" is the job of "1234.epilog.n1.…", "1234_7" that of an entry whose job says so.
bool is_about(const QueueEntry& entry, const std::string& what) {
  if (entry.id == what || entry.id.starts_with(what + ".")) return true;
  const Json job = entry.json.get("job");
  const auto number = [&](const char* key) { return job.get(key).as_int(); };
  if (number("job_id") && std::to_string(*number("job_id")) == what) return true;
  return number("array_job_id") && number("array_task_id") &&
         fmt::format("{}_{}", *number("array_job_id"), *number("array_task_id")) == what;
}

class Requeue {
 public:
  Requeue(std::string folder, std::string what, Time now)
      : folder_(std::move(folder)), what_(std::move(what)), now_(now) {}
  Result<int> from(std::string_view state, int limit);

 private:
  Result<void> put_back(const std::string& from, QueueEntry entry);

  std::string folder_, what_;
  Time now_;
};

Result<void> Requeue::put_back(const std::string& from, QueueEntry entry) {
  entry.history = {};
  entry.history.requeued = now_;
  const std::string to = folder_ + "/new/" + entry.id + ".json";
  auto written = write_file(to, format_entry(entry), 0640);
  if (!written) return written;
  if (from != to) ::unlink(from.c_str());
  ::unlink((from + ".reason").c_str());
  return {};
}

Result<int> Requeue::from(std::string_view state, int limit) {
  const std::string folder = folder_ + "/" + std::string(state);
  const auto names = list_folder(folder);
  if (!names) return tl::unexpected(names.error());
  int count = 0;
  for (const std::string& name : *names) {
    const auto id = entry_id(name);
    if (!id || name.front() == '.' || count >= limit) continue;
    auto entry = read_entry(folder + "/" + name, *id);
    if (!entry || (what_ != "all" && !is_about(*entry, what_))) continue;
    if (auto put = put_back(folder + "/" + name, std::move(*entry)); !put) {
      return tl::unexpected(std::move(put.error()));
    }
    ++count;
  }
  return count;
}

}  // namespace

Result<QueueStatus> queue_status(const std::string& folder, Time now) {
  if (auto names = list_folder(folder + "/new"); !names) {
    return fail("looking at the queue " + folder, std::move(names.error()));
  }
  QueueStatus status;
  status.folder = folder;
  count_new(folder + "/new", now, &status);
  count_claims(folder + "/claimed", &status);
  count_dead(folder + "/dead", &status);
  status.conflicted = count_suffix(folder + "/conflicted", ".json");
  status.done = count_suffix(folder + "/done", ".json");
  status.contexts = count_suffix(folder + "/done", ".context");
  return status;
}

std::string status_to_text(const QueueStatus& status) {
  std::string text = fmt::format(
      "queue {}\n"
      "  new         {}{}\n  put off     {}\n  claimed     {}, by {} {}\n  conflicted  {}\n"
      "  done        {}, of {} contexts\n  dead        {}\n",
      status.folder, status.waiting,
      status.oldest_waiting
          ? fmt::format(", the oldest for {}", format_duration(*status.oldest_waiting))
          : "",
      status.put_off, status.claimed, status.runners, status.runners == 1 ? "runner" : "runners",
      status.conflicted, status.done, status.contexts, status.dead);
  if (status.abandoned > 0) {
    text += fmt::format("  abandoned   {}, taken up again by the next runner\n", status.abandoned);
  }
  text += entry_lines("put off", status.put_off_entries, status.put_off);
  return text + entry_lines("dead", status.dead_entries, status.dead);
}

Json status_to_json(const QueueStatus& status) {
  Json json = Json::object();
  json.set("schema", Json::of("nvab.queue/1"));
  json.set("path", Json::of(status.folder));
  json.set("new", Json::of(status.waiting));
  json.set("put_off", Json::of(status.put_off));
  json.set("claimed", Json::of(status.claimed));
  json.set("abandoned", Json::of(status.abandoned));
  json.set("runners", Json::of(status.runners));
  json.set("conflicted", Json::of(status.conflicted));
  json.set("done", Json::of(status.done));
  json.set("contexts", Json::of(status.contexts));
  json.set("dead", Json::of(status.dead));
  json.set("oldest_new_seconds",
           status.oldest_waiting ? Json::of(to_seconds(*status.oldest_waiting)) : Json());
  json.set("put_off_entries", entries_json(status.put_off_entries));
  json.set("dead_entries", entries_json(status.dead_entries));
  return json;
}

Result<int> requeue(const std::string& folder, const std::string& what, Time now) {
  Requeue requeue(folder, what, now);
  constexpr int kAll = 1'000'000;
  int count = 0;
  // What is waiting first: what was dead joins it there.
  for (const std::string_view state : {"new", "conflicted", "dead"}) {
    if (what == "all" && state != "dead") continue;
    auto some = requeue.from(state, kAll);
    if (!some) return fail("requeueing " + what, std::move(some.error()));
    count += *some;
  }
  if (count > 0 || what == "all") return count;
  // Each of a job's done entries stands for the same contexts: one is enough.
  auto done = requeue.from("done", 1);
  if (!done) return fail("requeueing " + what, std::move(done.error()));
  return done;
}

}  // namespace nvab
