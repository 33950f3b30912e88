// SPDX-License-Identifier: Apache-2.0
// See attributor_http.hh. Requests are repeated where that is safe, and it always is: the same
// session or observation again is a 409, and a session of our own is known by the mark that we put
// into its metadata.
#include "epilog/attributor_http.hh"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <random>
#include <thread>

#include "common/base/build_info.hh"
#include "common/base/encode.hh"
#include "common/base/log.hh"
#include "common/base/text.hh"
#include "epilog/interrupt.hh"

namespace nvab {
namespace {

constexpr std::string_view kSessions = "/v2/attributor";
// Smaller bodies gain little from packing.
constexpr std::size_t kPackFrom = 1024;
// A server that wants to be left alone for longer is asked again by the next run.
constexpr double kMaxPauseSeconds = 10;
// What ending a session may take on the way out.
constexpr auto kFarewell = std::chrono::seconds(5);

bool may_pass(int status) {
  return status == 408 || status == 429 || status == 502 || status == 503 || status == 504;
}

Error http_error(const std::string& doing, const HttpAnswer& answer) {
  const Json problem = Json::parse(answer.body).value_or(Json());
  std::string words = problem.get("code").as_string().value_or("");
  const std::string detail = problem.get("detail").as_string().value_or("");
  if (!detail.empty()) words += (words.empty() ? "" : ": ") + excerpt(sanitize(detail), 300);
  Error::Code code = Error::Code::internal;
  if (answer.status == 401 || answer.status == 403) code = Error::Code::permission;
  if (answer.status == 404) code = Error::Code::not_found;
  if (answer.status == 409) code = Error::Code::conflict;
  if (answer.status == 400 || answer.status == 422) code = Error::Code::malformed;
  if (answer.status == 413 || may_pass(answer.status)) code = Error::Code::unavailable;
  return {code,
          fmt::format("{}: HTTP {}{}{}", doing, answer.status, words.empty() ? "" : " ", words)};
}

double jitter() {
  static thread_local std::minstd_rand random(std::random_device{}());
  return std::uniform_real_distribution<double>(0.5, 1.5)(random);
}

// One connection to the service, and how it is talked to.
class ServiceConnection {
 public:
  ServiceConnection(HttpClient client, const ServiceOptions& options)
      : client_(std::move(client)), options_(options) {}

  // Any answer that does not ask for patience; `was_repeated` when an earlier try may have arrived.
  Result<HttpAnswer> send(HttpRequest request, bool* was_repeated = nullptr,
                          Deadline deadline = {});
  HttpRequest request(std::string method, const std::string& path, std::string body) const;
  const ServiceOptions& options() const { return options_; }

 private:
  HttpClient client_;
  const ServiceOptions& options_;
};

HttpRequest ServiceConnection::request(std::string method, const std::string& path,
                                       std::string body) const {
  HttpRequest request;
  request.method = std::move(method);
  request.url = options_.url + path;
  request.body = std::move(body);
  request.headers = {fmt::format("User-Agent: nvab-run/{}", build_info().version),
                     "Accept: application/json"};
  if (!request.body.empty()) request.headers.emplace_back("Content-Type: application/json");
  if (!options_.token.empty()) request.headers.push_back("Authorization: Bearer " + options_.token);
  return request;
}

Result<HttpAnswer> ServiceConnection::send(HttpRequest request, bool* was_repeated,
                                           Deadline deadline) {
  const bool is_farewell = !deadline.is_never();
  double pause = to_seconds(options_.first_pause);
  for (int attempt = 1;; ++attempt) {
    if (!is_farewell && interrupted_by() != 0) {
      return fail(Error::Code::unavailable, "the run was told to end");
    }
    auto answer = client_.send(request, deadline);
    const bool is_final = attempt >= options_.attempts || deadline.passed() ||
                          (answer ? !may_pass(answer->status)
                                  : answer.error().code == Error::Code::malformed ||
                                        answer.error().code == Error::Code::permission);
    if (is_final) return answer;
    if (!answer && was_repeated != nullptr) *was_repeated = true;
    double wait = pause * jitter();
    if (answer) {
      wait =
          std::max(wait, std::min(parse_double(answer->retry_after).value_or(0), kMaxPauseSeconds));
    }
    wait = std::min(wait, to_seconds(std::min<Duration>(deadline.left(), std::chrono::hours(1))));
    std::this_thread::sleep_for(std::chrono::duration<double>(wait));
    pause *= 2;
  }
}

class HttpSession final : public Session {
 public:
  HttpSession(ServiceConnection connection, std::string id, std::string token, bool is_ours)
      : connection_(std::move(connection)),
        id_(std::move(id)),
        token_(std::move(token)),
        is_ours_(is_ours) {}
  ~HttpSession() override;

