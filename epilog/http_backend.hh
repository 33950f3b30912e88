// SPDX-License-Identifier: Apache-2.0
// A server that connectors and outputs talk to (Loki, Prometheus, a receiver of results): its URL,
// credentials, proxy and limits from settings, and patience with it. A component declares
//
//   constexpr auto kParams = with_backend_params({{.name = "query", .help = "…"}});
//
// opens a backend from its settings, and sends. None of this writes a secret anywhere.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/http.hh"
#include "common/base/http_retry.hh"
#include "common/base/settings.hh"
#include "common/model/result.hh"
#include "epilog/auth/credentials.hh"
#include "epilog/backend_slots.hh"
#include "epilog/host.hh"

namespace nvab {

inline constexpr ParamSpec kBackendParams[] = {
    {.name = "url",
     .help = "Where it is: http://HOST:PORT or https://…, with a path if it has one"},
    {.name = "auth", .type = ParamType::list, .help = "Credentials: NAME of an [auth.….NAME]"},
    {.name = "ca_file",
     .type = ParamType::path,
     .help = "PEM file of the authorities of its certificate (default: the system's)"},
    {.name = "proxy",
     .help = "http://HOST:PORT, or none (default: https_proxy and no_proxy of the environment)"},
    {.name = "proxy_auth", .help = "Credentials for the proxy: NAME of an [auth.basic.NAME]"},
    {.name = "headers", .type = ParamType::list, .help = "Further headers, each NAME: VALUE"},
    {.name = "connect_timeout",
     .type = ParamType::duration,
     .fallback = "5s",
     .help = "Time that connecting may take"},
    {.name = "request_timeout",
     .type = ParamType::duration,
     .fallback = "60s",
     .help = "Time that one request may take"},
    {.name = "attempts",
     .type = ParamType::integer,
     .fallback = "5",
     .help = "How often one request is tried while the server is busy or away",
     .low = 1,
     .high = 100},
    {.name = "max_concurrent",
     .type = ParamType::integer,
     .fallback = "4",
     .help = "Requests that all runners here make at it at a time; 0 for any number",
     .high = 1000},
};

// The component's own parameters and those of a backend.
template <std::size_t N>
consteval auto with_backend_params(const ParamSpec (&own)[N]) {
  std::array<ParamSpec, N + std::size(kBackendParams)> all{};
  std::size_t at = 0;
  for (const ParamSpec& param : kBackendParams) all[at++] = param;
  for (const ParamSpec& param : own) all[at++] = param;
  return all;
}

// What a backend was asked for so far: for the details of reports.
struct BackendUsage {
  std::uint64_t requests = 0, retries = 0;
  std::uint64_t bytes = 0;  // of answers, unpacked
};

// For one thread at a time; keeps its connections.
class HttpBackend {
 public:
  // By the parameters above, and the credentials that Host::settings has. Errors: malformed
  // (settings, also credentials that would go over plain http), not_found, permission (files of
  // credentials), unavailable (no libcurl).
  static Result<HttpBackend> open(const ComponentSettings& settings, const Host& host);

  // Sent with every request from now on.
  void add_header(std::string line) { headers_.push_back(std::move(line)); }

  // `request.url` is what comes behind the backend's own URL: "/api/v1/query?…". Tried again, with
  // pauses, as http_retry.hh says, as long as its on_body has not been called; and once at once
  // where a 401 meets credentials that have just changed. Any other answer is a success; see
  // answer_error(). Errors as of HttpClient::send(), those of reading a secret, and timeout where
  // other runners have all turns at the server.
  Result<HttpAnswer> send(HttpRequest request, Deadline deadline);

  const std::string& url() const { return url_; }
  const BackendUsage& usage() const { return usage_; }

 private:
  HttpBackend(HttpClient client, std::string url, int max_concurrent)
      : client_(std::move(client)),
        url_(std::move(url)),
        slots_(BackendSlots::usual_folder(), url_origin(url_), max_concurrent) {}
  Result<HttpAnswer> send_once(const HttpRequest& request, Deadline deadline);
  Result<void> authorize(HttpRequest* request);

  HttpClient client_;
  std::string url_;  // without a slash at its end
  BackendSlots slots_;
  std::vector<std::string> headers_;
  std::vector<std::unique_ptr<Credentials>> credentials_;
  RetryPolicy retry_;
  BackendUsage usage_;
};

// An answer that is no success, as an error: permission (401, 403, a refused certificate),
// not_found, malformed (400, 422), unavailable (it may pass, or is too large), else internal; with
// the server's own words, made harmless and short.
Error answer_error(std::string_view doing, const HttpAnswer& answer);
// How a collector reports such trouble.
ConnectorStatus connector_status(Error::Code code);

}  // namespace nvab
