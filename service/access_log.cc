// SPDX-License-Identifier: Apache-2.0
// See access_log.hh.
#include "service/access_log.hh"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>

#include "common/base/json.hh"
#include "common/base/text.hh"
#include "service/router.hh"

namespace nvab {
namespace {

// What a client may make us write of each of its words.
constexpr std::size_t kMaxWord = 200;

Json word(std::string_view text) { return Json::of(excerpt(sanitize(text), kMaxWord)); }

}  // namespace

Result<std::unique_ptr<AccessLog>> AccessLog::open(const std::string& path) {
  auto log = std::make_unique<AccessLog>();
  log->path_ = path;
  if (auto opened = log->reopen(); !opened) return tl::unexpected(opened.error());
  return log;
}

Result<void> AccessLog::reopen() {
  if (path_.empty()) return {};
  Fd file(path_ == "-" ? ::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3)
                       : ::open(path_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0640));
  if (!file) return tl::unexpected(from_errno(errno, "opening the access log " + path_));
  const std::lock_guard lock(mutex_);
  file_ = std::move(file);
  return {};
}

void AccessLog::write(const Request& request, const Exchange& exchange) {
  if (path_.empty()) return;
  Json line = Json::object();
  line.set("time",
           Json::of(std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now())));
  line.set("client", word(request.client)).set("method", word(request.method_word));
  line.set("target", word(request.target));
  const Route* route = request.route;
  line.set("operation", route != nullptr ? Json::of(route->spec.operation) : Json());
  line.set("status", Json::of(exchange.status));
  line.set("bytes_in", Json::of(exchange.bytes_in)).set("bytes_out", Json::of(exchange.bytes_out));
  line.set("seconds", Json::of(to_seconds(exchange.took)));
  if (!request.headers.user_agent.empty()) {
    line.set("user_agent", word(request.headers.user_agent));
  }
  if (!request.headers.request_id.empty()) {
    line.set("request_id", word(request.headers.request_id));
  }
  const std::string text = line.dump() + "\n";
  const std::lock_guard lock(mutex_);
  // A full disk must not stop answers; the line is lost.
  const ssize_t written = ::write(file_.get(), text.data(), text.size());
  static_cast<void>(written);
}

}  // namespace nvab
