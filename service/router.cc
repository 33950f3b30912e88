// SPDX-License-Identifier: Apache-2.0
// See router.hh. A path is compared as it was sent, segment by segment and undecoded but for its
// parameter: no escape, dot or doubled slash can make it another one.
#include "service/router.hh"

#include "common/base/text.hh"

namespace nvab {
namespace {

// Longer than any id; a longer parameter names nothing.
constexpr std::size_t kMaxParameter = 256;

// Takes the next segment off `rest`, which begins with '/'.
std::string_view next_segment(std::string_view* rest) {
  rest->remove_prefix(1);
  const std::string_view segment = rest->substr(0, rest->find('/'));
  rest->remove_prefix(segment.size());
  return segment;
}

// Whether `path` is one of the pattern; `id` is what stands for its parameter, undecoded.
bool matches(std::string_view pattern, std::string_view path, std::string_view* id) {
  while (!pattern.empty() && !path.empty() && path.front() == '/') {
    const std::string_view want = next_segment(&pattern);
    const std::string_view got = next_segment(&path);
    if (want.front() == '{') {
      if (got.empty()) return false;
      *id = got;
    } else if (want != got) {
      return false;
    }
  }
  return pattern.empty() && path.empty();
}

std::optional<std::string> decode_parameter(std::string_view text) {
  if (text.size() > kMaxParameter) return std::nullopt;
  auto decoded = percent_decode(text, false);
  if (!decoded) return std::nullopt;
  for (const char c : *decoded) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f || c == '/' || c == '\\') return std::nullopt;
  }
  return decoded;
}

std::string shown(std::string_view path) { return excerpt(sanitize(path), 200); }

}  // namespace

std::optional<Response> Router::resolve(Request& request) const {
  const std::string_view path = request.path();
  const Method wanted = request.method == Method::head ? Method::get : request.method;
  std::string allow;
  std::string_view parameter;
  for (const Route& route : routes_) {
    std::string_view found;
    if (route.spec.is_admin && request.door != Door::admin) continue;
    if (!matches(route.spec.pattern, path, &found)) continue;
    allow += (allow.empty() ? "" : ", ") + std::string(to_string(route.spec.method));
    if (route.spec.method == Method::get) allow += ", HEAD";
    if (route.spec.method != wanted) continue;
    request.route = &route;
    parameter = found;
  }
  if (request.route != nullptr) {
    auto id = decode_parameter(parameter);
    if (!id) return problem_response(Problem::bad_path, "The id in the path is not one.");
    request.id = std::move(*id);
    return std::nullopt;
  }
  if (allow.empty() && !(request.method == Method::options && path == "*")) {
    return problem_response(Problem::no_such_path, "There is nothing at " + shown(path) +
                                                       "; GET /openapi.json lists what there is.");
  }
  if (!allow.empty()) allow += ", ";
  allow += "OPTIONS";
  if (request.method == Method::options) {
    Response response;
    response.status = 204;
    response.with("Allow", allow);
    return response;
  }
  Response refusal =
      problem_response(Problem::method_not_allowed, shown(path) + " takes " + allow + ", not " +
                                                        shown(request.method_word) + ".");
  refusal.with("Allow", allow);
  return refusal;
}

}  // namespace nvab
