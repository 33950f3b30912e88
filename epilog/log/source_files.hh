// SPDX-License-Identifier: Apache-2.0
// Which files a list of paths, folders and patterns stands for, and which of them cannot be taken.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/base/file.hh"
#include "common/base/result.hh"
#include "common/base/time.hh"

namespace nvab {

// More files than the largest job writes (two a rank); a folder that holds more is not a job's.
inline constexpr std::size_t kMaxSourceFiles = 100'000;
inline constexpr int kMaxFolderDepth = 8;

// Device and inode, as a trusted witness noted them; without the device where its number means
// nothing here (another machine's).
struct FileIdentity {
  std::optional<std::uint64_t> dev;
  std::uint64_t ino = 0;
};

struct SourceFile {
  std::string path;
  std::string stream;  // what citations call it: the path, or the path below `base`
  // Who writes to it, where that is known beforehand.
  std::string node = {};
  std::optional<int> task = {};
  // Only this file counts, and no link in its place.
  std::optional<FileIdentity> identity = {};
  bool follow_link = true;
  // Only a file of this user counts, whatever may be read.
  std::optional<std::uint32_t> owner = {};
};

// Opens it as open_regular() does. Errors besides: conflict, where another file lies in its place;
// permission, where it is somebody else's than the owner's.
Result<Fd> open_source(const SourceFile& file);

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
