// SPDX-License-Identifier: Apache-2.0
// See attributor_http.hh.
#include "epilog/attributor_http.hh"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <random>

#include "common/base/build_info.hh"
#include "common/base/encode.hh"
#include "common/base/log.hh"
#include "common/base/text.hh"
#include "common/model/attributor_id.hh"
#include "epilog/service_connection.hh"

namespace nvab {
namespace {

// Smaller bodies gain little from packing.
constexpr std::size_t kPackFrom = 1024;
// What ending a session may take on the way out.
constexpr auto kFarewell = std::chrono::seconds(5);

// Connections of sessions that have ended, for those to come. The attributor's thread alone.
using IdleClients = std::vector<HttpClient>;

std::string path_of(const std::string& id) { return fmt::format("{}/{}", kSessionsPath, id); }

std::vector<std::string> complete_nodes_of(const Json& session) {
  return strings_of(session.get("complete_nodes"));
}

class HttpSession final : public Session {
 public:
  // `idle` takes the connection when the session has ended, and must outlive it.
  HttpSession(ServiceConnection connection, IdleClients* idle, std::string id, std::string token,
              bool is_ours)
      : connection_(std::move(connection)),
        idle_(idle),
        id_(std::move(id)),
        token_(std::move(token)),
        is_ours_(is_ours) {}
  ~HttpSession() override;

  const std::string& id() const override { return id_; }
  Result<Submitted> submit(const Observation& observation) override;
  Result<Verdict> attribution() override;
  bool wants_everything() const override { return wants_everything_; }
  Result<std::vector<std::string>> complete_nodes() override;
  void set_rules(bool are_known, bool are_same) {
    takes_packed_ = are_known;
    wants_everything_ = !are_same;
  }

 private:
  std::string path() const { return path_of(id_); }
  void end();

