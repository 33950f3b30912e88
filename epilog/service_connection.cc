// SPDX-License-Identifier: Apache-2.0
// See service_connection.hh. Requests are repeated where that is safe, and it always is: the same
// session or observation again is a 409, and a session of our own is known by the mark that we put
// into its metadata.
#include "epilog/service_connection.hh"

#include <fmt/core.h>

#include "common/base/build_info.hh"
#include "common/base/http_retry.hh"
#include "common/base/text.hh"
#include "epilog/interrupt.hh"

namespace nvab {
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
    request.secret_headers.push_back("Authorization: Bearer " + options_->token);
  }
  return request;
}

Result<HttpAnswer> ServiceConnection::send(HttpRequest request, bool* was_repeated,
                                           Deadline deadline) {
  const bool is_farewell = !deadline.is_never();
  if (!is_farewell && interrupted_by() != 0) {
    return fail(Error::Code::unavailable, "the run was told to end");
  }
  RetryPolicy policy;
  policy.attempts = options_->attempts;
  policy.first_pause = options_->first_pause;
  if (!is_farewell) policy.is_over = [] { return interrupted_by() != 0; };
  const auto send_once = [&] {
    auto answer = client_.send(request, deadline);
    if (!answer && was_repeated != nullptr) *was_repeated = true;
    return answer;
  };
  return send_patiently(send_once, policy, deadline);
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
