// SPDX-License-Identifier: Apache-2.0
// See http_load.hh.
#include "tests/support/http_load.hh"

#include <arpa/inet.h>
#include <fmt/core.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "common/base/file.hh"
#include "common/base/text.hh"

namespace nvab::test {
namespace {

using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

Fd connect_to(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  sockaddr_in to = {};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<std::uint16_t>(parse_int(address.substr(colon + 1)).value_or(0)));
  ::inet_pton(AF_INET, address.substr(0, colon).c_str(), &to.sin_addr);
  Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (::connect(fd.get(), reinterpret_cast<sockaddr*>(&to), sizeof(to)) != 0) return {};
  const int one = 1;
  ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
  return fd;
}

struct Peer {
  Fd fd;
  std::string out, in;
  std::size_t sent = 0;
  Clock::time_point begin;
  bool is_waiting = false;
};

class Load {
 public:
  explicit Load(const LoadPlan& plan)
      : plan_(plan), peers_(static_cast<std::size_t>(plan.connections)) {}
  LoadResult run();

 private:
  void send_next(int index);
  void flush(int index);
  void receive(int index);
  bool take_answer(int index);
  void broken(int index);
  void watch(int index, int operation, bool for_writing);

  const LoadPlan& plan_;
  std::vector<Peer> peers_;
  Fd epoll_{::epoll_create1(EPOLL_CLOEXEC)};
  LoadResult result_;
  Clock::time_point begin_ = Clock::now();
  long begun_ = 0;
  int waiting_ = 0;
};

void Load::watch(int index, int operation, bool for_writing) {
  epoll_event event = {};
  event.events = EPOLLIN | (for_writing ? EPOLLOUT : 0U);
  event.data.u32 = static_cast<std::uint32_t>(index);
  ::epoll_ctl(epoll_.get(), operation, peers_[static_cast<std::size_t>(index)].fd.get(), &event);
}

void Load::broken(int index) {
  Peer& peer = peers_[static_cast<std::size_t>(index)];
  ++result_.failures;
  waiting_ -= peer.is_waiting ? 1 : 0;
  peer.is_waiting = false;
  peer.fd = Fd();
}

void Load::send_next(int index) {
  Peer& peer = peers_[static_cast<std::size_t>(index)];
  const bool is_over = ms_since(begin_) >= static_cast<double>(plan_.time.count()) ||
                       (plan_.calls >= 0 && begun_ >= plan_.calls);
  if (is_over) return;
  ++begun_;
  peer.out = plan_.next(index);
  peer.sent = 0;
  peer.begin = Clock::now();
  peer.is_waiting = true;
  ++waiting_;
  flush(index);
}

void Load::flush(int index) {
  Peer& peer = peers_[static_cast<std::size_t>(index)];
  while (peer.sent < peer.out.size()) {
    const ssize_t sent = ::send(peer.fd.get(), peer.out.data() + peer.sent,
                                peer.out.size() - peer.sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EAGAIN) return watch(index, EPOLL_CTL_MOD, true);
    if (sent <= 0) return broken(index);
    peer.sent += static_cast<std::size_t>(sent);
  }
  watch(index, EPOLL_CTL_MOD, false);
}

// False while the answer is not complete.
bool Load::take_answer(int index) {
  Peer& peer = peers_[static_cast<std::size_t>(index)];
  const std::size_t end = peer.in.find("\r\n\r\n");
  if (end == std::string::npos) return false;
  const std::string head = lower(std::string_view(peer.in).substr(0, end));
  std::size_t size = 0;
  constexpr std::string_view kLength = "content-length:";
  if (const std::size_t at = head.find(kLength); at != std::string::npos) {
    const std::size_t line_end = head.find('\r', at);
    const auto number = head.substr(at + kLength.size(), line_end - at - kLength.size());
    size = static_cast<std::size_t>(parse_int(trim(number)).value_or(0));
  }
  if (peer.in.size() < end + 4 + size) return false;
  const int status = static_cast<int>(parse_int(head.substr(9, 3)).value_or(0));
  const double took = ms_since(peer.begin);
  ++result_.calls;
  ++result_.of_connection[static_cast<std::size_t>(index)];
  result_.failures += status >= 400 ? 1 : 0;
  result_.latency_ms.push_back(took);
  result_.longest_gap_ms = std::max(result_.longest_gap_ms, took);
  peer.is_waiting = false;
  --waiting_;
  if (plan_.answered) {
    plan_.answered(index, status, std::string_view(peer.in).substr(end + 4, size));
  }
  peer.in.erase(0, end + 4 + size);
  return true;
}

void Load::receive(int index) {
  Peer& peer = peers_[static_cast<std::size_t>(index)];
  std::array<char, 65536> block;
  while (peer.fd) {
    const ssize_t got = ::recv(peer.fd.get(), block.data(), block.size(), MSG_DONTWAIT);
    if (got < 0 && errno == EAGAIN) return;
    if (got <= 0) return broken(index);
    peer.in.append(block.data(), static_cast<std::size_t>(got));
    if (peer.is_waiting && take_answer(index)) return send_next(index);
  }
}

LoadResult Load::run() {
  result_.of_connection.resize(peers_.size());
  for (int i = 0; i < plan_.connections; ++i) {
    Peer& peer = peers_[static_cast<std::size_t>(i)];
    peer.fd = connect_to(plan_.address);
    if (!peer.fd) {
      ++result_.failures;
      continue;
    }
    watch(i, EPOLL_CTL_ADD, false);
  }
  begin_ = Clock::now();
  for (int i = 0; i < plan_.connections; ++i) {
    if (peers_[static_cast<std::size_t>(i)].fd) send_next(i);
  }
  constexpr int kMaxWaitMs = 10'000;  // for an answer, after which the server is given up
  std::array<epoll_event, 256> events;
  while (waiting_ > 0) {
    const int count =
        ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), kMaxWaitMs);
    if (count <= 0) {
      result_.failures += waiting_;
      break;
    }
    for (int i = 0; i < count; ++i) {
      const epoll_event& event = events[static_cast<std::size_t>(i)];
      const int index = static_cast<int>(event.data.u32);
      if ((event.events & EPOLLOUT) != 0) flush(index);
      if ((event.events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) receive(index);
    }
  }
  result_.seconds = ms_since(begin_) / 1000;
  std::sort(result_.latency_ms.begin(), result_.latency_ms.end());
  return std::move(result_);
}

}  // namespace

double LoadResult::percentile(double part) const {
  if (latency_ms.empty()) return 0;
  const auto at = static_cast<std::size_t>(part * static_cast<double>(latency_ms.size() - 1));
  return latency_ms[at];
}

LoadResult run_load(const LoadPlan& plan) { return Load(plan).run(); }

std::string http_request(std::string_view method, std::string_view target, std::string_view body) {
  std::string request = fmt::format("{} {} HTTP/1.1\r\nHost: bench\r\n", method, target);
  if (!body.empty()) {
    request += fmt::format("Content-Type: application/json\r\nContent-Length: {}\r\n", body.size());
  }
  request += "\r\n";
  request += body;
  return request;
}

}  // namespace nvab::test
