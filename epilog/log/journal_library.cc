// SPDX-License-Identifier: Apache-2.0
// See journal_library.hh.
#include "epilog/log/journal_library.hh"

#include <dlfcn.h>
#include <fmt/core.h>
#include <systemd/sd-journal.h>

#include <algorithm>

#include "common/base/file.hh"
#include "common/base/text.hh"

namespace nvab {
namespace {

struct Systemd {
  decltype(&sd_journal_open) open = nullptr;
  decltype(&sd_journal_open_directory) open_directory = nullptr;
  decltype(&sd_journal_open_files) open_files = nullptr;
  decltype(&sd_journal_close) close = nullptr;
  decltype(&sd_journal_next) next = nullptr;
  decltype(&sd_journal_seek_head) seek_head = nullptr;
  decltype(&sd_journal_seek_realtime_usec) seek_realtime = nullptr;
  decltype(&sd_journal_seek_cursor) seek_cursor = nullptr;
  decltype(&sd_journal_test_cursor) test_cursor = nullptr;
  decltype(&sd_journal_get_realtime_usec) realtime = nullptr;
  decltype(&sd_journal_get_monotonic_usec) monotonic = nullptr;
  decltype(&sd_journal_enumerate_data) enumerate_data = nullptr;
  decltype(&sd_journal_restart_data) restart_data = nullptr;
  decltype(&sd_journal_add_match) add_match = nullptr;
  decltype(&sd_journal_add_conjunction) add_conjunction = nullptr;
  decltype(&sd_journal_add_disjunction) add_disjunction = nullptr;
  decltype(&sd_journal_flush_matches) flush_matches = nullptr;
  decltype(&sd_journal_query_unique) query_unique = nullptr;
  decltype(&sd_journal_enumerate_unique) enumerate_unique = nullptr;
  decltype(&sd_journal_has_runtime_files) has_runtime = nullptr;
  decltype(&sd_journal_has_persistent_files) has_persistent = nullptr;
  bool is_loaded = false;
};

template <typename F>
bool find(void* library, const char* name, F* function) {
  *function = reinterpret_cast<F>(::dlsym(library, name));
  return *function != nullptr;
}

Systemd load_systemd() {
  Systemd s;
  void* lib = ::dlopen("libsystemd.so.0", RTLD_NOW | RTLD_LOCAL);
  if (lib == nullptr) return s;
  s.is_loaded = find(lib, "sd_journal_open", &s.open) &&
                find(lib, "sd_journal_open_directory", &s.open_directory) &&
                find(lib, "sd_journal_open_files", &s.open_files) &&
                find(lib, "sd_journal_close", &s.close) && find(lib, "sd_journal_next", &s.next) &&
                find(lib, "sd_journal_seek_head", &s.seek_head) &&
                find(lib, "sd_journal_seek_realtime_usec", &s.seek_realtime) &&
                find(lib, "sd_journal_seek_cursor", &s.seek_cursor) &&
                find(lib, "sd_journal_test_cursor", &s.test_cursor) &&
                find(lib, "sd_journal_get_realtime_usec", &s.realtime) &&
                find(lib, "sd_journal_get_monotonic_usec", &s.monotonic) &&
                find(lib, "sd_journal_enumerate_data", &s.enumerate_data) &&
                find(lib, "sd_journal_restart_data", &s.restart_data) &&
                find(lib, "sd_journal_add_match", &s.add_match) &&
                find(lib, "sd_journal_add_conjunction", &s.add_conjunction) &&
                find(lib, "sd_journal_add_disjunction", &s.add_disjunction) &&
                find(lib, "sd_journal_flush_matches", &s.flush_matches) &&
                find(lib, "sd_journal_query_unique", &s.query_unique) &&
                find(lib, "sd_journal_enumerate_unique", &s.enumerate_unique) &&
                find(lib, "sd_journal_has_runtime_files", &s.has_runtime) &&
                find(lib, "sd_journal_has_persistent_files", &s.has_persistent);
  return s;
}

// Loaded once, and for the life of the process.
const Systemd& systemd() {
  static const Systemd loaded = load_systemd();
  return loaded;
}

// The journal may take an entry so much later than it was written, as with messages of the kernel
// that waited for the journal to start.
constexpr Duration kDelivery = std::chrono::minutes(10);
// Entries between two looks at the clock.
constexpr int kEntriesPerLook = 1024;

}  // namespace

struct JournalLibrary::Impl {
  sd_journal* journal = nullptr;
  ~Impl() {
    if (journal != nullptr) systemd().close(journal);
  }