  ServiceConnection connection_;
  IdleClients* idle_;
  std::string id_, token_;
  bool is_ours_, takes_packed_ = false, wants_everything_ = true;
};

HttpSession::~HttpSession() {
  if (is_ours_) end();
  idle_->push_back(connection_.take_client());
}

void HttpSession::end() {
  HttpRequest request = connection_.request("DELETE", path());
  if (!token_.empty()) request.secret_headers.push_back("X-Session-Token: " + token_);
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
  const auto json = connection_.get(doing, path() + "/attribution");
  if (!json) return tl::unexpected(json.error());
  auto verdict = verdict_from_json(*json);
  if (!verdict) return fail(doing, verdict.error());
  return verdict;
}

Result<std::vector<std::string>> HttpSession::complete_nodes() {
  const auto session = connection_.get("looking at session " + id_, path());
  if (!session) return tl::unexpected(session.error());
  return complete_nodes_of(*session);
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
  static Result<Existing> look_at(ServiceConnection& connection, const std::string& id,
                                  Deadline deadline = {});
  Result<ServiceConnection> connect();
  // Ends what a create call may have left whose answer never came.
  void take_back(ServiceConnection connection, const ExecutionContext& context,
                 const std::string& mark);
  Result<OpenedSession> meet_existing(ServiceConnection connection, const HttpAnswer& answer,
                                      const std::string& mark, bool may_be_ours);
  OpenedSession opened(ServiceConnection connection, std::string id, std::string token,
                       bool is_ours, const std::string& digest);

  const ServiceOptions options_;
  const std::string own_digest_;
  IdleClients idle_;
};

OpenedSession HttpAttributor::opened(ServiceConnection connection, std::string id,
                                     std::string token, bool is_ours, const std::string& digest) {
  OpenedSession opened;
  auto session = std::make_unique<HttpSession>(std::move(connection), &idle_, std::move(id),
                                               std::move(token), is_ours);
  session->set_rules(!digest.empty(), digest == own_digest_);
  opened.session = std::move(session);
  return opened;
}

Result<HttpAttributor::Existing> HttpAttributor::look_at(ServiceConnection& connection,
                                                         const std::string& id, Deadline deadline) {
  const auto json = connection.get("looking at session " + id, path_of(id), deadline);
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
  OpenedSession opened;
  opened.conflict = AttributorConflict{id, std::move(cause)};
  return opened;
}

Result<ServiceConnection> HttpAttributor::connect() {
  if (!idle_.empty()) {
    ServiceConnection connection(std::move(idle_.back()), options_);
    idle_.pop_back();
    return connection;
  }
  auto client = HttpClient::create(options_.http);
  if (!client) return tl::unexpected(client.error());
  return ServiceConnection(std::move(*client), options_);
}

void HttpAttributor::take_back(ServiceConnection connection, const ExecutionContext& context,
                               const std::string& mark) {
  const std::string id = attributor_id(context, options_.ruleset);
  const auto existing = look_at(connection, id, Deadline::after(kFarewell));
  if (existing && existing->mark == mark) {
    // It ends with its object.
    opened(std::move(connection), id, "", true, "");
  }
}

Result<OpenedSession> HttpAttributor::open(const ExecutionContext& context) {
  const std::string doing = "opening a session at " + options_.url;
  auto connected = connect();
  if (!connected) return fail(doing, connected.error());
  ServiceConnection connection = std::move(*connected);
  const std::string mark = fmt::format("{:08x}{:08x}", std::random_device{}(), ::getpid());
  Json metadata = Json::object();
  metadata.set("agent", Json::of(fmt::format("nvab-run/{}", build_info().version)));
  if (!context.account.empty()) metadata.set("tenant", Json::of(context.account));
  metadata.set("ruleset", Json::of(options_.ruleset)).set("run", Json::of(mark));
  Json body = Json::object().set("workload", to_json(context)).set("metadata", metadata);
  bool was_repeated = false;
  const auto answer = connection.send(
      connection.request("POST", std::string(kSessionsPath), body.dump()), &was_repeated);
  if (!answer) {
    if (was_repeated) take_back(std::move(connection), context, mark);
    return fail(doing, answer.error());
  }
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

Result<ServiceOptions> normalized(ServiceOptions options) {
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
  return options;
}

Result<std::unique_ptr<Attributor>> make_http_attributor(ServiceOptions options,
                                                         std::string own_digest) {
  auto good = normalized(std::move(options));
  if (!good) return tl::unexpected(good.error());
  return std::unique_ptr<Attributor>(
      std::make_unique<HttpAttributor>(std::move(*good), std::move(own_digest)));
}

Result<int> join_sessions_of_job(const ServiceOptions& options, const std::string& own_digest,
                                 std::uint32_t job_id, const std::string& cluster,
                                 const JobVisitor& visit) {
  const std::string doing = fmt::format("looking for job {} at {}", job_id, options.url);
  auto client = HttpClient::create(options.http);
  if (!client) return fail(doing, client.error());
  ServiceConnection connection(std::move(*client), options);
  const auto list = connection.get(doing, fmt::format("{}?job_id={}", kSessionsPath, job_id));
  if (!list) return tl::unexpected(list.error());
  int count = 0;
  for (const Json& item : list->get("attributors").elements()) {
    const std::string id = item.get("attributor_id").as_string().value_or("");
    const auto session = connection.get("looking at session " + id, path_of(id));
    if (!session && session.error().code == Error::Code::not_found) continue;  // it has ended
    if (!session) return tl::unexpected(session.error());
    const auto context = context_from_json(session->get("workload"));
    if (!context) return fail("reading session " + id, context.error());
    if (!cluster.empty() && !context->cluster.empty() && context->cluster != cluster) continue;
    IdleClients idle;
    {
      HttpSession joined(std::move(connection), &idle, id, "", false);
      const std::string digest = session->get("ruleset").get("digest").as_string().value_or("");
      joined.set_rules(!digest.empty(), digest == own_digest);
      visit(*context, joined);
    }
    connection = ServiceConnection(std::move(idle.back()), options);
    ++count;
  }
  return count;
}

}  // namespace nvab
