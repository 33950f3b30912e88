// SPDX-License-Identifier: Apache-2.0
// Listening sockets: "127.0.0.1:8000", "[::1]:8000", "localhost:0", "unix:/run/nvab/service.sock".
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "common/base/file.hh"
#include "common/base/result.hh"

namespace nvab {

struct ListenAddress {
  std::string host, port;  // TCP
  std::string path;        // Unix socket; then host and port are empty
  bool is_unix() const { return !path.empty(); }
};
Result<ListenAddress> parse_listen(std::string_view text);

// Rights of a Unix socket as one writes them, "0660"; nothing for what is none, or gives none.
std::optional<unsigned> parse_socket_mode(std::string_view text);

// A listening socket, closed on exec. A Unix socket gets `mode`; one that nobody listens on any
// more is replaced, anything else at its path is an error. Errors: malformed (no such address),
// conflict (in use), permission.
Result<Fd> listen_on(const ListenAddress& address, unsigned mode);

// What it is bound to, as one would write it ("127.0.0.1:41234"): the port that 0 became.
std::string bound_to(const Fd& listener);

}  // namespace nvab