  const std::string& id() const override { return id_; }
  Result<Submitted> submit(const Observation& observation) override;
  Result<Verdict> attribution() override;
  bool wants_everything() const override { return wants_everything_; }
  void set_rules(bool are_known, bool are_same) {
    takes_packed_ = are_known;
    wants_everything_ = !are_same;
  }

 private:
  std::string path() const { return fmt::format("{}/{}", kSessions, id_); }

  ServiceConnection connection_;
  std::string id_, token_;
  bool is_ours_, takes_packed_ = false, wants_everything_ = true;
};

HttpSession::~HttpSession() {
  if (!is_ours_) return;
  HttpRequest request = connection_.request("DELETE", path(), "");
  if (!token_.empty()) request.headers.push_back("X-Session-Token: " + token_);
  const auto answer = connection_.send(std::move(request), nullptr, Deadline::after(kFarewell));
  if (answer && (answer->status == 204 || answer->status == 404)) return;
  log_warning(
      fmt::format("session {} stays open until it expires: {}", id_,
                  answer ? http_error("deleting it", *answer).message : answer.error().message));
}

Result<Session::Submitted> HttpSession::submit(const Observation& observation) {
  HttpRequest request =
      connection_.request("POST", path() + "/observation", to_json(observation).dump());
  if (takes_packed_ && request.body.size() >= kPackFrom) {
    std::string packed = zstd_pack(request.body);
    if (!packed.empty()) {
      request.body = std::move(packed);
      request.headers.emplace_back("Content-Encoding: zstd");
    }
  }
  const std::string doing = "sending an observation to " + connection_.options().url;
  const auto answer = connection_.send(std::move(request));
  if (!answer) return fail(doing, answer.error());
  if (answer->status == 409) return Submitted::duplicate;
  if (answer->status == 200 || answer->status == 201) return Submitted::accepted;
  return tl::unexpected(http_error(doing, *answer));
}

Result<Verdict> HttpSession::attribution() {
  const std::string doing = "asking " + connection_.options().url + " for the verdict";
  const auto answer = connection_.send(connection_.request("GET", path() + "/attribution", ""));
  if (!answer) return fail(doing, answer.error());
  if (answer->status != 200) return tl::unexpected(http_error(doing, *answer));
  const auto json = Json::parse(answer->body);
  if (!json) return fail(doing, json.error());
  auto verdict = verdict_from_json(*json);
  if (!verdict) return fail(doing, verdict.error());
  return verdict;
}

class HttpAttributor final : public Attributor {
 public:
  HttpAttributor(ServiceOptions options, std::string own_digest)
      : options_(std::move(options)), own_digest_(std::move(own_digest)) {}
  Result<OpenedSession> open(const ExecutionContext& context) override;

 private:
  // The digest of the ruleset by which an existing session is judged, and the mark of its creator.
  struct Existing {
    std::string digest, mark;
  };
  Result<Existing> look_at(ServiceConnection& connection, const std::string& id) const;
  Result<OpenedSession> meet_existing(ServiceConnection connection, const HttpAnswer& answer,
                                      const std::string& mark, bool may_be_ours);
  OpenedSession opened(ServiceConnection connection, std::string id, std::string token,
                       bool is_ours, const std::string& digest) const;

