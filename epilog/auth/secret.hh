// SPDX-License-Identifier: Apache-2.0
// One secret of a credential: from a file, which is read again when it changes, or from the
// environment. Never from a settings file, which others may read, nor from the command line.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/result.hh"
#include "common/base/settings.hh"

namespace nvab {

// Longer than any token or password; a log file given by mistake must not be sent.
inline constexpr std::size_t kMaxSecret = 16UL * 1024;

class Secret {
 public:
  // By the parameters `NAME_file` and `NAME` (environment only) of an auth component. Errors:
  // malformed, where there is neither, both, or a NAME in a file.
  static Result<Secret> open(const ComponentSettings& settings, std::string_view name);

  // The secret as it is now: the file's first line. While the file is gone or empty, as some
  // rotations leave it for a moment, the one before. Errors: not_found, permission, malformed (not
  // one line of text).
  Result<std::string> read();

 private:
  // What shows that a file is another one, or was written to.
  struct Version {
    dev_t dev = 0;
    ino_t ino = 0;
    off_t size = -1;
    std::int64_t changed_ns = 0;
    bool operator==(const Version&) const = default;
  };
  static Version version_of(const std::string& path);
  Result<std::string> read_now() const;

  std::string path_;  // empty: `value_` stays
  std::string value_;
  Version version_;
};

}  // namespace nvab
