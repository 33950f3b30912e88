// SPDX-License-Identifier: Apache-2.0
// A bearer token (RFC 6750).
#include <memory>
#include <utility>

#include "epilog/auth/secret.hh"
#include "epilog/connector.hh"

namespace nvab {
namespace {

class Token final : public Credentials {
 public:
  Token(Secret secret, bool insecure) : secret_(std::move(secret)), insecure_(insecure) {}

  Result<void> authorize(HttpRequest* request) override {
    auto token = secret_.read();
    if (!token) return tl::unexpected<Error>(token.error());
    request->secret_headers.push_back("Authorization: Bearer " + *token);
    return {};
  }
  bool may_go_unencrypted() const override { return insecure_; }

 private:
  Secret secret_;
  bool insecure_;
};

constexpr ParamSpec kParams[] = {
    {.name = "token_file",
     .type = ParamType::path,
     .help = "File with the token, read again when it changes"},
    {.name = "token", .help = "The token itself, from the environment only", .secret = true},
    {.name = "insecure",
     .type = ParamType::boolean,
     .fallback = "false",
     .help = "Also send it over plain http, where others can read it"},
};

Result<std::unique_ptr<Credentials>> open_token(const ComponentSettings& settings, Host&) {
  auto secret = Secret::open(settings, "token");
  if (!secret) return tl::unexpected<Error>(secret.error());
  return std::make_unique<Token>(std::move(*secret), settings.flag("insecure"));
}

}  // namespace

extern const AuthComponent auth_token;
constinit const AuthComponent auth_token = {
    .spec = {.framework = "auth", .name = "token", .help = "A bearer token", .params = kParams},
    .query = nullptr,
    .open = open_token,
};

}  // namespace nvab
