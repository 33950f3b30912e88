// SPDX-License-Identifier: Apache-2.0
// Walks folders without following what leads out of them, and finds rotated siblings.
#include "epilog/log/source_files.hh"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <string_view>

#include "common/base/file.hh"
#include "common/base/text.hh"

namespace nvab {
namespace {

class Search {
 public:
  explicit Search(const FileSearch& search) : search_(search) {}
  SourceFiles run();

 private:
  void take_path(const std::string& path);
  void walk(const std::string& folder, const std::string& top, int depth);
  void take_link(const std::string& path, const std::string& top);
  void take_file(const std::string& path);
  void take_rotated(const std::string& path, Time since);
  void skip(const std::string& path, Error error) {
    if (found_.skipped.size() < kMaxSourceFiles) {
      found_.skipped.push_back({path, std::move(error)});
    }
  }

  const FileSearch& search_;
  SourceFiles found_;
};

bool has_wildcard(std::string_view path) {
  return path.find_first_of("*?[") != std::string_view::npos;
}

// The canonical path, or empty where there is none.
std::string real_path(const std::string& path) {
  const std::unique_ptr<char, decltype(&free)> real(::realpath(path.c_str(), nullptr), &free);
  return real ? std::string(real.get()) : std::string();
}

// "messages.1", "messages.3.gz", "messages-20260301", "messages-20260301.zst" for "messages".
bool is_rotated_name(std::string_view name, std::string_view original) {
  if (!name.starts_with(original) || name.size() <= original.size() + 1) return false;
  const char separator = name[original.size()];
  if (separator != '.' && separator != '-') return false;
  std::string_view rest = name.substr(original.size() + 1);
  for (const std::string_view packed : {".gz", ".zst", ".xz", ".bz2"}) {
    if (rest.ends_with(packed)) {
      rest.remove_suffix(packed.size());
      break;
    }
  }
  return !rest.empty() && rest.find_first_not_of("0123456789-.") == std::string_view::npos;
}

void Search::take_file(const std::string& path) {
  if (found_.files.size() >= kMaxSourceFiles) {
    return skip(path, {Error::Code::unavailable, "more files than are read of one source"});
  }
  std::string stream = path;
  if (!search_.base.empty() && path.starts_with(search_.base)) {
    stream = path.substr(search_.base.size());
    stream.erase(0, stream.find_first_not_of('/'));
  }
  found_.files.push_back({path, std::move(stream)});
}

void Search::take_link(const std::string& path, const std::string& top) {
  const std::string target = real_path(path);
  struct stat status {};
  if (target.empty() || ::stat(target.c_str(), &status) != 0) {
    return skip(path, {Error::Code::not_found, "the link leads nowhere"});
  }
  if (!target.starts_with(top + "/")) {
    return skip(path, {Error::Code::unsupported, "the link leads out of its folder"});
  }
  if (S_ISREG(status.st_mode)) take_file(path);
}

void Search::walk(const std::string& folder, const std::string& top, int depth) {
  if (depth > kMaxFolderDepth) {
    return skip(folder, {Error::Code::unsupported, "the folder lies too deep"});
  }
  auto names = list_folder(folder);
  if (!names) return skip(folder, names.error());
  for (const std::string& name : *names) {
    if (name.starts_with('.')) continue;
    std::string path = folder;
    path.append("/").append(name);
    struct stat status {};
    if (::lstat(path.c_str(), &status) != 0) {
      skip(path, from_errno(errno, "looking at it"));
    } else if (S_ISREG(status.st_mode)) {
      take_file(path);
    } else if (S_ISDIR(status.st_mode)) {
      walk(path, top, depth + 1);
    } else if (S_ISLNK(status.st_mode)) {
      take_link(path, top);
    } else {
      skip(path, {Error::Code::unsupported, "it is not a regular file"});
    }
  }
}

void Search::take_rotated(const std::string& path, Time since) {
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash);
  const std::string original = path.substr(slash + 1);
  const auto names = list_folder(folder.empty() ? "/" : folder);
  if (!names) return;  // the file itself said already what is wrong
  for (const std::string& name : *names) {
    if (!is_rotated_name(name, original)) continue;
    std::string sibling = slash == std::string::npos ? std::string() : folder + '/';
    sibling += name;
    struct stat status {};
    if (::stat(sibling.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) continue;
    // The last write ended the file; when that was before the job, nothing in it is the job's.
    if (from_unix_seconds(static_cast<double>(status.st_mtim.tv_sec) + 1) >= since) {
      take_file(sibling);
    }
  }
}

void Search::take_path(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    const int error_number = errno;
    skip(path, error_number == ENOENT
                   ? Error{Error::Code::not_found, "there is no such file or folder"}
                   : from_errno(error_number, "looking for it"));
  } else if (S_ISDIR(status.st_mode)) {
    walk(path, real_path(path), 0);
  } else {
    take_file(path);
  }
  if (search_.rotated_since) take_rotated(path, *search_.rotated_since);
}

SourceFiles Search::run() {
  for (const std::string& path : search_.paths) {
    if (!has_wildcard(path) || exists(path)) {
      take_path(path);
      continue;
    }
    auto matches = glob_files(path);
    if (!matches) {
      skip(path, matches.error());
      continue;
    }
    for (const std::string& match : *matches) {
      struct stat status {};
      if (::stat(match.c_str(), &status) == 0 && S_ISDIR(status.st_mode)) continue;
      take_file(match);
    }
  }
  const auto by_path = [](const SourceFile& a, const SourceFile& b) { return a.path < b.path; };
  std::stable_sort(found_.files.begin(), found_.files.end(), by_path);
  const auto same = [](const SourceFile& a, const SourceFile& b) { return a.path == b.path; };
  found_.files.erase(std::unique(found_.files.begin(), found_.files.end(), same),
                     found_.files.end());
  return std::move(found_);
}

}  // namespace

Result<Fd> open_source(const SourceFile& file) {
  constexpr int kFlags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  Fd fd(::open(file.path.c_str(), kFlags | (file.follow_link ? 0 : O_NOFOLLOW)));
  const int error_number = errno;
  if (!fd && error_number == ELOOP) {
    return fail(Error::Code::conflict, "a link lies where the file was");
  }
  if (!fd) return tl::unexpected(from_errno(error_number, "opening it"));
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) return tl::unexpected(from_errno(errno, "looking at it"));
  if (!S_ISREG(status.st_mode)) {
    return fail(Error::Code::unsupported, "it is not a regular file");
  }
  if (file.owner && status.st_uid != *file.owner) {
    return fail(
        Error::Code::permission,
        "it belongs to another user than the job, whom this program cannot become: run it as "
        "root, or with CAP_SETUID and CAP_SETGID");
  }
  const bool same_file = !file.identity || status.st_ino == file.identity->ino;
  const bool same_device =
      !file.identity || !file.identity->dev || status.st_dev == *file.identity->dev;
  if (!same_file || !same_device) {
    return fail(Error::Code::conflict, "another file lies there now than the job wrote");
  }
  return fd;
}

SourceFiles find_source_files(const FileSearch& search) { return Search(search).run(); }

}  // namespace nvab
