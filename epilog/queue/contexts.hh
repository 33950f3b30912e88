// SPDX-License-Identifier: Apache-2.0
// Which contexts are done: a small file each, by the context's key. With the lock of the context it
// makes that each is attributed once, however many hooks, nodes and runners hand it over.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/base/file.hh"
#include "common/base/json.hh"
#include "common/base/result.hh"
#include "common/base/time.hh"
#include "common/model/context.hh"

namespace nvab {

struct ContextMarker {
  std::string context, job;  // queue_key(), and the job's id for people
  Time time;                 // when it was done
  bool is_attributed = false;
  // Of one that is not: which policy said no. Else: which outputs cannot have it.
  std::string reason;
  bool requested = false;              // its owner had asked for it, as far as was known
  std::vector<std::string> delivered;  // outputs that have the result
  Json verdict;                        // in short, for people
};

// The lock of one context; released when destroyed, and when the process dies.
class ContextLock {
 public:
  // Nothing where somebody else holds it. Errors: the file cannot be made.
  static Result<std::optional<ContextLock>> take(const std::string& queue, const std::string& key);
  ContextLock(ContextLock&& other) noexcept;
  ContextLock& operator=(ContextLock&&) = delete;
  ~ContextLock();

 private:
  ContextLock(std::string path, Fd fd) : path_(std::move(path)), fd_(std::move(fd)) {}
  std::string path_;
  Fd fd_;
};

// Path of the marker.
std::string marker_path(const std::string& queue, const std::string& key);
// Nothing where there is none, or none that can be read.
std::optional<ContextMarker> read_marker(const std::string& path);
Result<void> write_marker(const std::string& queue, const ContextMarker& marker);

}  // namespace nvab
