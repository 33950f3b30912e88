// SPDX-License-Identifier: Apache-2.0
// See http_backend.hh.
#include "epilog/http_backend.hh"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "common/base/build_info.hh"
#include "common/base/json.hh"
#include "common/base/text.hh"
#include "epilog/auth/secret.hh"
#include "epilog/connector.hh"
#include "epilog/interrupt.hh"

namespace nvab {
namespace {

// Of a server's own words; what matters of an error page stands at its beginning.
constexpr std::size_t kMaxWords = 300;

Result<std::string> checked_url(const ComponentSettings& settings) {
  std::string url = settings.text("url");
  const std::string self = settings.full_name();
  if (url.empty()) {
    return fail(Error::Code::malformed, self + " has no url; set url = \"https://HOST:PORT\"");
  }
  while (url.ends_with('/')) url.pop_back();
  if (url_origin(url).empty() || url.find_first_of("?# ") != std::string::npos) {
    // It may hold a password: not shown.
    return fail(Error::Code::malformed,
                self +
                    " url: wants http://HOST:PORT or https://… without user, query and spaces; "
                    "credentials go into an [auth.basic.NAME]");
  }
  return url;
}

// The instance of any auth component that is called so.
Result<const ComponentSettings*> find_credentials(const ComponentSettings& settings,
                                                  const std::string& name, const Host& host) {
  const ComponentSettings* found = nullptr;
  for (const ComponentSettings* one : host.settings != nullptr
                                          ? host.settings->active("auth")
                                          : std::vector<const ComponentSettings*>()) {
    if (one->instance() != name) continue;
    if (found != nullptr) {
      return fail(Error::Code::malformed,
                  fmt::format("{} auth: both [{}] and [{}] are called {}", settings.full_name(),
                              found->full_name(), one->full_name(), name));
    }
    found = one;
  }
  if (found != nullptr) return found;
  return fail(Error::Code::malformed,
              fmt::format("{} auth: there is no [auth.token.{}], [auth.basic.{}] or [auth.mtls.{}]",
                          settings.full_name(), name, name, name));
}

// What may not go over plain http, be it that the certificate would not go at all.
Result<void> check_encrypted(const ComponentSettings& settings, const std::string& name,
                             const Credentials& credentials, const std::string& url) {
  if (starts_with_nocase(url, "https://") || credentials.may_go_unencrypted()) return {};
  return fail(
      Error::Code::malformed,
      fmt::format("{}: the url is plain http, over which the credentials '{}' are not sent; "
                  "use https://, or insecure = true with a token or password",
                  settings.full_name(), name));
}

Result<void> check_headers(const ComponentSettings& settings) {
  for (const std::string& line : settings.list("headers")) {
    const std::size_t colon = line.find(':');
    const bool is_good = colon != std::string::npos && colon > 0 &&
                         line.find_first_of("\r\n") == std::string::npos && line.find(' ') > colon;
    if (!is_good) {
      return fail(Error::Code::malformed, settings.full_name() + " headers: wants NAME: VALUE");
    }
    if (starts_with_nocase(line, "authorization:") || starts_with_nocase(line, "cookie:")) {
      return fail(Error::Code::malformed,
                  settings.full_name() + " headers: credentials go into an [auth.….NAME]");
    }
  }
  return {};
}

// "user:password" for the proxy, taken from the header that the credentials make for a server.
Result<std::string> proxy_login(const ComponentSettings& settings, const Host& host) {
  const std::string& name = settings.text("proxy_auth");
  if (name.empty()) return std::string();
  const auto found = find_credentials(settings, name, host);
  if (!found || (*found)->spec().name != "basic") {
    return fail(Error::Code::malformed,
                settings.full_name() + " proxy_auth: there is no [auth.basic." + name + "]");
  }
  auto password = Secret::open(**found, "password");
  if (!password) return tl::unexpected<Error>(password.error());
  auto text = password->read();
  if (!text) return text;
  return (*found)->text("user") + ":" + *text;
}

// The server's words: a member of a JSON body, or plain text; pages for people say nothing.
std::string words_of(const HttpAnswer& answer) {
  if (const auto json = Json::parse(answer.body); json && json->is_object()) {
    for (const char* key : {"error", "detail", "message", "msg"}) {
      if (const auto text = json->get(key).as_string()) return *text;
    }
    return "";
  }
  const bool is_page = answer.body.find("<html") != std::string::npos ||
                       answer.content_type.find("html") != std::string::npos;
  return is_page ? "" : answer.body;
}

// nginx and others answer 400 with a page of their own where our certificate is missing, expired or
// of another authority.
bool refuses_certificate(const HttpAnswer& answer) {
  return answer.status == 495 || answer.status == 496 ||
         (answer.status == 400 && answer.body.find("SSL certificate") != std::string::npos);
}

}  // namespace

Result<HttpBackend> HttpBackend::open(const ComponentSettings& settings, const Host& host) {
  auto url = checked_url(settings);
  if (!url) return tl::unexpected<Error>(url.error());
  auto headers = check_headers(settings);
  if (!headers) return tl::unexpected<Error>(headers.error());
  auto login = proxy_login(settings, host);
  if (!login) return tl::unexpected<Error>(login.error());
  HttpOptions options;
  options.timeout = settings.duration("request_timeout");
  options.connect_timeout = settings.duration("connect_timeout");
  options.ca_file = settings.text("ca_file");
  options.proxy = settings.text("proxy");
  options.proxy_login = std::move(*login);
  std::vector<std::unique_ptr<Credentials>> credentials;
  for (const std::string& name : settings.list("auth")) {
    const auto found = find_credentials(settings, name, host);
    if (!found) return tl::unexpected<Error>(found.error());
    Host none;  // credentials need nothing of it
    auto opened = find_component(auth_components(), (*found)->spec())->open(**found, none);
    if (!opened) return tl::unexpected<Error>(opened.error());
    auto safe = check_encrypted(settings, name, **opened, *url);
    if (!safe) return tl::unexpected<Error>(safe.error());
    (*opened)->prepare(&options);
    credentials.push_back(std::move(*opened));
  }
  auto client = HttpClient::create(std::move(options));
  if (!client) return tl::unexpected<Error>(client.error());
  HttpBackend backend(std::move(*client), std::move(*url),
                      static_cast<int>(settings.integer("max_concurrent")));
  backend.credentials_ = std::move(credentials);
  backend.headers_ = settings.list("headers");
  backend.headers_.push_back(fmt::format("User-Agent: nvab-run/{}", build_info().version));
  backend.retry_.attempts = static_cast<int>(settings.integer("attempts"));
  backend.retry_.is_over = [] { return interrupted_by() != 0; };
  return backend;
}

Result<void> HttpBackend::authorize(HttpRequest* request) {
  request->secret_headers.clear();
  for (const auto& credentials : credentials_) {
    auto done = credentials->authorize(request);
    if (!done) return done;
  }
  return {};
}

Result<HttpAnswer> HttpBackend::send_once(const HttpRequest& request, Deadline deadline) {
  const auto slot = slots_.take(deadline);
  if (!slot) return fail("asking " + url_, slot.error());
  ++usage_.requests;
  auto answer = client_.send(request, deadline);
  if (answer) usage_.bytes += answer->bytes;
  return answer;
}

Result<HttpAnswer> HttpBackend::send(HttpRequest request, Deadline deadline) {
  request.url = url_ + request.url;
  request.headers.insert(request.headers.end(), headers_.begin(), headers_.end());
  bool has_begun = false;
  if (request.on_body) {
    request.on_body = [&has_begun, take = std::move(request.on_body)](std::string_view piece) {
      has_begun = true;
      return take(piece);
    };
  }
  RetryPolicy policy = retry_;
  // What was taken once must not come twice.
  policy.is_over = [&] { return has_begun || (retry_.is_over && retry_.is_over()); };
  const std::uint64_t before = usage_.requests;
  auto answer = send_patiently(
      [&]() -> Result<HttpAnswer> {
        auto authorized = authorize(&request);
        if (!authorized) return tl::unexpected<Error>(authorized.error());
        auto first = send_once(request, deadline);
        if (!first || first->status != 401) return first;
        const std::vector<std::string> refused = request.secret_headers;
        authorized = authorize(&request);
        const bool is_new = authorized && request.secret_headers != refused;
        return is_new ? send_once(request, deadline) : std::move(first);
      },
      policy, deadline);
  if (usage_.requests > before) usage_.retries += usage_.requests - before - 1;
  return answer;
}

Error answer_error(std::string_view doing, const HttpAnswer& answer) {
  std::string words = excerpt(trim(sanitize(words_of(answer))), kMaxWords);
  std::replace(words.begin(), words.end(), '\n', ' ');
  Error::Code code = Error::Code::internal;
  if (answer.status == 401 || answer.status == 403) code = Error::Code::permission;
  if (answer.status == 404) code = Error::Code::not_found;
  if (answer.status == 400 || answer.status == 422) code = Error::Code::malformed;
  if (answer.status == 413 || may_pass(answer.status)) code = Error::Code::unavailable;
  if (refuses_certificate(answer)) {
    code = Error::Code::permission;
    words = "it refuses our certificate";
  }
  return {code,
          fmt::format("{}: HTTP {}{}{}", doing, answer.status, words.empty() ? "" : ": ", words)};
}

ConnectorStatus connector_status(Error::Code code) {
  switch (code) {
    case Error::Code::permission:
      return ConnectorStatus::denied;
    case Error::Code::timeout:
      return ConnectorStatus::timed_out;
    case Error::Code::unavailable:
    case Error::Code::not_found:
      return ConnectorStatus::unavailable;
    default:
      return ConnectorStatus::error;
  }
}

}  // namespace nvab
