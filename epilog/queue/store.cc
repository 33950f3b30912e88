// SPDX-License-Identifier: Apache-2.0
// See store.hh.
#include "epilog/queue/store.hh"

#include <errno.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "common/base/log.hh"
#include "common/base/text.hh"

namespace nvab {
namespace {

// Entries tell who ran what: they are for the queue's owner and group.
constexpr mode_t kFolderMode = 0750;
constexpr unsigned kFileMode = 0640;
// No back-off is longer; a time further ahead comes from a clock that was wrong.
constexpr Duration kLongestWait = std::chrono::hours(24);
constexpr std::string_view kLockName = "lock";
constexpr std::string_view kReasonSuffix = ".reason";

Result<void> make_folder(const std::string& path) {
  if (::mkdir(path.c_str(), kFolderMode) == 0) return {};
  const int error_number = errno;
  if (is_folder(path)) return {};
  return tl::unexpected(from_errno(error_number, "making the folder " + path));
}

std::string runner_name() {
  std::array<char, 256> host = {};
  if (::gethostname(host.data(), host.size() - 1) != 0) host[0] = '?';
  std::string name(host.data());
  std::replace(name.begin(), name.end(), '/', '_');
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return fmt::format("{}.{}.{}", name, ::getpid(),
                     std::chrono::duration_cast<Duration>(now).count());
}

// A folder of our own, with its lock held before others can see it.
Result<Fd> make_runner_folder(const std::string& claimed, const std::string& runner) {
  const std::string hidden = claimed + "/." + runner, shown = claimed + "/" + runner;
  if (auto made = make_folder(hidden); !made) return tl::unexpected(std::move(made.error()));
  const std::string lock_path = hidden + "/" + std::string(kLockName);
  Fd lock(::open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, kFileMode));
  if (!lock) return tl::unexpected(from_errno(errno, "creating " + lock_path));
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    return tl::unexpected(from_errno(errno, "locking " + lock_path));
  }
  if (::rename(hidden.c_str(), shown.c_str()) != 0) {
    return tl::unexpected(from_errno(errno, "creating " + shown));
  }
  return lock;
}

void remove_runner_folder(const std::string& path) {
  ::unlink((path + "/" + std::string(kLockName)).c_str());
  ::rmdir(path.c_str());
}

Time modified(const struct stat& about) {
  return Time(
      std::chrono::seconds(about.st_mtim.tv_sec) +
      std::chrono::duration_cast<Duration>(std::chrono::nanoseconds(about.st_mtim.tv_nsec)));
}

void set_modified(const std::string& path, Time time) {
  const auto since = time.time_since_epoch();
  const auto seconds = std::chrono::floor<std::chrono::seconds>(since);
  const timespec to = {static_cast<time_t>(seconds.count()),
                       static_cast<long>((since - seconds).count() * 1000)};
  const std::array<timespec, 2> times = {to, to};
  ::utimensat(AT_FDCWD, path.c_str(), times.data(), AT_SYMLINK_NOFOLLOW);
}

// The folder of a runner that died while it made it. It holds no entries.
void remove_unborn(const std::string& path) {
  constexpr Duration kSurelyDead = std::chrono::hours(1);
  struct stat about = {};
  const auto now = std::chrono::floor<Duration>(std::chrono::system_clock::now());
  if (::lstat(path.c_str(), &about) != 0 || now - modified(about) < kSurelyDead) return;
  remove_runner_folder(path);
}

// Nothing where the file is gone.
std::optional<Time> due_time(const std::string& path, Time now) {
  struct stat about = {};
  if (::lstat(path.c_str(), &about) != 0) return std::nullopt;
  const Time due = modified(about);
  return due > now + kLongestWait ? now : due;
}

}  // namespace

std::optional<std::string> entry_id(std::string_view name) {
  constexpr std::string_view kSuffix = ".json";
  if (name.size() <= kSuffix.size() || !name.ends_with(kSuffix)) return std::nullopt;
  return std::string(name.substr(0, name.size() - kSuffix.size()));
}

