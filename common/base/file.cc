// SPDX-License-Identifier: Apache-2.0
// Plain POSIX calls: what blocks, what follows links and what is flushed stays visible.
#include "common/base/file.hh"

#include <dirent.h>
#include <fcntl.h>
#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>

namespace nvab {
namespace {

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string name_of(const std::string& path) {
  return path.substr(path.rfind('/') == std::string::npos ? 0 : path.rfind('/') + 1);
}

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};

}  // namespace

Fd& Fd::operator=(Fd&& other) noexcept {
  if (this != &other) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = other.release();
  }
  return *this;
}

Fd::~Fd() {
  if (fd_ >= 0) ::close(fd_);
}

Result<Fd> open_regular(const std::string& path) {
  // O_NONBLOCK: opening a FIFO without a writer would wait for one. O_NOCTTY: a terminal is no log.
  Fd fd(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!fd) return tl::unexpected(from_errno(errno, "opening " + path));
  struct stat status = {};
  if (::fstat(fd.get(), &status) != 0) {
    return tl::unexpected(from_errno(errno, "looking at " + path));
  }
  if (!S_ISREG(status.st_mode)) {
    return fail(Error::Code::unsupported, "opening " + path + ": it is not a regular file");
  }
  return fd;
}

Result<std::string> read_file(const std::string& path, std::size_t limit) {
  auto fd = open_regular(path);
  if (!fd) return tl::unexpected(std::move(fd.error()));
  // Sizes lie (/proc says 0, a log grows), so read until the end and not until a size.
  constexpr std::size_t kStep = 64 * 1024;
  std::string bytes;
  for (;;) {
    const std::size_t used = bytes.size();
    bytes.resize(used + kStep);
    const ssize_t got = ::read(fd->get(), bytes.data() + used, kStep);
    const int error_number = errno;
    bytes.resize(used + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    if (got < 0 && error_number == EINTR) continue;
    if (got < 0) return tl::unexpected(from_errno(error_number, "reading " + path));
    if (got == 0) return bytes;
    if (bytes.size() > limit) {
      return fail(Error::Code::malformed, "reading " + path + ": it is larger than " +
                                              std::to_string(limit) +
                                              " bytes, which no such file should be");
    }
  }
}

Result<std::vector<std::string>> list_folder(const std::string& path) {
  std::unique_ptr<DIR, CloseFolder> folder(::opendir(path.c_str()));
  if (!folder) return tl::unexpected(from_errno(errno, "listing " + path));
  std::vector<std::string> names;
  for (;;) {
    errno = 0;
    const dirent* entry = ::readdir(folder.get());
    if (entry == nullptr) break;
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  if (errno != 0) return tl::unexpected(from_errno(errno, "listing " + path));
  std::sort(names.begin(), names.end());
  return names;
}

Result<std::vector<std::string>> glob_files(const std::string& pattern) {
  glob_t found = {};
  const int status = ::glob(pattern.c_str(), GLOB_NOSORT, nullptr, &found);
  std::vector<std::string> paths(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
  if (status == GLOB_NOSPACE) {
    return fail(Error::Code::unavailable, "finding the files of " + pattern + ": out of memory");
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

bool is_folder(const std::string& path) {
  struct stat status = {};
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

bool exists(const std::string& path) {
  struct stat status = {};
  return ::stat(path.c_str(), &status) == 0;
}

Result<void> make_folders(const std::string& path) {
  for (std::size_t slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
    const std::string part = path.substr(0, slash);
    if (::mkdir(part.c_str(), 0755) != 0) {
      const int error_number = errno;
      // Also EROFS or EACCES where the folder is there already: only a missing one is trouble.
      if (!is_folder(part)) {
        return tl::unexpected(from_errno(error_number, "making the folder " + part));
      }
    }
    if (slash == std::string::npos) return {};
  }
}

AtomicFile::AtomicFile(std::string path, std::string temporary, Fd fd)
    : path_(std::move(path)), temporary_(std::move(temporary)), fd_(std::move(fd)) {}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::move(other.temporary_)),
      fd_(std::move(other.fd_)) {
  other.temporary_.clear();
}

AtomicFile::~AtomicFile() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

Result<AtomicFile> AtomicFile::create(const std::string& path, unsigned mode) {
  // A dot name, so that nobody who lists the folder takes the unfinished file for a finished one.
  std::string temporary = folder_of(path) + "/." + name_of(path) + ".XXXXXX";
  Fd fd(::mkostemp(temporary.data(), O_CLOEXEC));
  if (!fd) return tl::unexpected(from_errno(errno, "creating " + path));
  AtomicFile file(path, std::move(temporary), std::move(fd));
  if (::fchmod(file.fd_.get(), mode) != 0) {
    return tl::unexpected(from_errno(errno, "setting the mode of " + path));
  }
  return file;
}

Result<void> AtomicFile::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(fd_.get(), bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return tl::unexpected(from_errno(errno, "writing " + path_));
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
  return {};
}

Result<void> AtomicFile::commit() {
  if (::fsync(fd_.get()) != 0) return tl::unexpected(from_errno(errno, "flushing " + path_));
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) {
    return tl::unexpected(from_errno(errno, "publishing " + path_));
  }
  temporary_.clear();
  // The name survives a power cut only once the folder is flushed too; where a file system cannot,
  // the file is published all the same.
  const Fd folder(::open(folder_of(path_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder) ::fsync(folder.get());
  return {};
}

Result<void> write_file(const std::string& path, std::string_view bytes, unsigned mode) {
  auto file = AtomicFile::create(path, mode);
  if (!file) return tl::unexpected(std::move(file.error()));
  if (auto written = file->write(bytes); !written) return written;
  return file->commit();
}

}  // namespace nvab
