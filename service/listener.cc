// SPDX-License-Identifier: Apache-2.0
// See listener.hh.
#include "service/listener.hh"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "common/base/text.hh"

namespace nvab {
namespace {

// A burst of some thousand clients that connect at the same moment waits here; the kernel cuts it
// to net.core.somaxconn.
constexpr int kBacklog = 4096;

Result<sockaddr_un> unix_address(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) {
    return fail(Error::Code::malformed, "listening on unix:" + path + ": the path is too long");
  }
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return address;
}

// Whether the socket file was left by a process that is gone.
bool is_stale(const sockaddr_un& address) {
  struct stat status = {};
  if (::lstat(address.sun_path, &status) != 0 || !S_ISSOCK(status.st_mode)) return false;
  const Fd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  return ::connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) !=
             0 &&
         errno == ECONNREFUSED;
}

Result<Fd> listen_unix(const std::string& path, unsigned mode) {
  const std::string doing = "listening on unix:" + path;
  const auto address = unix_address(path);
  if (!address) return tl::unexpected(address.error());
  Fd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listener) return tl::unexpected(from_errno(errno, doing));
  if (is_stale(*address)) ::unlink(path.c_str());
  // The file must not be there with wider rights even for a moment.
  const mode_t before = ::umask(0777 & ~mode);
  const int bound =
      ::bind(listener.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof(*address));
  const int error = errno;
  ::umask(before);
  if (bound != 0) return tl::unexpected(from_errno(error, doing));
  if (::listen(listener.get(), kBacklog) != 0) return tl::unexpected(from_errno(errno, doing));
  return listener;
}

struct FreeAddresses {
  void operator()(addrinfo* list) const { ::freeaddrinfo(list); }
};

Result<Fd> listen_tcp(const ListenAddress& address) {
  const std::string doing = "listening on " + address.host + ":" + address.port;
  addrinfo hints = {};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int status = ::getaddrinfo(address.host.c_str(), address.port.c_str(), &hints, &found);
  if (status != 0) return fail(Error::Code::malformed, doing + ": " + ::gai_strerror(status));
  const std::unique_ptr<addrinfo, FreeAddresses> list(found);
  Fd listener(::socket(list->ai_family, list->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listener) return tl::unexpected(from_errno(errno, doing));
  const int on = 1;
  ::setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (::bind(listener.get(), list->ai_addr, list->ai_addrlen) != 0 ||
      ::listen(listener.get(), kBacklog) != 0) {
    Error error = from_errno(errno, doing);
    if (errno == EADDRINUSE) error.code = Error::Code::conflict;
    return tl::unexpected(std::move(error));
  }
  return listener;
}

}  // namespace

Result<ListenAddress> parse_listen(std::string_view text) {
  constexpr std::string_view kUnix = "unix:";
  ListenAddress address;
  if (text.substr(0, kUnix.size()) == kUnix && text.size() > kUnix.size()) {
    address.path = text.substr(kUnix.size());
    return address;
  }
  const std::size_t colon = text.rfind(':');
  std::string_view host = text.substr(0, colon);
  const long long port =
      colon == std::string_view::npos ? -1 : parse_int(text.substr(colon + 1)).value_or(-1);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string_view::npos) {
    host = {};
  }
  if (host.empty() || port < 0 || port > 65535) {
    return fail(Error::Code::malformed, "listening on '" + excerpt(sanitize(text), 100) +
                                            "': wants HOST:PORT, [IPV6]:PORT or unix:PATH");
  }
  address.host = host;
  address.port = std::to_string(port);
  return address;
}

Result<Fd> listen_on(const ListenAddress& address, unsigned mode) {
  return address.is_unix() ? listen_unix(address.path, mode) : listen_tcp(address);
}

std::string bound_to(const Fd& listener) {
  sockaddr_storage storage = {};
  socklen_t length = sizeof(storage);
  auto* address = reinterpret_cast<sockaddr*>(&storage);
  if (::getsockname(listener.get(), address, &length) != 0) return "?";
  char text[INET6_ADDRSTRLEN] = "";
  if (address->sa_family == AF_UNIX) {
    return std::string("unix:") + reinterpret_cast<const sockaddr_un*>(&storage)->sun_path;
  }
  if (address->sa_family == AF_INET6) {
    const auto* v6 = reinterpret_cast<const sockaddr_in6*>(&storage);
    ::inet_ntop(AF_INET6, &v6->sin6_addr, text, sizeof(text));
    return std::string("[") + text + "]:" + std::to_string(ntohs(v6->sin6_port));
  }
  const auto* v4 = reinterpret_cast<const sockaddr_in*>(&storage);
  ::inet_ntop(AF_INET, &v4->sin_addr, text, sizeof(text));
  return std::string(text) + ":" + std::to_string(ntohs(v4->sin_port));
}

std::optional<unsigned> parse_socket_mode(std::string_view text) {
  unsigned mode = 0;
  for (const char c : text) {
    if (c < '0' || c > '7') return std::nullopt;
    mode = mode * 8 + static_cast<unsigned>(c - '0');
    if (mode > 0777) return std::nullopt;
  }
  if (mode == 0) return std::nullopt;
  return mode;
}

}  // namespace nvab
