// SPDX-License-Identifier: Apache-2.0
// See service.hh.
#include "service/service.hh"

#include <malloc.h>

#include <algorithm>
#include <utility>

#include "common/base/decode.hh"
#include "common/base/log.hh"
#include "common/base/text.hh"
#include "service/digest.hh"
#include "service/handlers.hh"
#include "service/openapi.hh"

namespace nvab {
namespace {

// A body that no call wants; some clients send one with DELETE.
constexpr std::size_t kMaxUnwanted = 64 * 1024;
// Seconds between looks for abandoned sessions.
constexpr int kExpireEvery = 5;
// Giving memory back takes some milliseconds, in which nobody gets any.
constexpr std::uint64_t kWorthGiving = 64 * 1024 * 1024;

std::vector<Route> all_routes(Service& service) {
  std::vector<Route> routes = routes_v2(service);
  for (const auto more : {routes_v1, routes_ops}) {
    for (Route& route : more(service)) routes.push_back(std::move(route));
  }
  return routes;
}

// "gzip", "zstd", or empty for none; nothing for what cannot be decoded.
std::optional<std::string> encoding_of(std::string_view header) {
  const std::string name = lower(trim(header));
  if (name.empty() || name == "identity") return "";
  if (name == "gzip" || name == "x-gzip") return "gzip";
  if (name == "zstd") return "zstd";
  return std::nullopt;
}

// Body memory for the time of a handler.
class Held {
 public:
  explicit Held(BodyBudget& budget) : budget_(budget) {}
  ~Held() { budget_.give(bytes_); }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  bool take(std::uint64_t bytes) {
    if (!budget_.take(bytes)) return false;
    bytes_ += bytes;
    return true;
  }

 private:
  BodyBudget& budget_;
  std::uint64_t bytes_ = 0;
};

}  // namespace

Service::Service(ServiceSettings settings)
    : settings_(std::move(settings)),
      bodies_(settings_.max_body_memory),
      connections_(settings_.connections),
      started_(std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now())) {}

Service::~Service() = default;

Result<std::unique_ptr<Service>> Service::create(ServiceSettings settings) {
  auto service = std::unique_ptr<Service>(new Service(std::move(settings)));
  const ServiceSettings& set = service->settings_;
  auto rulesets = Rulesets::load(set.rulesets);
  if (!rulesets) return tl::unexpected(std::move(rulesets.error()));
  service->rulesets_ = std::move(*rulesets);
  auto log = AccessLog::open(set.access_log);
  if (!log) return tl::unexpected(std::move(log.error()));
  service->access_log_ = std::move(*log);
  if (!set.journal_path.empty()) {
    auto journal = Journal::open(set.journal_path, set.durability);
    if (!journal) {
      Error error = std::move(journal.error());
      error.message += "; --state memory keeps sessions without a file";
      return tl::unexpected(std::move(error));
    }
    service->journal_ = std::move(*journal);
  }
  service->store_ = std::make_unique<SessionStore>(*service->rulesets_, service->hits_,
                                                   service->journal_.get(), set.store);
  service->router_ = std::make_unique<Router>(all_routes(*service));
  service->requests_ = std::make_unique<RequestMetrics>(*service->router_);
  service->openapi_ = openapi_json(*service->router_);
  return service;
}

Result<void> Service::start() {
  const auto replayed = store_->replay(is_stopping_);
  if (!replayed) return replayed;
  is_ready_ = true;
  return {};
}

Result<void> Service::reload() {
  ++reloads_;
  if (auto reopened = access_log_->reopen(); !reopened) log_error(reopened.error().message);
  auto done = rulesets_->reload();
  if (done) return done;
  ++failed_reloads_;
  log_error("the old rules stay: " + done.error().message);
  return done;
}

void Service::tick() {
  static const std::string timeout_answer = [] {
    const Response response = problem_response(
        Problem::request_timeout, "Send the body at once, or in smaller observations.");
    return "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nRetry-After: 1\r\n"
           "Content-Type: application/problem+json\r\nContent-Length: " +
           std::to_string(response.body.size()) + "\r\n\r\n" + response.body;
  }();
  connections_.expire(timeout_answer);
  if (!is_ready() || ++ticks_ % kExpireEvery != 0) return;
  store_->expire();
  give_memory_back();
}

