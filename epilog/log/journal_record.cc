// SPDX-License-Identifier: Apache-2.0
// See journal_record.hh.
#include "epilog/log/journal_record.hh"

#include <algorithm>
#include <utility>

#include "common/base/text.hh"

namespace nvab {
namespace {

// Users of the system, whom no person logs in as (login.defs: SYS_UID_MAX).
constexpr long long kMaxSystemUid = 999;
// 9999-12-31; a larger number is damage.
constexpr long long kMaxMicroseconds = 253402300799LL * 1'000'000;

constexpr std::pair<std::string_view, std::string JournalRecord::*> kTexts[] = {
    {"MESSAGE", &JournalRecord::message},
    {"_HOSTNAME", &JournalRecord::host},
    {"SYSLOG_IDENTIFIER", &JournalRecord::identifier},
    {"_COMM", &JournalRecord::command},
    {"_TRANSPORT", &JournalRecord::transport},
    {"_SYSTEMD_UNIT", &JournalRecord::unit},
    {"UNIT", &JournalRecord::about_unit},
    {"_BOOT_ID", &JournalRecord::boot},
    {"__CURSOR", &JournalRecord::cursor},
};
constexpr std::pair<std::string_view, std::optional<long long> JournalRecord::*> kNumbers[] = {
    {"PRIORITY", &JournalRecord::priority},
    {"SYSLOG_FACILITY", &JournalRecord::facility},
    {"_PID", &JournalRecord::pid},
    {"_UID", &JournalRecord::uid},
    {"__REALTIME_TIMESTAMP", &JournalRecord::received},
    {"__MONOTONIC_TIMESTAMP", &JournalRecord::received_uptime},
    {"_SOURCE_REALTIME_TIMESTAMP", &JournalRecord::sent},
    {"_SOURCE_MONOTONIC_TIMESTAMP", &JournalRecord::sent_uptime},
};

}  // namespace

void JournalRecord::set(std::string_view name, std::string_view value) {
  for (const auto& [field, member] : kTexts) {
    if (field == name) this->*member = std::string(value.substr(0, kMaxJournalField));
  }
  for (const auto& [field, member] : kNumbers) {
    if (field != name) continue;
    const auto number = parse_int(value);
    if (number && *number >= 0 && *number <= kMaxMicroseconds) this->*member = number;
  }
}

Trust JournalRecord::trust() const {
  if (is_of_kernel()) return Trust::kernel;
  // Without _UID the journal does not know who it was, as with what came over the network.
  if (uid && *uid <= kMaxSystemUid) return Trust::system;
  // SlurmUser has an ordinary number at many sites. No job runs in these units.
  const bool is_slurms = unit == "slurmctld.service" || unit == "slurmdbd.service";
  return uid && is_slurms ? Trust::system : Trust::user;
}

std::optional<Time> JournalRecord::time() const {
  const auto at = [](long long us) { return Time(Duration(us)); };
  if (is_of_kernel() && received && received_uptime && sent_uptime) {
    const long long late = std::max(0LL, *received_uptime - *sent_uptime);
    return at(std::max(0LL, *received - late));
  }
  if (sent) return at(*sent);
  if (received) return at(*received);
  return std::nullopt;
}

LogRecord JournalRecord::line() const {
  LogRecord line;
  line.time = time();
  line.host = host;
  line.app = identifier.empty() ? command : identifier;
  if (pid && *pid <= 0x7fffffff) line.pid = static_cast<int>(*pid);
  line.severity = static_cast<int>(std::min(priority.value_or(6), 7LL));
  line.trust = trust();
  line.message = message;
  return line;
}

bool JournalFilter::wants(const JournalRecord& record) const {
  const auto time = record.time();
  if (time && since && *time < *since) return false;
  if (time && until && *time > *until) return false;
  if (!boot.empty() && record.boot != boot) return false;
  if (!only_kernel && units.empty()) return true;
  if (only_kernel && record.is_of_kernel()) return true;
  const auto is_unit = [&](const std::string& unit) {
    // What the service manager says about a unit is as good as what the unit says.
    return record.unit == unit || (record.about_unit == unit && record.uid == 0);
  };
  return std::any_of(units.begin(), units.end(), is_unit);
}

}  // namespace nvab
