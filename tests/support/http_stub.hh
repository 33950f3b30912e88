// SPDX-License-Identifier: Apache-2.0
// A server of plain sockets for tests of clients: hands each request to the test's function and
// sends back exactly the bytes that it returns, however wrong they are.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "common/base/file.hh"

namespace nvab::test {

struct StubRequest {
  std::string method, target, body;
  std::map<std::string, std::string> headers;  // lower-case names
  int connection = 0;                          // from 1, in the order of their coming
  std::string header(const std::string& name) const {
    const auto found = headers.find(name);
    return found == headers.end() ? "" : found->second;
  }
};

// An answer as text; `head` are further header lines, each with \r\n.
std::string stub_answer(int status, const std::string& body, const std::string& head = {});

class HttpStub {
 public:
  // Called by a thread a connection, one at a time; an empty answer closes the connection.
  using Handler = std::function<std::string(const StubRequest&)>;
  explicit HttpStub(Handler handler);
  ~HttpStub();
  HttpStub(const HttpStub&) = delete;
  HttpStub& operator=(const HttpStub&) = delete;

  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  int port() const { return port_; }
  int connections() const { return connections_; }

 private:
  void serve();
  void talk(int socket, int number);

  Handler handler_;
  std::mutex handling_;
  Fd listener_;
  int port_ = 0;
  std::atomic<int> connections_ = 0;
  std::atomic<bool> is_ending_ = false;
  std::vector<int> sockets_;
  std::vector<std::thread> talkers_;
  std::thread server_;
};

}  // namespace nvab::test
