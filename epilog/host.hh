// SPDX-License-Identifier: Apache-2.0
// Everything impure that a connector may use, in one seam: where the file system's root is, the
// clock, the rules that select lines, how long it may take, and whom to tell how far it got.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/deadline.hh"
#include "common/base/settings.hh"
#include "common/base/time.hh"
#include "common/engine/ruleset.hh"

namespace nvab {

// Told how reading goes, from any thread. The one that draws on a terminal is epilog/progress.hh.
class ProgressMeter {
 public:
  virtual ~ProgressMeter() = default;
  virtual void begin_file(std::string_view path) = 0;
  virtual void add_bytes(std::uint64_t bytes) = 0;
};

// Borrowed by connectors for as long as they live; for one thread.
struct Host {
  // Put in front of absolute paths of the machine (not of paths that a person gave); tests point it
  // at a folder.
  std::string root;
  const Ruleset* rules = nullptr;
  // Of the connector that runs now. Whatever loops or waits stops there.
  Deadline deadline;
  ProgressMeter* progress = nullptr;
  // Every line becomes an entry, not only those that rules select (--lines all).
  bool all_lines = false;
  // Folder where the plugin writes task records.
  std::string spool;
  // Where a connector finds what it names, as `auth = "NAME"`; may be null.
  const Settings* settings = nullptr;
  // What the scheduler calls this machine, where that is known (--node).
  std::string node;
};

}  // namespace nvab