Result<std::unique_ptr<QueueStore>> QueueStore::open(const std::string& folder) {
  const std::string doing = "opening the queue " + folder;
  if (auto made = make_folders(folder); !made) return fail(doing, std::move(made.error()));
  for (const std::string_view state : kQueueFolders) {
    auto made = make_folder(folder + "/" + std::string(state));
    if (!made) return fail(doing, std::move(made.error()));
  }
  std::string runner = runner_name();
  auto lock = make_runner_folder(folder + "/claimed", runner);
  if (!lock) return fail(doing, std::move(lock.error()));
  return std::unique_ptr<QueueStore>(new QueueStore(folder, std::move(runner), std::move(*lock)));
}

QueueStore::~QueueStore() {
  if (const auto names = list_folder(claimed(""))) {
    for (const std::string& name : *names) {
      if (name != kLockName) move(name, "new");
    }
  }
  remove_runner_folder(claimed(""));
}

std::string QueueStore::path(std::string_view state, std::string_view name) const {
  std::string path = folder_ + "/" + std::string(state);
  if (!name.empty()) path += "/" + std::string(name);
  return path;
}

std::string QueueStore::claimed(std::string_view name) const {
  std::string path = folder_ + "/claimed/" + runner_;
  if (!name.empty()) path += "/" + std::string(name);
  return path;
}

void QueueStore::complain(const std::string& what) {
  if (has_complained_) return log_debug(what);
  has_complained_ = true;
  log_error(what + "; what cannot be moved is tried again by the next runner");
}

bool QueueStore::move(const std::string& name, std::string_view state) {
  if (::rename(claimed(name).c_str(), path(state, name).c_str()) == 0) return true;
  complain(from_errno(errno, fmt::format("moving {} to {}", name, path(state))).message);
  return false;
}

