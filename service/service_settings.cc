// SPDX-License-Identifier: Apache-2.0
// See service_settings.hh. Settings of a type that lets nonsense through are checked here.
#include "service/service_settings.hh"

#include <algorithm>
#include <thread>

#include "common/base/build_info.hh"
#include "common/base/text.hh"
#include "service/listener.hh"

namespace nvab {
namespace {

// Each default is a number here and a text in the table, where help and man page read it.
constexpr ParamSpec kParams[] = {
    {.name = "listen",
     .type = ParamType::list,
     .fallback = "127.0.0.1:8000",
     .help = "Where to serve: HOST:PORT, [IPV6]:PORT, unix:PATH; several are possible"},
    {.name = "admin_socket",
     .type = ParamType::path,
     .help = "Unix socket for the administrator's calls; none without"},
    {.name = "socket_mode", .fallback = "0660", .help = "Rights of Unix sockets, octal"},
    {.name = "state",
     .help = "memory, or sqlite:PATH (default: service.db in the state folder of the build)"},
    {.name = "durability",
     .fallback = "process",
     .help = "What acknowledged observations survive: the end of the process, or of the power",
     .choices = "process|power"},
    {.name = "rules_dir",
     .type = ParamType::path,
     .help = "Folder of the site's packs of the ruleset 'default' (default: rules.d beside the "
             "configuration)"},
    {.name = "rulesets",
     .type = ParamType::list,
     .help = "Further rulesets, each NAME=FOLDER; NAME may be 'default'"},
    // Each thread answers one request at a time; the rest of its connections wait meanwhile.
    {.name = "threads",
     .type = ParamType::integer,
     .fallback = "0",
     .help = "That serve requests; 0: twice the processors, at least 4",
     .high = 256},
    // 64 MiB is a whole log as one observation; runners send 1 MiB.
    {.name = "max_body",
     .type = ParamType::bytes,
     .fallback = "64M",
     .help = "Of an observation, before and after decoding"},
    // 100,000 nodes with their GPUs and steps.
    {.name = "max_workload",
     .type = ParamType::bytes,
     .fallback = "16M",
     .help = "Of a body that creates or changes a session"},
    {.name = "max_body_memory",
     .type = ParamType::bytes,
     .fallback = "512M",
     .help = "Of all bodies that are being received or read together"},
    {.name = "max_header",
     .type = ParamType::bytes,
     .fallback = "32K",
     .help = "Of the head of a request; memory of each connection"},
    {.name = "max_connections",
     .type = ParamType::integer,
     .fallback = "4096",
     .help = "Of all clients; past it those that only wait are closed",
     .low = 4,
     .high = 1'000'000},
    {.name = "max_connections_per_client",
     .type = ParamType::integer,
     .fallback = "512",
     .help = "Of one address, this machine's own excepted; 0 for no limit",
     .high = 1'000'000},
    {.name = "connection_idle",
     .type = ParamType::duration,
     .fallback = "60s",
     .help = "After which a connection that waits for a request is closed"},
    {.name = "request_timeout",
     .type = ParamType::duration,
     .fallback = "60s",
     .help = "Time that a body has to arrive, and a client to take an answer"},
    {.name = "stop_timeout",
     .type = ParamType::duration,
     .fallback = "20s",
     .help = "Time that requests have to end when the service stops"},
    {.name = "max_sessions",
     .type = ParamType::integer,
     .fallback = "50000",
     .help = "Open at a time",
     .low = 1,
     .high = 100'000'000},
    // An estimate by what is kept of each observation; the process takes somewhat more.
    {.name = "max_session_memory",
     .type = ParamType::bytes,
     .fallback = "8G",
     .help = "Of all open sessions together"},
    {.name = "max_observations",
     .type = ParamType::integer,
     .fallback = "1000000",
     .help = "Of one session",
     .low = 1},
    {.name = "max_entries",
     .type = ParamType::integer,
     .fallback = "50000000",
     .help = "Of one session, all observations together",
     .low = 1},
    {.name = "session_idle",
     .type = ParamType::duration,
     .fallback = "24h",
     .help = "After which a session that nobody uses ends"},
    {.name = "session_age",
     .type = ParamType::duration,
     .fallback = "14d",
     .help = "After which any session ends"},
    {.name = "require_session_token",
     .type = ParamType::boolean,
     .fallback = "false",
     .help = "Refuse to delete or change a session without its token"},
    {.name = "token_file",
     .type = ParamType::path,
     .help = "Bearer tokens that are good here, one a line; without, none is demanded"},
    {.name = "tls_certificate",
     .type = ParamType::path,
     .help = "PEM file of the server's certificate and chain; with it, TCP is TLS only"},
    {.name = "tls_key", .type = ParamType::path, .help = "PEM file of its key"},
    {.name = "tls_client_ca",
     .type = ParamType::path,
     .help = "PEM file of authorities; clients must show a certificate of theirs"},
    {.name = "access_log",
     .type = ParamType::path,
     .help = "File for one JSON line a request; - for standard error; none without"},
};

// A PEM file or a list of tokens is small; a log given by mistake is not read.
constexpr std::size_t kMaxSecretFile = 1024 * 1024;
// Token lines shorter than this could be guessed.
constexpr std::size_t kMinToken = 16;

std::chrono::seconds seconds_of(const ComponentSettings& section, std::string_view name) {
  return std::chrono::ceil<std::chrono::seconds>(section.duration(name));
}

Result<void> read_text_file(const ComponentSettings& section, std::string_view name,
                            std::string* text) {
  const std::string& path = section.text(name);
  if (path.empty()) return {};
  auto read = read_file(path, kMaxSecretFile);
  if (!read) return fail("service." + std::string(name), read.error());
  *text = std::move(*read);
  return {};
}

Result<std::vector<std::string>> parse_tokens(const std::string& text) {
  std::vector<std::string> tokens;
  for (std::string_view line : split(text, '\n')) {
    line = trim(line);
    if (line.empty() || line.front() == '#') continue;
    if (line.size() < kMinToken) {
      return fail(Error::Code::malformed,
                  "service.token_file: a token is shorter than 16 characters");
    }
    tokens.emplace_back(line);
  }
  if (tokens.empty()) return fail(Error::Code::malformed, "service.token_file: holds no token");
  return tokens;
}

Result<void> read_secrets(const ComponentSettings& section, ServiceSettings* out) {
  for (const auto& [name, text] :
       {std::pair{"tls_certificate", &out->tls.certificate}, std::pair{"tls_key", &out->tls.key},
        std::pair{"tls_client_ca", &out->tls.client_ca}}) {
    if (auto done = read_text_file(section, name, text); !done) return done;
  }
  if (out->tls.certificate.empty() != out->tls.key.empty() ||
      (out->tls.certificate.empty() && !out->tls.client_ca.empty())) {
    return fail(Error::Code::malformed,
                "service.tls_certificate and service.tls_key belong together, and "
                "service.tls_client_ca to both");
  }
  if (section.text("token_file").empty()) return {};
  std::string text;
  if (auto done = read_text_file(section, "token_file", &text); !done) return done;
  auto tokens = parse_tokens(text);
  if (!tokens) return tl::unexpected(tokens.error());
  out->bearer_tokens = std::move(*tokens);
  return {};
}

Result<void> read_state(const ComponentSettings& section, ServiceSettings* out) {
  constexpr std::string_view kSqlite = "sqlite:";
  const std::string& state = section.text("state");
  if (state.empty()) {
    out->journal_path = std::string(build_info().state_dir) + "/service.db";
  } else if (state.substr(0, kSqlite.size()) == kSqlite && state.size() > kSqlite.size()) {
    out->journal_path = state.substr(kSqlite.size());
  } else if (state != "memory") {
    return fail(Error::Code::malformed,
                "service.state: wants memory or sqlite:PATH, not '" + state + "'");
  }
  if (section.text("durability") == "power") out->durability = Journal::Durability::power;
  return {};
}

Result<void> read_rulesets(const ComponentSettings& section, ServiceSettings* out) {
  std::string site = section.text("rules_dir");
  if (site.empty()) site = std::string(build_info().sysconf_dir) + "/rules.d";
  out->rulesets.push_back({"default", site});
  for (const std::string& item : section.list("rulesets")) {
    const std::size_t equals = item.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == item.size()) {
      return fail(Error::Code::malformed,
                  "service.rulesets: wants NAME=FOLDER, not '" + item + "'");
    }
    RulesetSource source{item.substr(0, equals), item.substr(equals + 1)};
    const auto same = std::find_if(out->rulesets.begin(), out->rulesets.end(),
                                   [&](const RulesetSource& s) { return s.name == source.name; });
    if (same != out->rulesets.end()) {
      *same = std::move(source);
    } else {
      out->rulesets.push_back(std::move(source));
    }
  }
  return {};
}

Result<void> read_doors(const ComponentSettings& section, ServiceSettings* out) {
  out->listen = section.list("listen");
  out->admin_socket = section.text("admin_socket");
  if (out->listen.empty()) return fail(Error::Code::malformed, "service.listen: is empty");
  for (const std::string& address : out->listen) {
    if (auto parsed = parse_listen(address); !parsed) {
      return fail("service.listen", parsed.error());
    }
  }
  const auto mode = parse_socket_mode(section.text("socket_mode"));
  if (!mode) {
    return fail(Error::Code::malformed, "service.socket_mode: wants an octal mode such as 0660");
  }
  out->socket_mode = *mode;
  return {};
}

void read_limits(const ComponentSettings& section, ServiceSettings* out) {
  out->threads = static_cast<unsigned>(section.integer("threads"));
  if (out->threads == 0) out->threads = std::max(4U, 2 * std::thread::hardware_concurrency());
  out->max_body = section.bytes("max_body");
  out->max_workload = section.bytes("max_workload");
  out->max_body_memory = section.bytes("max_body_memory");
  out->max_header = section.bytes("max_header");
  out->connections.connections = static_cast<std::size_t>(section.integer("max_connections"));
  out->connections.per_client =
      static_cast<std::size_t>(section.integer("max_connections_per_client"));
  out->connections.idle = seconds_of(section, "connection_idle");
  out->connections.request = seconds_of(section, "request_timeout");
  out->stop_timeout = seconds_of(section, "stop_timeout");
  out->store.sessions = static_cast<std::size_t>(section.integer("max_sessions"));
  out->store.memory = section.bytes("max_session_memory");
  out->store.each.observations = static_cast<std::uint64_t>(section.integer("max_observations"));
  out->store.each.entries = static_cast<std::uint64_t>(section.integer("max_entries"));
  out->store.idle = section.duration("session_idle");
  out->store.age = section.duration("session_age");
}

}  // namespace

constinit const ComponentSpec service_spec = {
    .framework = "service", .name = "", .help = "The service", .params = kParams};

Result<ServiceSettings> read_service_settings(const ComponentSettings& section) {
  ServiceSettings out;
  read_limits(section, &out);
  // Less than a few KiB and no request fits.
  constexpr std::size_t kMinHeader = 4096;
  if (out.max_header < kMinHeader) {
    return fail(Error::Code::malformed, "service.max_header: wants 4K at least");
  }
  out.require_session_token = section.flag("require_session_token");
  out.access_log = section.text("access_log");
  for (const auto read : {read_doors, read_state, read_rulesets, read_secrets}) {
    if (auto done = read(section, &out); !done) return tl::unexpected(done.error());
  }
  return out;
}

}  // namespace nvab
