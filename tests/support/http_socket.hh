// SPDX-License-Identifier: Apache-2.0
// A client of plain sockets for tests of servers: sends whatever bytes a test wants, however
// slowly, and reads answers. Blocking, with a timeout, so that a test fails instead of hanging.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/file.hh"

namespace nvab::test {

struct Answer {
  int status = 0;
  std::map<std::string, std::string> headers;  // lower-case names
  std::string body;
  std::string header(const std::string& name) const {
    const auto found = headers.find(name);
    return found == headers.end() ? "" : found->second;
  }
};

class HttpSocket {
 public:
  // "127.0.0.1:8000" or "unix:/path"; is_open() says whether it worked.
  explicit HttpSocket(const std::string& address);
  bool is_open() const { return static_cast<bool>(fd_); }
  // False when the other side has closed.
  bool send(std::string_view bytes);
  // The next whole answer; nothing when the connection ends, or nothing comes for 20 s, before it
  // is complete. `head_only` for answers to HEAD. 100 Continue is an answer of its own.
  std::optional<Answer> receive(bool head_only = false);
  // Sends a request and receives its answer. `head` are further header lines, each with \r\n.
  std::optional<Answer> ask(const std::string& method, const std::string& target,
                            std::string_view body = {}, const std::string& head = {});
  // Waits until the other side closes; true when it did within `seconds`.
  bool is_closed_within(int seconds);
  int fd() const { return fd_.get(); }

 private:
  bool fill();
  Fd fd_;
  std::string pending_;
};

}  // namespace nvab::test
