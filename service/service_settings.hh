// SPDX-License-Identifier: Apache-2.0
// The section [service]: all that can be set, with the default of each limit (nvab-service(8)).
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "common/base/settings.hh"
#include "service/connections.hh"
#include "service/httpd.hh"
#include "service/journal.hh"
#include "service/rulesets.hh"
#include "service/session_store.hh"

namespace nvab {

extern const ComponentSpec service_spec;

struct ServiceSettings {
  std::vector<std::string> listen;
  std::string admin_socket;
  unsigned socket_mode = 0660;
  std::string journal_path;  // empty: memory only
  Journal::Durability durability = Journal::Durability::process;
  std::vector<RulesetSource> rulesets;

  unsigned threads = 0;
  std::size_t max_body = 0, max_workload = 0, max_header = 0;
  std::uint64_t max_body_memory = 0;
  ConnectionLimits connections;
  StoreLimits store;
  std::chrono::seconds stop_timeout{0};

  bool require_session_token = false;
  std::vector<std::string> bearer_tokens;  // empty: none is demanded
  TlsFiles tls;
  std::string access_log;
};

// Reads the files that the settings name. Errors: malformed, not_found, permission.
Result<ServiceSettings> read_service_settings(const ComponentSettings& section);

}  // namespace nvab
