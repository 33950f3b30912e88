// SPDX-License-Identifier: Apache-2.0
// Mutual TLS: the server's certificate is checked, and ours is shown. The key itself never leaves
// this machine, so that there is no `insecure` here.
#include <memory>
#include <utility>

#include "common/base/file.hh"
#include "epilog/connector.hh"

namespace nvab {
namespace {

class MutualTls final : public Credentials {
 public:
  explicit MutualTls(HttpOptions options) : options_(std::move(options)) {}

  void prepare(HttpOptions* options) const override {
    if (!options_.ca_file.empty()) options->ca_file = options_.ca_file;
    options->client_certificate = options_.client_certificate;
    options->client_key = options_.client_key;
    options->server_name = options_.server_name;
    options->tls_minimum = options_.tls_minimum;
  }

 private:
  HttpOptions options_;
};

constexpr ParamSpec kParams[] = {
    {.name = "ca_file",
     .type = ParamType::path,
     .help = "PEM file of the authorities of the server's certificate (default: the system's)"},
    {.name = "certificate_file", .type = ParamType::path, .help = "PEM file of our certificate"},
    {.name = "key_file", .type = ParamType::path, .help = "PEM file of its key"},
    {.name = "server_name",
     .help = "Name in the server's certificate, where it is not the URL's host"},
    {.name = "min_version",
     .fallback = "1.2",
     .help = "Oldest version of TLS to speak",
     .choices = "1.2|1.3"},
};

// A file that cannot be read is named here: libcurl only says that something is wrong with it.
Result<void> check_readable(const ComponentSettings& settings, std::string_view param,
                            bool is_needed) {
  const std::string& path = settings.text(param);
  const std::string which = settings.full_name() + " " + std::string(param);
  if (path.empty() && is_needed) return fail(Error::Code::malformed, which + " is not set");
  if (path.empty()) return {};
  auto file = open_regular(path);
  if (!file) return fail(which, file.error());
  return {};
}

Result<std::unique_ptr<Credentials>> open_mtls(const ComponentSettings& settings, Host&) {
  for (const auto& [param, is_needed] :
       {std::pair("ca_file", false), std::pair("certificate_file", true),
        std::pair("key_file", true)}) {
    auto readable = check_readable(settings, param, is_needed);
    if (!readable) return tl::unexpected<Error>(readable.error());
  }
  HttpOptions options;
  options.ca_file = settings.text("ca_file");
  options.client_certificate = settings.text("certificate_file");
  options.client_key = settings.text("key_file");
  options.server_name = settings.text("server_name");
  options.tls_minimum = settings.text("min_version");
  if (options.server_name.find_first_of(":/[] ") != std::string::npos) {
    return fail(Error::Code::malformed,
                settings.full_name() + " server_name: wants a host's name without port");
  }
  return std::make_unique<MutualTls>(std::move(options));
}

}  // namespace

extern const AuthComponent auth_mtls;
constinit const AuthComponent auth_mtls = {
    .spec = {.framework = "auth",
             .name = "mtls",
             .help = "A certificate of our own (mutual TLS)",
             .params = kParams},
    .query = nullptr,
    .open = open_mtls,
};

}  // namespace nvab
