// SPDX-License-Identifier: Apache-2.0
// See contexts.hh.
#include "epilog/queue/contexts.hh"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cctype>

#include "common/base/digest.hh"

namespace nvab {
namespace {

constexpr std::size_t kMaxMarkerBytes = 64 * 1024;
constexpr unsigned kFileMode = 0640;
// Of the key's digest: 96 bits, so that two contexts never share a name.
constexpr std::size_t kHashChars = 24;

std::string hash_of(const std::string& key) { return sha256_hex(key).substr(0, kHashChars); }

// The job's id within a key, as far as it is fit for a file's name: for people who look.
std::string job_part(const std::string& key) {
  constexpr std::size_t kLongest = 40;
  const std::size_t begin = key.find('/') + 1;
  std::string part = key.substr(begin, key.find('/', begin) - begin).substr(0, kLongest);
  for (char& c : part) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_' && c != '+') c = '-';
  }
  return part;
}

// The file may have been removed between opening and locking it.
bool is_still_there(int fd, const std::string& path) {
  struct stat held = {}, there = {};
  return ::fstat(fd, &held) == 0 && ::stat(path.c_str(), &there) == 0 &&
         held.st_ino == there.st_ino && held.st_dev == there.st_dev;
}

// Whole or not at all for readers, and not flushed: a marker that a power cut takes costs one more
// judgement, whose trigger id the database knows.
Result<void> publish(const std::string& path, const std::string& text) {
  const std::size_t slash = path.rfind('/') + 1;
  const std::string hidden = path.substr(0, slash) + "." + path.substr(slash);
  {
    const int flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW;
    const Fd fd(::open(hidden.c_str(), flags, kFileMode));
    if (!fd) return tl::unexpected(from_errno(errno, "creating " + path));
    const ssize_t put = ::write(fd.get(), text.data(), text.size());
    const int error_number = put < 0 ? errno : ENOSPC;
    if (put != static_cast<ssize_t>(text.size())) {
      ::unlink(hidden.c_str());
      return tl::unexpected(from_errno(error_number, "writing " + path));
    }
  }
  if (::rename(hidden.c_str(), path.c_str()) == 0) return {};
  return tl::unexpected(from_errno(errno, "publishing " + path));
}

}  // namespace

ContextLock::ContextLock(ContextLock&& other) noexcept
    : path_(std::move(other.path_)), fd_(std::move(other.fd_)) {
  other.path_.clear();
}

ContextLock::~ContextLock() {
  if (fd_) ::unlink(path_.c_str());
}

Result<std::optional<ContextLock>> ContextLock::take(const std::string& queue,
                                                     const std::string& key) {
  std::string path = queue + "/locks/" + hash_of(key);
  for (;;) {
    Fd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, kFileMode));
    if (!fd) return tl::unexpected(from_errno(errno, "creating " + path));
    if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno == EINTR) continue;
      if (errno == EWOULDBLOCK) return std::nullopt;
      return tl::unexpected(from_errno(errno, "locking " + path));
    }
    if (is_still_there(fd.get(), path)) return ContextLock(std::move(path), std::move(fd));
  }
}

std::string marker_path(const std::string& queue, const std::string& key) {
  return queue + "/done/" + job_part(key) + "." + hash_of(key) + ".context";
}

std::optional<ContextMarker> read_marker(const std::string& path) {
  const auto text = read_file(path, kMaxMarkerBytes);
  if (!text) return std::nullopt;
  const auto json = Json::parse(*text);
  if (!json || !json->is_object()) return std::nullopt;
  const auto text_of = [&](std::string_view key) {
    return json->get(key).as_string().value_or("");
  };
  ContextMarker marker;
  marker.context = text_of("context");
  marker.job = text_of("job");
  marker.reason = text_of("reason");
  marker.time = parse_rfc3339(text_of("time")).value_or(Time());
  marker.is_attributed = json->get("attributed").as_bool().value_or(true);
  marker.requested = json->get("requested").as_bool().value_or(false);
  marker.delivered = strings_of(json->get("delivered"));
  marker.verdict = json->get("verdict");
  return marker;
}

Result<void> write_marker(const std::string& queue, const ContextMarker& marker) {
  Json json = Json::object();
  json.set("context", Json::of(marker.context));
  json.set("job", Json::of(marker.job));
  json.set("time", Json::of(marker.time));
  json.set("attributed", Json::of(marker.is_attributed));
  if (!marker.reason.empty()) json.set("reason", Json::of(marker.reason));
  json.set("requested", Json::of(marker.requested));
  json.set("delivered", json_strings(marker.delivered));
  if (!marker.verdict.is_null()) json.set("verdict", marker.verdict);
  return publish(marker_path(queue, marker.context), json.dump() + "\n");
}

}  // namespace nvab
