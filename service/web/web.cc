// SPDX-License-Identifier: Apache-2.0
// See web.hh.
#include "service/web/web.hh"

#include <utility>

#include "common/base/log.hh"
#include "common/base/text.hh"
#include "service/digest.hh"
#include "service/problem.hh"

namespace nvab {
namespace {

// An annotation is a remark, not an essay; a token is shorter still.
constexpr std::size_t kMaxBody = 16 * 1024;

// Nothing from elsewhere, nothing inline, in no other page's frame: whatever a log line or a job's
// name smuggles into the page cannot run.
constexpr std::pair<std::string_view, std::string_view> kHeaders[] = {
    {"Content-Security-Policy",
     "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src "
     "'self'; "
     "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"},
    {"X-Content-Type-Options", "nosniff"},
    {"Referrer-Policy", "no-referrer"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
};

// The value of our cookie among "a=1; nvab_token=XYZ".
std::string_view cookie_token(std::string_view cookies) {
  constexpr std::string_view kName = "nvab_token=";
  for (const std::string_view cookie : split(cookies, ';')) {
    const std::string_view one = trim(cookie);
    if (one.starts_with(kName)) return one.substr(kName.size());
  }
  return {};
}

Response with_headers(Response response) {
  for (const auto& [name, value] : kHeaders) response.with(name, std::string(value));
  return response;
}

}  // namespace

Web::Web(WebSettings settings, StaticFiles files)
    : settings_(std::move(settings)), database_(settings_.database), files_(std::move(files)) {}

Result<std::unique_ptr<Web>> Web::create(WebSettings settings) {
  auto files = StaticFiles::load(settings.page, settings.chart_library);
  if (!files) return tl::unexpected(files.error());
  std::unique_ptr<Web> web(new Web(std::move(settings), std::move(*files)));
  if (!web->settings_.annotations.empty()) {
    auto annotations = Annotations::open(web->settings_.annotations);
    if (!annotations) return tl::unexpected(annotations.error());
    web->annotations_ = std::move(*annotations);
  }
  web->router_ = std::make_unique<Router>(web_routes(*web));
  return web;
}

bool Web::is_welcome(const Request& head) const {
  if (settings_.tokens.empty() || head.route->spec.is_open) return true;
  constexpr std::string_view kBearer = "Bearer ";
  std::string_view given = cookie_token(head.headers.cookie);
  if (starts_with_nocase(head.headers.authorization, kBearer)) {
    given = trim(head.headers.authorization.substr(kBearer.size()));
  }
  bool is_good = false;
  for (const std::string& token : settings_.tokens) is_good |= equal_secrets(given, token);
  return is_good;
}

std::optional<Response> Web::begin(Request& head) {
  const std::string& prefix = settings_.prefix;
  if (!prefix.empty() && head.target.starts_with(prefix) &&
      head.target.substr(prefix.size()).starts_with('/')) {
    head.target.remove_prefix(prefix.size());
  }
  if (auto answer = router_->resolve(head)) return with_headers(std::move(*answer));
  if (!is_welcome(head)) {
    return with_headers(problem_response(Problem::unauthorized,
                                         "Log in, or send Authorization: Bearer and a token."));
  }
  // A form of another site cannot send this type without being asked for permission first.
  const bool has_body = head.route->spec.body != BodyKind::none;
  if (has_body && media_type(head.headers.content_type) != "application/json") {
    return with_headers(problem_response(Problem::unsupported_media_type,
                                         "Content-Type must be application/json."));
  }
  return std::nullopt;
}

std::size_t Web::body_limit(const Request& /*head*/) const { return kMaxBody; }

Response Web::handle(Request& request) { return with_headers(request.route->handle(request)); }

void Web::done(const Request& request, const Exchange& exchange) {
  log_debug(std::string(request.method_word) + ' ' + sanitize(request.path()) + ' ' +
            std::to_string(exchange.status) + ' ' + std::to_string(exchange.took.count() / 1000) +
            " ms");
}

}  // namespace nvab
