// SPDX-License-Identifier: Apache-2.0
// See http_socket.hh.
#include "tests/support/http_socket.hh"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>

#include "common/base/text.hh"

namespace nvab::test {
namespace {

constexpr int kTimeoutSeconds = 20;

Fd connect_unix(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
  Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) return {};
  return fd;
}

Fd connect_tcp(const std::string& host, const std::string& port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(parse_int(port).value_or(0)));
  ::inet_pton(AF_INET, host.c_str(), &address.sin_addr);
  Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) return {};
  return fd;
}

// The body of a chunked answer, when it is complete; `used` are the bytes it took.
std::optional<std::string> unchunk(std::string_view text, std::size_t* used) {
  std::string body;
  std::size_t at = 0;
  for (;;) {
    const std::size_t end = text.find("\r\n", at);
    if (end == std::string_view::npos) return std::nullopt;
    const std::size_t size =
        std::strtoul(std::string(text.substr(at, end - at)).c_str(), nullptr, 16);
    if (text.size() < end + 2 + size + 2) return std::nullopt;
    body += text.substr(end + 2, size);
    at = end + 2 + size + 2;
    if (size == 0) break;
  }
  *used = at;
  return body;
}

}  // namespace

HttpSocket::HttpSocket(const std::string& address) {
  if (address.rfind("unix:", 0) == 0) {
    fd_ = connect_unix(address.substr(5));
  } else {
    const std::size_t colon = address.rfind(':');
    fd_ = connect_tcp(address.substr(0, colon), address.substr(colon + 1));
  }
}

bool HttpSocket::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

bool HttpSocket::fill() {
  pollfd waiting = {fd_.get(), POLLIN, 0};
  if (::poll(&waiting, 1, kTimeoutSeconds * 1000) <= 0) return false;
  char block[65536];
  const ssize_t got = ::recv(fd_.get(), block, sizeof(block), 0);
  if (got <= 0) return false;
  pending_.append(block, static_cast<std::size_t>(got));
  return true;
}

std::optional<Answer> HttpSocket::receive(bool head_only) {
  std::size_t end = 0;
  while ((end = pending_.find("\r\n\r\n")) == std::string::npos) {
    if (!fill()) return std::nullopt;
  }
  Answer answer;
  const std::string head = pending_.substr(0, end);
  answer.status = static_cast<int>(std::strtol(head.c_str() + 9, nullptr, 10));
  for (const std::string_view line : split(head, '\n')) {
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    answer.headers[lower(trim(line.substr(0, colon)))] = trim(line.substr(colon + 1));
  }
  pending_.erase(0, end + 4);
  if (head_only || answer.status < 200 || answer.status == 204 || answer.status == 304) {
    return answer;
  }
  if (lower(answer.header("transfer-encoding")) == "chunked") {
    std::size_t used = 0;
    std::optional<std::string> body;
    while (!(body = unchunk(pending_, &used))) {
      if (!fill()) return std::nullopt;
    }
    answer.body = *body;
    pending_.erase(0, used);
    return answer;
  }
  const auto length =
      static_cast<std::size_t>(parse_int(answer.header("content-length")).value_or(0));
  while (pending_.size() < length) {
    if (!fill()) return std::nullopt;
  }
  answer.body = pending_.substr(0, length);
  pending_.erase(0, length);
  return answer;
}

std::optional<Answer> HttpSocket::ask(const std::string& method, const std::string& target,
                                      std::string_view body, const std::string& head) {
  std::string request = method + " " + target + " HTTP/1.1\r\nHost: test\r\n" + head;
  if (!body.empty()) {
    if (lower(head).find("content-type:") == std::string::npos) {
      request += "Content-Type: application/json\r\n";
    }
    request += "Content-Length: " + std::to_string(body.size()) + "\r\n";
  }
  request += "\r\n";
  request += body;
  if (!send(request)) return std::nullopt;
  return receive(method == "HEAD");
}

bool HttpSocket::is_closed_within(int seconds) {
  pollfd waiting = {fd_.get(), POLLIN, 0};
  while (::poll(&waiting, 1, seconds * 1000) > 0) {
    char block[4096];
    const ssize_t got = ::recv(fd_.get(), block, sizeof(block), 0);
    if (got <= 0) return true;
    pending_.append(block, static_cast<std::size_t>(got));
  }
  return false;
}

}  // namespace nvab::test