  const ServiceOptions options_;
  const std::string own_digest_;
};

OpenedSession HttpAttributor::opened(ServiceConnection connection, std::string id,
                                     std::string token, bool is_ours,
                                     const std::string& digest) const {
  OpenedSession opened;
  opened.attributor_id = id;
  auto session = std::make_unique<HttpSession>(std::move(connection), std::move(id),
                                               std::move(token), is_ours);
  session->set_rules(!digest.empty(), digest == own_digest_);
  opened.session = std::move(session);
  return opened;
}

Result<HttpAttributor::Existing> HttpAttributor::look_at(ServiceConnection& connection,
                                                         const std::string& id) const {
  const auto answer =
      connection.send(connection.request("GET", fmt::format("{}/{}", kSessions, id), ""));
  if (!answer) return tl::unexpected(answer.error());
  if (answer->status != 200) return tl::unexpected(http_error("looking at session " + id, *answer));
  const auto json = Json::parse(answer->body);
  if (!json) return tl::unexpected(json.error());
  return Existing{json->get("ruleset").get("digest").as_string().value_or(""),
                  json->get("metadata").get("run").as_string().value_or("")};
}

// Somebody has a session about this context: another client, or we ourselves by a try whose answer
// was lost.
Result<OpenedSession> HttpAttributor::meet_existing(ServiceConnection connection,
                                                    const HttpAnswer& answer,
                                                    const std::string& mark, bool may_be_ours) {
  const std::string doing = "opening a session at " + options_.url;
  const Json problem = Json::parse(answer.body).value_or(Json());
  const std::string id = problem.get("attributor_id").as_string().value_or("");
  Error cause = http_error(doing, answer);
  if (!id.empty() && (may_be_ours || options_.join)) {
    const auto existing = look_at(connection, id);
    if (existing && may_be_ours && existing->mark == mark) {
      return opened(std::move(connection), id, "", true, existing->digest);
    }
    if (options_.join) {
      return opened(std::move(connection), id, "", false, existing ? existing->digest : "");
    }
  }
  OpenedSession conflict;
  conflict.attributor_id = id;
  conflict.conflict = std::move(cause);
  return conflict;
}

Result<OpenedSession> HttpAttributor::open(const ExecutionContext& context) {
  const std::string doing = "opening a session at " + options_.url;
  auto client = HttpClient::create(options_.http);
  if (!client) return fail(doing, client.error());
  ServiceConnection connection(std::move(*client), options_);
  const std::string mark = fmt::format("{:08x}{:08x}", std::random_device{}(), ::getpid());
  Json metadata = Json::object();
  metadata.set("agent", Json::of(fmt::format("nvab-run/{}", build_info().version)));
  if (!context.account.empty()) metadata.set("tenant", Json::of(context.account));
  metadata.set("ruleset", Json::of(options_.ruleset)).set("run", Json::of(mark));
  Json body = Json::object().set("workload", to_json(context)).set("metadata", metadata);
  bool was_repeated = false;
  const auto answer = connection.send(
      connection.request("POST", std::string(kSessions), body.dump()), &was_repeated);
  if (!answer) return fail(doing, answer.error());
  if (answer->status == 409) {
    return meet_existing(std::move(connection), *answer, mark, was_repeated);
  }
  if (answer->status != 200 && answer->status != 201) {
    return tl::unexpected(http_error(doing, *answer));
  }
  const Json created = Json::parse(answer->body).value_or(Json());
  std::string id = created.get("attributor_id").as_string().value_or("");
  if (id.empty()) {
    return fail(Error::Code::malformed, doing + ": the answer has no attributor_id");
  }
  return opened(std::move(connection), std::move(id),
                created.get("session_token").as_string().value_or(""), true,
                created.get("ruleset").get("digest").as_string().value_or(""));
}

}  // namespace

Result<std::unique_ptr<Attributor>> make_http_attributor(ServiceOptions options,
                                                         std::string own_digest) {
  constexpr std::string_view kUnix = "unix:";
  if (options.url.substr(0, kUnix.size()) == kUnix) {
    options.http.unix_socket = options.url.substr(kUnix.size());
    options.url = "http://localhost";
  }
  while (!options.url.empty() && options.url.back() == '/') options.url.pop_back();
  const bool is_http =
      starts_with_nocase(options.url, "http://") || starts_with_nocase(options.url, "https://");
  if (!is_http || options.url.find_first_of("?# ") != std::string::npos) {
    return fail(Error::Code::malformed,
                "run.service_url: wants http://HOST:PORT, https://… or "
                "unix:PATH, not '" +
                    excerpt(options.url, 100) + "'");
  }
  return std::unique_ptr<Attributor>(
      std::make_unique<HttpAttributor>(std::move(options), std::move(own_digest)));
}

}  // namespace nvab
