// SPDX-License-Identifier: Apache-2.0
// See web_settings.hh.
#include "service/web/web_settings.hh"

#include "common/base/build_info.hh"
#include "common/base/file.hh"
#include "common/base/text.hh"
#include "service/listener.hh"

namespace nvab {
namespace {

constexpr std::size_t kMaxTokenFile = 64 * 1024;
// As for nvab-service: shorter ones can be guessed.
constexpr std::size_t kMinToken = 16;

constexpr ParamSpec kParams[] = {
    {.name = "listen",
     .type = ParamType::list,
     .fallback = "127.0.0.1:8001",
     .help = "Where to serve: HOST:PORT, [IPV6]:PORT, unix:PATH; several are possible"},
    {.name = "socket_mode", .fallback = "0660", .help = "Rights of Unix sockets, octal"},
    {.name = "threads",
     .type = ParamType::integer,
     .fallback = "4",
     .help = "That answer requests",
     .low = 1,
     .high = 64},
    {.name = "db",
     .type = ParamType::path,
     .help = "The result database that nvab-run writes (default: results.db in the state folder)"},
    {.name = "annotations",
     .type = ParamType::path,
     .help = "Database for what people say about verdicts; without it they cannot"},
    {.name = "queue",
     .type = ParamType::path,
     .help = "The runner's queue, to show what waits in it"},
    {.name = "prefix", .help = "Path below which a proxy serves the page, such as /nvab"},
    {.name = "token_file",
     .type = ParamType::path,
     .help = "Tokens that are good here, one a line; without, everybody may look"},
    {.name = "page",
     .type = ParamType::path,
     .help = "Folder of the page's files (default: where they were installed)"},
    {.name = "chart_library",
     .type = ParamType::path,
     .help = "Chart.js, as one file (default: Debian's)"},
};

Result<std::vector<std::string>> read_tokens(const std::string& path) {
  const auto text = read_file(path, kMaxTokenFile);
  if (!text) return fail("web.token_file", text.error());
  std::vector<std::string> tokens;
  for (const std::string_view raw : split(*text, '\n')) {
    const std::string_view line = trim(raw);
    if (line.empty() || line.front() == '#') continue;
    if (line.size() < kMinToken || line.find_first_of(" ;,\"") != std::string_view::npos) {
      return fail(Error::Code::malformed,
                  "web.token_file: a token needs 16 characters at least, without blanks, quotes, "
                  "commas or semicolons");
    }
    tokens.emplace_back(line);
  }
  if (tokens.empty()) return fail(Error::Code::malformed, "web.token_file: holds no token");
  return tokens;
}

std::string or_else(const std::string& text, std::string_view folder, const char* name) {
  return text.empty() ? std::string(folder) + name : text;
}

}  // namespace

constinit const ComponentSpec web_spec = {
    .framework = "web", .name = "", .help = "The dashboard", .params = kParams};

Result<WebOptions> read_web_settings(const ComponentSettings& section) {
  WebOptions options;
  options.listen = section.list("listen");
  options.threads = static_cast<unsigned>(section.integer("threads"));
  const auto mode = parse_socket_mode(section.text("socket_mode"));
  if (!mode)
    return fail(Error::Code::malformed, "web.socket_mode: wants octal digits such as 0660");
  options.socket_mode = *mode;
  WebSettings& web = options.web;
  web.database = or_else(section.text("db"), build_info().state_dir, "/results.db");
  web.annotations = section.text("annotations");
  web.queue = section.text("queue");
  web.page = or_else(section.text("page"), build_info().data_dir, "/web");
  web.chart_library = or_else(section.text("chart_library"), build_info().chart_library, "");
  web.prefix = section.text("prefix");
  while (web.prefix.ends_with('/')) web.prefix.pop_back();
  if (!web.prefix.empty() && !web.prefix.starts_with('/')) {
    return fail(Error::Code::malformed, "web.prefix: begins with a slash, as in /nvab");
  }
  if (!section.text("token_file").empty()) {
    auto tokens = read_tokens(section.text("token_file"));
    if (!tokens) return tl::unexpected(tokens.error());
    web.tokens = std::move(*tokens);
  }
  return options;
}

}  // namespace nvab
