// SPDX-License-Identifier: Apache-2.0
// HTTP requests by libcurl, which is loaded at the first use: a program that makes none does not
// pay for it and its thirty libraries at start.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/deadline.hh"
#include "common/base/result.hh"
#include "common/base/time.hh"

namespace nvab {

struct HttpOptions {
  Duration timeout = std::chrono::seconds(60);          // of one request as a whole
  Duration connect_timeout = std::chrono::seconds(10);  // until there is a connection
  std::string unix_socket;                              // to connect to, instead of the URL's host
  std::string ca_file;                         // of authorities to trust, instead of the system's
  std::string client_certificate, client_key;  // PEM files
  // What the server is called in its certificate, where that is not the URL's host: asked for in
  // the handshake and in the Host header.
  std::string server_name;
  std::string tls_minimum;  // "1.2" or "1.3"; empty: libcurl's
  // "http://host:3128"; empty: what the environment says (https_proxy, no_proxy); "none": none.
  std::string proxy;
  std::string proxy_login;  // "user:password": never in a message
  // An answer that is larger, unpacked, is an error: nothing that we ask for is.
  std::size_t max_answer = std::size_t{256} * 1024 * 1024;
};

struct HttpRequest {
  std::string method = "GET";
  std::string url;
  std::vector<std::string> headers;  // "Name: value"
  // The same, for credentials: they stay with the URL's own scheme, host and port whatever a
  // redirect says, and never stand in a message.
  std::vector<std::string> secret_headers = {};
  std::string body = {};
  // Given: takes the body of a 2xx answer, unpacked, in pieces; false ends the transfer.
  std::function<bool(std::string_view piece)> on_body = {};
};

struct HttpAnswer {
  int status = 0;
  std::string body;          // what on_body did not take
  std::string retry_after;   // the header, where there is one
  std::string content_type;  // likewise
  std::uint64_t bytes = 0;   // of the body, unpacked
  bool was_stopped = false;  // on_body ended it
};

// Connections are kept and used again. For one thread at a time. Redirects to where the URL points
// already are followed; to other hosts only where the request carries no credentials, neither
// secret headers nor a certificate.
class HttpClient {
 public:
  // Errors: unavailable (libcurl is not on this machine).
  static Result<HttpClient> create(HttpOptions options);
  HttpClient(HttpClient&&) noexcept;
  HttpClient& operator=(HttpClient&&) noexcept;
  ~HttpClient();

  // Any answer is a success, whatever its status. Errors: timeout, unavailable (nobody there, the
  // connection broke, the answer is too large), permission (certificates; a redirect that would
  // take credentials elsewhere), malformed (the URL).
  Result<HttpAnswer> send(const HttpRequest& request, Deadline deadline = {});

 private:
  struct Impl;
  explicit HttpClient(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// "https://host:8443" of a URL, lower case, with the port also where it is the scheme's; empty for
// what is no http or https URL or names a user.
std::string url_origin(std::string_view url);
// With every byte but letters, digits and "-._~" as %XX (RFC 3986).
std::string url_escape(std::string_view text);
// Without query and fragment, for messages.
std::string_view url_shown(std::string_view url);

}  // namespace nvab
