// SPDX-License-Identifier: Apache-2.0
// The component output.http: each result to a web hook, as JSON from a template, tried again while
// the server is busy or away.
#include <fmt/core.h>

#include <utility>

#include "common/base/build_info.hh"
#include "common/base/digest.hh"
#include "common/base/file.hh"
#include "common/base/http.hh"
#include "common/base/http_retry.hh"
#include "common/base/text.hh"
#include "epilog/auth/secret.hh"
#include "epilog/connector.hh"
#include "epilog/interrupt.hh"
#include "epilog/output/result_filter.hh"
#include "epilog/output/result_template.hh"
#include "epilog/queue/watch.hh"

namespace nvab {
namespace {

// Of what a hook answers, only a complaint is of interest.
constexpr std::size_t kMaxAnswer = 64 * 1024;
constexpr std::size_t kMaxComplaint = 200;

constexpr ParamSpec kParams[] = {
    {.name = "url", .help = "Where results go: https://HOST/PATH"},
    {.name = "url_file",
     .type = ParamType::path,
     .help = "File with the URL, where the URL itself is a secret"},
    {.name = "method", .fallback = "POST", .help = "How", .choices = "POST|PUT"},
    {.name = "body",
     .fallback = "{result}",
     .help = "JSON with placeholders, which are escaped as JSON"},
    {.name = "body_file", .type = ParamType::path, .help = "File with the body, instead"},
    {.name = "content_type", .fallback = "application/json", .help = "What the body is"},
    {.name = "secret_file",
     .type = ParamType::path,
     .help = "File with the value of the header that proves who we are"},
    {.name = "secret", .help = "That value, from the environment", .secret = true},
    {.name = "secret_header", .fallback = "Authorization", .help = "Name of that header"},
    {.name = "insecure",
     .type = ParamType::boolean,
     .fallback = "false",
     .help = "Send secrets over plain http to other machines, too"},
    {.name = "ca_file",
     .type = ParamType::path,
     .help = "PEM file of authorities to trust, instead of the system's"},
    {.name = "when", .fallback = "all", .help = "Which results", .choices = kResultFilters},
    {.name = "attempts",
     .type = ParamType::integer,
     .fallback = "5",
     .help = "How often to try",
     .low = 1,
     .high = 100},
    {.name = "timeout_seconds",
     .type = ParamType::duration,
     .fallback = "30",
     .help = "Time that one result has, all tries together"},
};

struct Options {
  std::string url, origin, method, content_type, secret_header;
  std::optional<Secret> secret;
  bool is_url_secret = false;
  bool is_json = true;
  ResultTemplate body;
  ResultFilter when = ResultFilter::all;
  HttpOptions http;
  RetryPolicy retry;
  Duration timeout{};
};

class WebHook final : public Output {
 public:
  explicit WebHook(Options options) : options_(std::move(options)) {}
  bool wants(const AttributionResult& result) const override {
    return passes(options_.when, result);
  }
  Result<void> write(const AttributionResult& result) override;

 private:
  HttpRequest request_for(const AttributionResult& result) const;
  Result<void> prepare();
  Error refusal(const HttpAnswer& answer) const;
  std::string without_secrets(std::string message) const;