  void match(std::string_view field, std::string_view value) const {
    const std::string text = fmt::format("{}={}", field, value);
    systemd().add_match(journal, text.data(), text.size());
  }
  void set_matches(const JournalFilter& filter, const std::string& host) const;
  Result<void> seek(const JournalFilter& filter) const;
  void take(JournalRecord* record) const;
};

JournalLibrary::JournalLibrary(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
JournalLibrary::JournalLibrary(JournalLibrary&&) noexcept = default;
JournalLibrary& JournalLibrary::operator=(JournalLibrary&&) noexcept = default;
JournalLibrary::~JournalLibrary() = default;

Result<JournalLibrary> JournalLibrary::open(const std::vector<std::string>& paths) {
  const Systemd& s = systemd();
  if (!s.is_loaded) {
    return fail(
        Error::Code::unavailable,
        "reading the journal: libsystemd.so.0 is not on this machine (Debian: libsystemd0)");
  }
  auto impl = std::make_unique<Impl>();
  int status = 0;
  std::string what = "this machine's journal";
  if (paths.empty()) {
    status = s.open(&impl->journal, SD_JOURNAL_LOCAL_ONLY);
  } else if (paths.size() == 1 && is_folder(paths.front())) {
    what = paths.front();
    status = s.open_directory(&impl->journal, paths.front().c_str(), 0);
  } else {
    what = join(paths, ", ");
    std::vector<const char*> files;
    for (const std::string& path : paths) files.push_back(path.c_str());
    files.push_back(nullptr);
    status = s.open_files(&impl->journal, files.data(), 0);
  }
  if (status < 0) return tl::unexpected(from_errno(-status, "opening " + what));
  return JournalLibrary(std::move(impl));
}

bool JournalLibrary::has_files() const {
  return systemd().has_runtime(impl_->journal) > 0 ||
         systemd().has_persistent(impl_->journal) > 0 ||
         systemd().query_unique(impl_->journal, "_BOOT_ID") >= 0;
}

std::vector<std::string> JournalLibrary::hosts() {
  const Systemd& s = systemd();
  constexpr std::string_view kField = "_HOSTNAME=";
  std::vector<std::string> hosts;
  if (s.query_unique(impl_->journal, "_HOSTNAME") < 0) return hosts;
  const void* data = nullptr;
  std::size_t size = 0;
  while (s.enumerate_unique(impl_->journal, &data, &size) > 0) {
    const std::string_view text(static_cast<const char*>(data), size);
    if (text.starts_with(kField)) hosts.emplace_back(text.substr(kField.size()));
  }
  std::sort(hosts.begin(), hosts.end());
  return hosts;
}

std::string JournalLibrary::current_boot() {
  constexpr std::size_t kMaxBootId = 100;
  const auto boot = read_file("/proc/sys/kernel/random/boot_id", kMaxBootId);
  std::string hex(boot ? trim(*boot) : std::string_view());
  hex.erase(std::remove(hex.begin(), hex.end(), '-'), hex.end());
  return hex;
}

// host and boot, and one of: the kernel, the units, what is said about the units. The filter looks
// again; this only spares most of the reading.
void JournalLibrary::Impl::set_matches(const JournalFilter& filter, const std::string& host) const {
  const Systemd& s = systemd();
  s.flush_matches(journal);
  if (!host.empty()) match("_HOSTNAME", host);
  if (!filter.boot.empty()) match("_BOOT_ID", filter.boot);
  if (!filter.only_kernel && filter.units.empty()) return;
  s.add_conjunction(journal);
  if (filter.only_kernel) match("_TRANSPORT", "kernel");
  if (filter.units.empty()) return;
  s.add_disjunction(journal);
  for (const std::string& unit : filter.units) match("_SYSTEMD_UNIT", unit);
  s.add_disjunction(journal);
  for (const std::string& unit : filter.units) match("UNIT", unit);
}

Result<void> JournalLibrary::Impl::seek(const JournalFilter& filter) const {
  const Systemd& s = systemd();
  int status = 0;
  if (!filter.cursor.empty()) {
    status = s.seek_cursor(journal, filter.cursor.c_str());
    if (status < 0) return tl::unexpected(from_errno(-status, "going to the journal's cursor"));
  } else if (filter.since) {
    const Time from = *filter.since;
    status = s.seek_realtime(journal, static_cast<std::uint64_t>(std::max<std::int64_t>(
                                          0, from.time_since_epoch().count())));
  } else {
    status = s.seek_head(journal);
  }
  if (status < 0) return tl::unexpected(from_errno(-status, "searching the journal"));
  return {};
}

void JournalLibrary::Impl::take(JournalRecord* record) const {
  const Systemd& s = systemd();
  *record = JournalRecord();
  std::uint64_t us = 0;
  sd_id128_t boot = {};
  if (s.realtime(journal, &us) >= 0) record->received = static_cast<long long>(us);
  if (s.monotonic(journal, &us, &boot) >= 0) record->received_uptime = static_cast<long long>(us);
  const void* data = nullptr;
  std::size_t size = 0;
  s.restart_data(journal);
  while (s.enumerate_data(journal, &data, &size) > 0) {
    const std::string_view text(static_cast<const char*>(data), size);
    const std::size_t equal = text.find('=');
    if (equal != std::string_view::npos) record->set(text.substr(0, equal), text.substr(equal + 1));
  }
}

Result<void> JournalLibrary::read(const JournalFilter& filter, const std::string& host,
                                  Deadline deadline,
                                  const std::function<void(const JournalRecord&)>& record) {
  const Systemd& s = systemd();
  sd_journal* const journal = impl_->journal;
  impl_->set_matches(filter, host);
  if (auto sought = impl_->seek(filter); !sought) return sought;
  JournalRecord entry;
  int status = 0;
  for (int count = 0; (status = s.next(journal)) > 0; ++count) {
    if (count % kEntriesPerLook == 0 && deadline.passed()) {
      return fail(Error::Code::timeout, "the time for reading was over");
    }
    if (!filter.cursor.empty() && count == 0 && s.test_cursor(journal, filter.cursor.c_str()) > 0) {
      continue;
    }
    impl_->take(&entry);
    if (filter.until && entry.received &&
        Time(Duration(*entry.received)) > *filter.until + kDelivery)
      break;
    if (filter.wants(entry)) record(entry);
  }
  if (status < 0) return tl::unexpected(from_errno(-status, "reading the journal"));
  return {};
}

}  // namespace nvab
