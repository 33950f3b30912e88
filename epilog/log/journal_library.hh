// SPDX-License-Identifier: Apache-2.0
// Journals by libsystemd, which is loaded at the first use: a run that reads no journal does not
// pay for it, and a machine without it still runs. The only user of <systemd/sd-journal.h>.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/base/deadline.hh"
#include "common/base/result.hh"
#include "epilog/log/journal_record.hh"

namespace nvab {

class JournalLibrary {
 public:
  // This machine's journal when `paths` is empty, else journal files, or folders of them as
  // systemd-journal-remote keeps them. Errors: unavailable (no libsystemd.so.0), not_found,
  // permission, malformed (no journal).
  static Result<JournalLibrary> open(const std::vector<std::string>& paths);
  JournalLibrary(JournalLibrary&&) noexcept;
  JournalLibrary& operator=(JournalLibrary&&) noexcept;
  ~JournalLibrary();

  // Whether there is any file that we may read.
  bool has_files() const;
  // Names of the hosts whose entries are there.
  std::vector<std::string> hosts();
  // The boot that runs on this machine, as the journal spells it.
  static std::string current_boot();

  // Calls record(…) for each entry that the filter wants, of one host or (empty) of all, in the
  // journal's order. Errors: timeout, not_found (the cursor is not there), malformed (damage).
  Result<void> read(const JournalFilter& filter, const std::string& host, Deadline deadline,
                    const std::function<void(const JournalRecord&)>& record);

 private:
  struct Impl;
  explicit JournalLibrary(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace nvab
