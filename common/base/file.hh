// SPDX-License-Identifier: Apache-2.0
// Descriptors and whole files. Log files are streamed by common/base/decode, not read here.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.hh"

namespace nvab {

// Owns one descriptor.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(other.release()) {}
  Fd& operator=(Fd&& other) noexcept;
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd();
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  int release() {
    const int fd = fd_;
    fd_ = -1;
    return fd;
  }

 private:
  int fd_ = -1;
};

// Opens a regular file for reading without ever blocking on a FIFO or reading a device
// (O_NONBLOCK, then fstat). Errors: not_found, permission, unsupported (not a regular file).
Result<Fd> open_regular(const std::string& path);

// The whole file, at most `limit` bytes (more is an error: malformed).
Result<std::string> read_file(const std::string& path, std::size_t limit);

// Names in a folder, sorted, without "." and "..".
Result<std::vector<std::string>> list_folder(const std::string& path);

// Files that a pattern stands for, sorted; a pattern without wildcards yields itself when it
// exists. Nothing found is an empty list, not an error.
Result<std::vector<std::string>> glob_files(const std::string& pattern);

bool is_folder(const std::string& path);
bool exists(const std::string& path);
Result<void> make_folders(const std::string& path);  // like mkdir -p, mode 0755

// Writes beside the target and publishes by rename; only commit() publishes, a destroyed object
// that was not committed leaves nothing behind.
class AtomicFile {
 public:
  static Result<AtomicFile> create(const std::string& path, unsigned mode = 0644);
  AtomicFile(AtomicFile&&) noexcept;
  AtomicFile& operator=(AtomicFile&&) = delete;
  ~AtomicFile();
  Result<void> write(std::string_view bytes);
  Result<void> commit();  // fsync, rename

 private:
  AtomicFile(std::string path, std::string temporary, Fd fd);
  std::string path_, temporary_;
  Fd fd_;
};

Result<void> write_file(const std::string& path, std::string_view bytes, unsigned mode = 0644);

}  // namespace nvab
