// SPDX-License-Identifier: Apache-2.0
// HTTP requests by libcurl, which is loaded at the first use: a program that makes none does not
// pay for it and its thirty libraries at start.
#pragma once

#include <cstddef>
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
  Duration timeout = std::chrono::seconds(60);  // of one request as a whole
  std::string unix_socket;                      // to connect to, instead of the URL's host
  std::string ca_file;                          // of authorities to trust, instead of the system's
  std::string client_certificate, client_key;   // PEM files
  // An answer that is larger is an error: nothing that we ask for is.
  std::size_t max_answer = std::size_t{256} * 1024 * 1024;
};

struct HttpRequest {
  std::string method = "GET";
  std::string url;
  std::vector<std::string> headers;  // "Name: value"
  std::string body;
};

struct HttpAnswer {
  int status = 0;
  std::string body;
  std::string retry_after;  // the header, where there is one
};

// Connections are kept and used again. For one thread at a time.
class HttpClient {
 public:
  // Errors: unavailable (libcurl is not on this machine).
  static Result<HttpClient> create(HttpOptions options);
  HttpClient(HttpClient&&) noexcept;
  HttpClient& operator=(HttpClient&&) noexcept;
  ~HttpClient();

  // Any answer is a success, whatever its status. Errors: timeout, unavailable (nobody there, the
  // connection broke), permission (certificates), malformed (the URL).
  Result<HttpAnswer> send(const HttpRequest& request, Deadline deadline = {});

 private:
  struct Impl;
  explicit HttpClient(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace nvab