// A put-off entry is written to new/ before it is removed here: the one there knows more.
int QueueStore::recover_runner(const std::string& runner) {
  const std::string from = path("claimed", runner);
  const std::string lock_path = from + "/" + std::string(kLockName);
  const Fd lock(::open(lock_path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  if (!lock && errno != ENOENT) return 0;
  if (lock && ::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) return 0;
  const auto names = list_folder(from);
  if (!names) return 0;
  int count = 0;
  for (const std::string& name : *names) {
    if (name == kLockName) continue;
    const std::string old = from + "/" + name;
    if (name.front() == '.') {
      ::unlink(old.c_str());
    } else if (::renameat2(AT_FDCWD, old.c_str(), AT_FDCWD, path("new", name).c_str(),
                           RENAME_NOREPLACE) == 0) {
      ++count;
    } else if (errno == EEXIST) {
      ::unlink(old.c_str());
    }
  }
  remove_runner_folder(from);
  return count;
}

int QueueStore::recover() {
  const auto runners = list_folder(path("claimed"));
  if (!runners) return 0;
  int count = 0;
  for (const std::string& runner : *runners) {
    if (runner.front() == '.') {
      remove_unborn(path("claimed", runner));
    } else if (runner != runner_) {
      count += recover_runner(runner);
    }
  }
  if (count > 0)
    log_info(fmt::format("{} entries of a runner that died are taken up again", count));
  return count;
}

std::optional<Time> QueueStore::next_due(Time now) const {
  std::optional<Time> next;
  for (const std::string_view state : {"new", "conflicted"}) {
    const auto names = list_folder(path(state));
    if (!names) continue;
    for (const std::string& name : *names) {
      const auto due = name.front() != '.' ? due_time(path(state, name), now) : std::nullopt;
      if (due && (!next || *due < *next)) next = due;
    }
  }
  return next;
}

// The reason first: an entry in dead/ always has one.
void QueueStore::bury_file(const std::string& name, const std::string& reason) {
  const auto written = write_file(path("dead", name + std::string(kReasonSuffix)),
                                  sanitize(reason) + "\n", kFileMode);
  if (!written) complain(written.error().message);
  if (move(name, "dead")) log_warning(fmt::format("{} goes to dead: {}", name, reason));
}

void QueueStore::take(std::string_view state, const std::string& name,
                      std::vector<QueueEntry>* entries) {
  if (::rename(path(state, name).c_str(), claimed(name).c_str()) != 0) {
    // Another runner may have been faster.
    if (errno != ENOENT) complain(from_errno(errno, "claiming " + path(state, name)).message);
    return;
  }
  const auto id = entry_id(name);
  if (!id) return bury_file(name, "its name does not end in .json: hooks write no such file");
  struct stat about = {};
  if (::lstat(claimed(name).c_str(), &about) != 0 || !S_ISREG(about.st_mode)) {
    return bury_file(name, "it is not a regular file");
  }
  auto text = read_file(claimed(name), kMaxEntryBytes);
  if (!text) return bury_file(name, text.error().message);
  auto entry = parse_entry(*id, *text);
  if (!entry) return bury_file(name, entry.error().message);
  entries->push_back(std::move(*entry));
}

Result<void> QueueStore::claim_from(std::string_view state, std::size_t limit, Time now,
                                    std::vector<QueueEntry>* entries) {
  auto names = list_folder(path(state));
  if (!names) return tl::unexpected(std::move(names.error()));
  for (const std::string& name : *names) {
    if (entries->size() >= limit) break;
    if (name.front() == '.') continue;
    const auto due = due_time(path(state, name), now);
    if (due && *due <= now) take(state, name, entries);
  }
  return {};
}

Result<std::vector<QueueEntry>> QueueStore::claim(std::size_t limit, Time now) {
  std::vector<QueueEntry> entries;
  for (const std::string_view state : {"new", "conflicted"}) {
    auto done = claim_from(state, limit, now, &entries);
    if (!done) return fail("working the queue " + folder_, std::move(done.error()));
  }
  return entries;
}

void QueueStore::give_back(const QueueEntry& entry) { move(entry.id + ".json", "new"); }

void QueueStore::put_off(const QueueEntry& entry, bool conflicted) {
  const std::string name = entry.id + ".json";
  // Written and dated here, then moved: others never see one without its date.
  auto written = write_file(claimed(name), format_entry(entry), kFileMode);
  if (!written) complain(written.error().message);
  if (entry.history.not_before) set_modified(claimed(name), *entry.history.not_before);
  move(name, conflicted ? "conflicted" : "new");
}

void QueueStore::finish(const QueueEntry& entry) {
  const std::string name = entry.id + ".json";
  // Its age counts from here on.
  set_modified(claimed(name), std::chrono::floor<Duration>(std::chrono::system_clock::now()));
  move(name, "done");
}

void QueueStore::bury(const QueueEntry& entry, const std::string& reason) {
  auto written = write_file(claimed(entry.id + ".json"), format_entry(entry), kFileMode);
  if (!written) complain(written.error().message);
  bury_file(entry.id + ".json", reason);
}

int prune_folder(const std::string& folder, Time keep_since,
                 const std::function<bool(std::string_view name)>& is_ours) {
  const auto names = list_folder(folder);
  if (!names) return 0;
  int count = 0;
  for (const std::string& name : *names) {
    const std::string path = folder + "/" + name;
    struct stat about = {};
    if (!is_ours(name) || ::lstat(path.c_str(), &about) != 0) continue;
    if (!S_ISREG(about.st_mode) || modified(about) >= keep_since) continue;
    if (::unlink(path.c_str()) == 0) ++count;
  }
  return count;
}

int tidy_queue(const std::string& folder, Time now, Time keep_since) {
  // A writer needs milliseconds.
  constexpr Duration kStaleAfter = std::chrono::hours(1);
  const auto is_hidden = [](std::string_view name) { return name.starts_with('.'); };
  int count = 0;
  for (const std::string_view state : {"new", "conflicted", "done", "dead"}) {
    count += prune_folder(folder + "/" + std::string(state), now - kStaleAfter, is_hidden);
  }
  const auto is_done = [](std::string_view name) { return name.ends_with(".json"); };
  const auto is_marker = [](std::string_view name) { return name.ends_with(".context"); };
  count += prune_folder(folder + "/done", keep_since, is_done);
  return count + prune_folder(folder + "/done", keep_since, is_marker);
}

}  // namespace nvab
