// SPDX-License-Identifier: Apache-2.0
// Which files a list of paths, folders and patterns stands for, and which of them cannot be taken.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/base/result.hh"
#include "common/base/time.hh"

namespace nvab {

// More files than the largest job writes (two a rank); a folder that holds more is not a job's.
inline constexpr std::size_t kMaxSourceFiles = 100'000;
inline constexpr int kMaxFolderDepth = 8;

struct SourceFile {
  std::string path;
  std::string stream;  // what citations call it: the path, or the path below `base`
};

struct SkippedFile {
  std::string path;
  Error error;
};

struct SourceFiles {
  std::vector<SourceFile> files;  // sorted by path, each once
  std::vector<SkippedFile> skipped;
};

struct FileSearch {
  std::vector<std::string> paths;  // files, folders (with all below them) and patterns
  std::string base;                // prefix that stream names leave out; empty: none
  // Also take what logrotate made of a file that is named outright ("messages.1",
  // "messages-20260301.gz"), where it was written to at this time or later.
  std::optional<Time> rotated_since;
};

// Hidden files are left out. In folders only regular files count: FIFOs, sockets and devices are
// left out, links are followed only to files below the same folder. A path that does not exist is
// skipped with not_found; a pattern that matches nothing is not.
SourceFiles find_source_files(const FileSearch& search);

}  // namespace nvab
