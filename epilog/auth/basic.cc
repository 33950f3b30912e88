// SPDX-License-Identifier: Apache-2.0
// User and password (RFC 7617).
#include <memory>
#include <utility>

#include "common/base/encode.hh"
#include "epilog/auth/secret.hh"
#include "epilog/connector.hh"

namespace nvab {
namespace {

class Basic final : public Credentials {
 public:
  Basic(std::string user, Secret password, bool insecure)
      : user_(std::move(user)), password_(std::move(password)), insecure_(insecure) {}

  Result<void> authorize(HttpRequest* request) override {
    auto password = password_.read();
    if (!password) return tl::unexpected<Error>(password.error());
    request->secret_headers.push_back("Authorization: Basic " + base64(user_ + ":" + *password));
    return {};
  }
  bool may_go_unencrypted() const override { return insecure_; }

 private:
  std::string user_;
  Secret password_;
  bool insecure_;
};

constexpr ParamSpec kParams[] = {
    {.name = "user", .help = "The user"},
    {.name = "password_file",
     .type = ParamType::path,
     .help = "File with the password, read again when it changes"},
    {.name = "password", .help = "The password itself, from the environment only", .secret = true},
    {.name = "insecure",
     .type = ParamType::boolean,
     .fallback = "false",
     .help = "Also send it over plain http, where others can read it"},
};

Result<std::unique_ptr<Credentials>> open_basic(const ComponentSettings& settings, Host&) {
  const std::string& user = settings.text("user");
  if (user.empty() || user.find(':') != std::string::npos) {
    return fail(Error::Code::malformed, settings.full_name() + " wants a user, without ':'");
  }
  auto password = Secret::open(settings, "password");
  if (!password) return tl::unexpected<Error>(password.error());
  return std::make_unique<Basic>(user, std::move(*password), settings.flag("insecure"));
}

}  // namespace

extern const AuthComponent auth_basic;
constinit const AuthComponent auth_basic = {
    .spec = {.framework = "auth", .name = "basic", .help = "User and password", .params = kParams},
    .query = nullptr,
    .open = open_basic,
};

}  // namespace nvab
