// SPDX-License-Identifier: Apache-2.0
// A service that judges, as an Attributor (API v2). Same calls, same verdict as the engine here.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "common/base/http.hh"
#include "epilog/attributor.hh"

namespace nvab {

struct ServiceOptions {
  std::string url;  // "http://host:8000", "https://…", "unix:/path"
  std::string ruleset = "default";
  std::string token;  // bearer token; empty: none is sent
  HttpOptions http;
  bool join = false;  // post into a session that somebody else has opened
  int attempts = 4;   // of one request
  Duration first_pause = std::chrono::milliseconds(200);  // before the second; doubles
};

// `own_digest` is that of the rules by which collectors here select lines. Errors: malformed (the
// URL), unavailable (no libcurl).
Result<std::unique_ptr<Attributor>> make_http_attributor(ServiceOptions options,
                                                         std::string own_digest);

// Calls `visit` with each open session about the job of this raw id, and the context that it is
// about, as a client that joins: the sessions are others', and stay. `cluster` may be empty: any.
// The number of sessions. Errors: those of the service; `visit` may have been called before.
using JobVisitor = std::function<void(const ExecutionContext& context, Session& session)>;
Result<int> join_sessions_of_job(const ServiceOptions& options, const std::string& own_digest,
                                 std::uint32_t job_id, const std::string& cluster,
                                 const JobVisitor& visit);

// Makes a URL with a scheme, a host and no slash at its end out of options.url, and of "unix:PATH"
// the socket. Errors: malformed.
Result<ServiceOptions> normalized(ServiceOptions options);

}  // namespace nvab
