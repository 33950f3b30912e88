// SPDX-License-Identifier: Apache-2.0
// How a service that judges is talked to (API v2): requests with our credentials, repeated while
// that may help.
#pragma once

#include <string>
#include <string_view>

#include "common/base/deadline.hh"
#include "common/base/http.hh"
#include "common/base/json.hh"
#include "common/base/result.hh"
#include "epilog/attributor_http.hh"

namespace nvab {

inline constexpr std::string_view kSessionsPath = "/v2/attributor";

// What an answer that is no success says, with the code that fits its status.
Error http_error(const std::string& doing, const HttpAnswer& answer);

// One connection, kept open between requests. For one thread.
class ServiceConnection {
 public:
  // `options` must outlive it.
  ServiceConnection(HttpClient client, const ServiceOptions& options)
      : client_(std::move(client)), options_(&options) {}

  HttpRequest request(std::string method, const std::string& path, std::string body = {}) const;
  // Any answer that does not ask for patience; `was_repeated` when an earlier try may have arrived.
  // With a deadline it is sent even when the run was told to end. Errors: as of HttpClient::send(),
  // and unavailable when the run was told to end.
  Result<HttpAnswer> send(HttpRequest request, bool* was_repeated = nullptr,
                          Deadline deadline = {});
  // The document that GET has. Errors: also http_error().
  Result<Json> get(const std::string& doing, const std::string& path, Deadline deadline = {});
  const ServiceOptions& options() const { return *options_; }
  // Lets go of the client, for another session.
  HttpClient take_client() { return std::move(client_); }

 private:
  HttpClient client_;
  const ServiceOptions* options_;
};

}  // namespace nvab