  Options options_;
  std::unique_ptr<HttpClient> client_;  // made for the first result
  std::string secret_;                  // as it is now
};

// A path of a URL may be all that protects a hook, and a server may repeat in an answer what it
// got.
std::string WebHook::without_secrets(std::string message) const {
  const auto hide = [&](std::string_view secret, const std::string& shown) {
    if (secret.empty()) return;
    for (std::size_t at = 0; (at = message.find(secret, at)) != std::string::npos;) {
      message.replace(at, secret.size(), shown);
      at += shown.size();
    }
  };
  hide(secret_, "…");
  if (!options_.is_url_secret) return message;
  hide(options_.url, options_.origin + "/…");
  hide(url_shown(options_.url), options_.origin + "/…");
  return message;
}

HttpRequest WebHook::request_for(const AttributionResult& result) const {
  HttpRequest request;
  request.method = options_.method;
  request.url = options_.url;
  // The same in each try, so that a hook that cares can tell.
  const std::string& id = result.trigger_id.empty() ? result.context.key() : result.trigger_id;
  request.headers = {fmt::format("User-Agent: nvab-run/{}", build_info().version),
                     "Content-Type: " + options_.content_type,
                     "Idempotency-Key: " + sha256_hex(id)};
  if (!secret_.empty()) request.secret_headers = {options_.secret_header + ": " + secret_};
  request.body = options_.is_json ? options_.body.json(result) : options_.body.text(result);
  return request;
}

// Of a request that is wrong as such, the next is no better; a secret or a URL may be put right.
Error WebHook::refusal(const HttpAnswer& answer) const {
  const bool is_final = answer.status == 400 || answer.status == 405 || answer.status == 410 ||
                        answer.status == 413 || answer.status == 415 || answer.status == 422;
  std::string said = sanitize(trim(excerpt(answer.body, kMaxComplaint)));
  return Error{is_final ? Error::Code::unsupported : Error::Code::unavailable,
               fmt::format("{} answered {}{}{}", options_.origin, answer.status,
                           said.empty() ? "" : ": ", said)};
}

Result<void> WebHook::prepare() {
  if (options_.secret) {
    auto secret = options_.secret->read();
    if (!secret) return fail("secret_file", std::move(secret.error()));
    secret_ = std::move(*secret);
  }
  if (client_) return {};
  auto client = HttpClient::create(options_.http);
  if (!client) return tl::unexpected(std::move(client.error()));
  client_ = std::make_unique<HttpClient>(std::move(*client));
  return {};
}

Result<void> WebHook::write(const AttributionResult& result) {
  if (auto ready = prepare(); !ready) return fail("calling the web hook", std::move(ready.error()));
  const HttpRequest request = request_for(result);
  const Deadline deadline = Deadline::after(options_.timeout);
  const auto answer =
      send_patiently([&] { return client_->send(request, deadline); }, options_.retry, deadline);
  const bool is_taken = answer && answer->status >= 200 && answer->status < 300;
  if (is_taken) return {};
  Error error = answer ? refusal(*answer) : answer.error();
  error.message = without_secrets(std::move(error.message));
  return fail("calling the web hook", std::move(error));
}

// ---- settings
// -----------------------------------------------------------------------------------

bool is_loopback(std::string_view origin) {
  const std::string_view host = origin.substr(origin.find("//") + 2);
  return host.starts_with("localhost:") || host.starts_with("127.") || host.starts_with("[::1]");
}

Result<void> read_secret(const ComponentSettings& settings, Options* options) {
  if (!settings.is_set("secret_file") && !settings.is_set("secret")) return {};
  auto secret = Secret::open(settings, "secret");
  if (!secret) return tl::unexpected(std::move(secret.error()));
  options->secret = std::move(*secret);
  const auto value = options->secret->read();
  if (!value) return fail("secret_file", value.error());
  return {};
}

// One line of a file that others should not read.
Result<std::string> read_url(const std::string& path) {
  auto text = read_file(path, kMaxSecret);
  if (!text) return fail("url_file", std::move(text.error()));
  std::string line(trim(*text));
  const bool is_line =
      !line.empty() && line.find_first_of(std::string_view("\r\n\0", 3)) == std::string::npos;
  if (!is_line) {
    return fail(Error::Code::malformed, fmt::format("url_file: {} wants one line", path));
  }
  return line;
}

Result<void> read_target(const ComponentSettings& settings, Options* options) {
  options->url = settings.text("url");
  options->is_url_secret = options->url.empty() && !settings.text("url_file").empty();
  if (options->is_url_secret) {
    auto url = read_url(settings.text("url_file"));
    if (!url) return tl::unexpected(std::move(url.error()));
    options->url = std::move(*url);
  }
  options->origin = url_origin(options->url);
  if (options->origin.empty()) {
    return fail(Error::Code::malformed,
                "url: wants https://HOST/PATH or http://HOST/PATH, without a user in it");
  }
  const bool is_secret = options->is_url_secret || options->secret.has_value();
  if (is_secret && options->origin.starts_with("http://") && !is_loopback(options->origin) &&
      !settings.flag("insecure")) {
    return fail(
        Error::Code::malformed,
        fmt::format("a secret would go to {} unencrypted; use https, or set insecure = true",
                    options->origin));
  }
  return {};
}

Result<void> read_headers(const ComponentSettings& settings, Options* options) {
  options->method = settings.text("method");
  options->content_type = settings.text("content_type");
  options->secret_header = settings.text("secret_header");
  for (const std::string* part : {&options->content_type, &options->secret_header}) {
    const bool is_safe = sanitize(*part) == *part && part->find('\n') == std::string::npos;
    if (is_safe && !part->empty()) continue;
    return fail(Error::Code::malformed, "a header wants one line of text");
  }
  if (options->secret_header.find_first_of(": \t") != std::string::npos) {
    return fail(Error::Code::malformed, "secret_header: wants the name alone, without a colon");
  }
  return {};
}

Result<void> read_body(const ComponentSettings& settings, Options* options) {
  auto body = ResultTemplate::read(settings.text("body"), settings.text("body_file"));
  if (!body) return fail("body", std::move(body.error()));
  options->body = std::move(*body);
  options->is_json = options->content_type.find("json") != std::string::npos;
  if (!options->is_json) return {};
  const auto filled = Json::parse(options->body.json(AttributionResult{}));
  if (!filled) return fail("body: with its placeholders filled in it is no JSON", filled.error());
  return {};
}

Result<std::unique_ptr<Output>> open_http(const ComponentSettings& settings, Host&) {
  Options options;
  for (const auto read : {read_secret, read_target, read_headers, read_body}) {
    if (auto done = read(settings, &options); !done) return tl::unexpected(std::move(done.error()));
  }
  options.when = result_filter_from(settings.text("when"));
  options.timeout = settings.duration("timeout_seconds");
  options.http.timeout = options.timeout;
  options.http.ca_file = settings.text("ca_file");
  options.http.max_answer = kMaxAnswer;
  options.retry.attempts = static_cast<int>(settings.integer("attempts"));
  options.retry.is_over = [] { return interrupted_by() != 0 || QueueWatch::must_stop(); };
  return std::make_unique<WebHook>(std::move(options));
}

}  // namespace

extern const OutputComponent output_http;
constinit const OutputComponent output_http = {
    .spec = {.framework = "output",
             .name = "http",
             .help = "A web hook that is called with each result",
             .params = kParams},
    .query = nullptr,
    .open = open_http,
};

}  // namespace nvab
