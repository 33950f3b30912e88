// SPDX-License-Identifier: Apache-2.0
// One entry of a systemd journal, from whichever form of it: what of its fields says who wrote what
// and when. See systemd.journal-fields(7).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/time.hh"
#include "epilog/log/record_stream.hh"

namespace nvab {

struct JournalRecord {
  std::string message, host, identifier, command, transport, unit, about_unit, boot, cursor;
  std::optional<long long> priority, facility, pid, uid;
  // Microseconds. `received` is when the journal took it, `sent` when its writer says it was.
  std::optional<long long> received, received_uptime, sent, sent_uptime;

  // Takes the fields that matter, whichever trusted ("_PID") or untrusted ("SYSLOG_PID") name they
  // have; a value longer than kMaxJournalField is cut.
  void set(std::string_view name, std::string_view value);

  // Lines that processes write to /dev/kmsg come by the kernel's transport too, but never with its
  // facility.
  bool is_of_kernel() const { return transport == "kernel" && facility.value_or(0) == 0; }
  Trust trust() const;
  // Of the kernel, when the kernel said it; the journal takes all of a boot's messages at once.
  std::optional<Time> time() const;
  LogRecord line() const;  // its views are valid as long as the record is not changed
};
inline constexpr std::size_t kMaxJournalField = 64 * 1024;

// Which entries are wanted. The window is the job's with its margins.
struct JournalFilter {
  std::optional<Time> since, until;
  bool only_kernel = false;
  std::vector<std::string> units;  // "slurmd.service"; with only_kernel: either
  std::string boot;                // 32 hexadecimal digits
  std::string cursor;              // only what stands behind it

  bool wants(const JournalRecord& record) const;  // all but the cursor
};

}  // namespace nvab
