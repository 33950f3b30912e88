// SPDX-License-Identifier: Apache-2.0
// Opening a server that speaks PromQL by its settings, and trying it.
#pragma once

#include "common/base/settings.hh"
#include "epilog/http_backend.hh"
#include "epilog/probe.hh"

namespace nvab {

// Errors: as of HttpBackend::open(), and for a tenant that is no header.
Result<HttpBackend> open_promql_backend(const ComponentSettings& settings, const Host& host);

// For --doctor: the server's clock, and whether it knows the exporters that rules look at.
ProbeFindings probe_promql(const ComponentSettings& settings, Host& host);

}  // namespace nvab
