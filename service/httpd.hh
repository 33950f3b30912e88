// SPDX-License-Identifier: Apache-2.0
// HTTP/1.1 by libmicrohttpd, whose only user this is. It knows sockets and bytes; what a request
// means is the HttpApp's.
//
// Poll mode with a pool of threads: libmicrohttpd's epoll mode falls to some hundred requests a
// second at 128 busy connections and more (0.9.75).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "common/base/file.hh"
#include "common/base/result.hh"
#include "common/base/time.hh"
#include "service/connections.hh"
#include "service/http.hh"

namespace nvab {

// How an exchange ended, for metrics and logs.
struct Exchange {
  int status = 0;                             // 0: the client was gone before there was an answer
  std::uint64_t bytes_in = 0, bytes_out = 0;  // bodies
  Duration took{0};
};

// What answers. All functions are called from any thread, several at once; exceptions become 500.
class HttpApp {
 public:
  virtual ~HttpApp() = default;
  // With the head alone: the answer, if that can be known already, so that nobody sends a body in
  // vain.
  virtual std::optional<Response> begin(Request& head) = 0;
  // How large the body of an admitted request may be.
  virtual std::size_t body_limit(const Request& head) const = 0;
  virtual Response handle(Request& request) = 0;
  // Once for each request whose head came, whatever became of it.
  virtual void done(const Request& request, const Exchange& exchange) = 0;
};

// What all request bodies together may take in memory.
class BodyBudget {
 public:
  explicit BodyBudget(std::uint64_t limit) : limit_(limit) {}
  bool take(std::uint64_t bytes) {
    if (used_.fetch_add(bytes, std::memory_order_relaxed) + bytes <= limit_) return true;
    give(bytes);
    return false;
  }
  void give(std::uint64_t bytes) { used_.fetch_sub(bytes, std::memory_order_relaxed); }
  std::uint64_t used() const { return used_.load(std::memory_order_relaxed); }

 private:
  const std::uint64_t limit_;
  std::atomic<std::uint64_t> used_{0};
};

// PEM texts; empty certificate: no TLS. With a client_ca, clients must show a certificate of it.
struct TlsFiles {
  std::string certificate, key, client_ca;
};

struct HttpdOptions {
  Door door = Door::network;
  unsigned threads = 4;
  std::size_t header_bytes = 32 * 1024;  // memory of a connection: bounds the head of a request
  std::chrono::seconds silence{0};       // of a connection that neither sends nor takes a byte
  std::size_t connections = 0;           // the library's own limit, above that of the table
  TlsFiles tls;
};

struct HttpServer;

// Serves from its start to its end, in threads of its own. Table, budget and app must outlive it.
class Httpd {
 public:
  static Result<std::unique_ptr<Httpd>> start(Fd listener, const HttpdOptions& options,
                                              ConnectionTable& table, BodyBudget& budget,
                                              HttpApp& app);
  // Stops listening; requests that came go on.
  void stop_accepting();
  // Ends all threads; what is still open is cut.
  ~Httpd();

 private:
  explicit Httpd(std::unique_ptr<HttpServer> server);
  std::unique_ptr<HttpServer> server_;
};

}  // namespace nvab
