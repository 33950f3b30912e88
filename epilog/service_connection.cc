// SPDX-License-Identifier: Apache-2.0
// See service_connection.hh. Requests are repeated where that is safe, and it always is: the same
// session or observation again is a 409, and a session of our own is known by the mark that we put
// into its metadata.
#include "epilog/service_connection.hh"

#include <fmt/core.h>

#include <algorithm>
#include <random>
#include <thread>

#include "common/base/build_info.hh"
#include "common/base/text.hh"
#include "epilog/interrupt.hh"

namespace nvab {
namespace {

// A server that wants to be left alone for longer is asked again by the next run.
constexpr double kMaxPauseSeconds = 10;
// How soon a pause ends when the run is told to end.
constexpr auto kSlice = std::chrono::milliseconds(50);

bool may_pass(int status) {
  return status == 408 || status == 429 || status == 502 || status == 503 || status == 504;
}

double jitter() {
  static thread_local std::minstd_rand random(std::random_device{}());
  return std::uniform_real_distribution<double>(0.5, 1.5)(random);
}

void pause_for(double seconds, bool is_farewell) {
  const Deadline over = Deadline::after(Duration(static_cast<Duration::rep>(seconds * 1e6)));
  while (!over.passed() && (is_farewell || interrupted_by() == 0)) {
    std::this_thread::sleep_for(std::min<Duration>(over.left(), kSlice));
  }
}

}  // namespace

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

HttpRequest ServiceConnection::request(std::string method, const std::string& path,
                                       std::string body) const {
  HttpRequest request;
  request.method = std::move(method);
  request.url = options_->url + path;
  request.body = std::move(body);
  request.headers = {fmt::format("User-Agent: nvab-run/{}", build_info().version),
                     "Accept: application/json"};
  if (!request.body.empty()) request.headers.emplace_back("Content-Type: application/json");
  if (!options_->token.empty()) {
    request.headers.push_back("Authorization: Bearer " + options_->token);
  }
  return request;
}

Result<HttpAnswer> ServiceConnection::send(HttpRequest request, bool* was_repeated,
                                           Deadline deadline) {
  const bool is_farewell = !deadline.is_never();
  double pause = to_seconds(options_->first_pause);
  for (int attempt = 1;; ++attempt) {
    if (!is_farewell && interrupted_by() != 0) {
      return fail(Error::Code::unavailable, "the run was told to end");
    }
    auto answer = client_.send(request, deadline);
    if (!answer && was_repeated != nullptr) *was_repeated = true;
    const bool is_final = attempt >= options_->attempts || deadline.passed() ||
                          (answer ? !may_pass(answer->status)
                                  : answer.error().code == Error::Code::malformed ||
                                        answer.error().code == Error::Code::permission);
    if (is_final) return answer;
    double wait = pause * jitter();
    if (answer) {
      wait =
          std::max(wait, std::min(parse_double(answer->retry_after).value_or(0), kMaxPauseSeconds));
    }
    wait = std::min(wait, to_seconds(std::min<Duration>(deadline.left(), std::chrono::hours(1))));
    pause_for(wait, is_farewell);
    pause *= 2;
  }
}

Result<Json> ServiceConnection::get(const std::string& doing, const std::string& path,
                                    Deadline deadline) {
  const auto answer = send(request("GET", path), nullptr, deadline);
  if (!answer) return fail(doing, answer.error());
  if (answer->status != 200) return tl::unexpected(http_error(doing, *answer));
  auto json = Json::parse(answer->body);
  if (!json) return fail(doing, json.error());
  return json;
}

}  // namespace nvab