// What many sessions took stays with the allocator when they end, unless it is asked.
void Service::give_memory_back() {
  const std::uint64_t now = store_->memory();
  most_memory_ = std::max(most_memory_, now);
  if (most_memory_ < kWorthGiving || now > most_memory_ / 2) return;
  most_memory_ = now;
  ::malloc_trim(0);
}

void Service::stop() { is_stopping_ = true; }

std::optional<Response> Service::refuse_state(const RouteSpec& spec) const {
  if (spec.is_open) return std::nullopt;
  if (is_stopping_) {
    Response refusal = problem_response(Problem::stopping, "Another one may be up in a moment.");
    refusal.must_close = true;
    return refusal;
  }
  if (!is_ready_) return problem_response(Problem::starting, "Try again in a moment.");
  return std::nullopt;
}

std::optional<Response> Service::refuse_credentials(const Request& head) const {
  if (settings_.bearer_tokens.empty() || head.route->spec.is_open || head.door == Door::admin) {
    return std::nullopt;
  }
  constexpr std::string_view kBearer = "Bearer ";
  const std::string_view given = head.headers.authorization;
  bool is_good = false;
  if (starts_with_nocase(given, kBearer)) {
    const std::string_view token = trim(given.substr(kBearer.size()));
    for (const std::string& good : settings_.bearer_tokens) is_good |= equal_secrets(token, good);
  }
  if (is_good) return std::nullopt;
  return problem_response(Problem::unauthorized, "Send Authorization: Bearer and a good token.");
}

std::optional<Response> Service::refuse_body(const Request& head) const {
  if (head.route->spec.body == BodyKind::none) return std::nullopt;
  const std::string type = media_type(head.headers.content_type);
  const bool is_patch = head.method == Method::patch && type == "application/merge-patch+json";
  if (!type.empty() && type != "application/json" && !is_patch) {
    return problem_response(
        Problem::unsupported_media_type,
        "Content-Type must be application/json, not " + excerpt(sanitize(type), 100) + ".");
  }
  if (!encoding_of(head.headers.content_encoding)) {
    return problem_response(Problem::unsupported_encoding,
                            "Send gzip, zstd, or the body as it is.");
  }
  return std::nullopt;
}

std::optional<Response> Service::begin(Request& head) {
  if (auto answer = router_->resolve(head)) return answer;
  if (auto refusal = refuse_credentials(head)) return refusal;
  if (auto refusal = refuse_state(head.route->spec)) return refusal;
  return refuse_body(head);
}

std::size_t Service::body_limit(const Request& head) const {
  switch (head.route->spec.body) {
    case BodyKind::none:
      return kMaxUnwanted;
    case BodyKind::workload:
      return settings_.max_workload;
    case BodyKind::observation:
      return settings_.max_body;
  }
  return 0;
}

Response Service::handle(Request& request) {
  const std::string encoding = encoding_of(request.headers.content_encoding).value_or("");
  Held held(bodies_);
  if (request.route->spec.body != BodyKind::none && !encoding.empty()) {
    const std::size_t limit = body_limit(request);
    auto plain = decode_buffer(request.body, encoding, limit);
    if (!plain) {
      const bool is_large = plain.error().code == Error::Code::unavailable;
      return problem_response(is_large ? Problem::body_too_large : Problem::bad_encoding,
                              plain.error().message + ".");
    }
    if (!held.take(plain->size())) {
      return problem_response(Problem::out_of_memory, "The bodies that are being read fill it.");
    }
    request.packed = std::move(request.body);
    request.packed_encoding = encoding;
    request.body = std::move(*plain);
  }
  return request.route->handle(request);
}

void Service::done(const Request& request, const Exchange& exchange) {
  requests_->count(request.route, exchange.status, exchange.took, exchange.bytes_in,
                   exchange.bytes_out);
  access_log_->write(request, exchange);
}

}  // namespace nvab
