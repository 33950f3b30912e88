// SPDX-License-Identifier: Apache-2.0
// See http_stub.hh.
#include "tests/support/http_stub.hh"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <utility>

#include "common/base/text.hh"

namespace nvab::test {
namespace {

// One request from `pending`, read on from the socket as it needs; false where it ends.
bool receive(int socket, std::string* pending, StubRequest* request) {
  const auto fill = [&] {
    char block[65536];
    const ssize_t got = ::recv(socket, block, sizeof(block), 0);
    if (got > 0) pending->append(block, static_cast<std::size_t>(got));
    return got > 0;
  };
  std::size_t end = 0;
  while ((end = pending->find("\r\n\r\n")) == std::string::npos) {
    if (!fill()) return false;
  }
  const std::string head = pending->substr(0, end);
  pending->erase(0, end + 4);
  const auto words = split(std::string_view(head).substr(0, head.find('\r')), ' ');
  if (words.size() < 2) return false;
  request->method = words[0];
  request->target = words[1];
  for (const std::string_view line : split(head, '\n')) {
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    request->headers[lower(trim(line.substr(0, colon)))] = trim(line.substr(colon + 1));
  }
  const auto length =
      static_cast<std::size_t>(parse_int(request->header("content-length")).value_or(0));
  while (pending->size() < length) {
    if (!fill()) return false;
  }
  request->body = pending->substr(0, length);
  pending->erase(0, length);
  return true;
}

bool send_all(int socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

}  // namespace

std::string stub_answer(int status, const std::string& body, const std::string& head) {
  return "HTTP/1.1 " + std::to_string(status) +
         " X\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" + head + "\r\n" + body;
}

HttpStub::HttpStub(Handler handler) : handler_(std::move(handler)) {
  listener_ = Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  constexpr int kBacklog = 64;
  if (::bind(listener_.get(), generic, size) == 0 && ::listen(listener_.get(), kBacklog) == 0 &&
      ::getsockname(listener_.get(), generic, &size) == 0) {
    port_ = ntohs(address.sin_port);
  }
  server_ = std::thread([this] { serve(); });
}

HttpStub::~HttpStub() {
  is_ending_ = true;
  ::shutdown(listener_.get(), SHUT_RDWR);
  server_.join();
  for (const int socket : sockets_) ::shutdown(socket, SHUT_RDWR);
  for (std::thread& talker : talkers_) talker.join();
  for (const int socket : sockets_) ::close(socket);
}

void HttpStub::serve() {
  while (!is_ending_) {
    const int socket = ::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC);
    if (socket < 0) break;
    sockets_.push_back(socket);
    talkers_.emplace_back([this, socket, number = ++connections_] { talk(socket, number); });
  }
}

void HttpStub::talk(int socket, int number) {
  std::string pending;
  StubRequest request;
  while (receive(socket, &pending, &request)) {
    request.connection = number;
    std::string answer;
    {
      const std::lock_guard lock(handling_);
      answer = handler_(request);
    }
    if (answer.empty() || !send_all(socket, answer)) break;
    request = {};
  }
  ::shutdown(socket, SHUT_RDWR);
}

}  // namespace nvab::test
