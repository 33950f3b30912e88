// SPDX-License-Identifier: Apache-2.0
// Requests and responses without sockets: what handlers see, what httpd sends, what tests make.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace nvab {

enum class Method { get, head, post, put, patch, del, options, other };
std::string_view to_string(Method method);  // "GET"; "OTHER" for what HTTP does not define
Method method_from(std::string_view word);  // exact, as HTTP wants it

// Which door a request came in by: some calls are for the administrator's own socket only.
enum class Door { network, local, admin };

// The request headers that somebody looks at; empty when absent. They point into the connection's
// memory and live as long as the request.
struct RequestHeaders {
  std::string_view content_type, content_encoding, authorization, if_none_match, user_agent,
      session_token, request_id, cookie;
};

struct Route;

struct Request {
  Method method = Method::get;
  std::string_view method_word;  // as sent
  std::string_view target;       // path and query, as sent
  RequestHeaders headers;
  std::optional<std::uint64_t> content_length;  // as announced
  std::string client;                           // "192.0.2.7" or "local"
  Door door = Door::network;
  std::string body;                     // complete; decoded where it came encoded
  std::string packed, packed_encoding;  // then: as it came, "gzip" or "zstd"

  // By the router, before the body is read.
  const Route* route = nullptr;
  std::string id;  // the path's parameter, decoded; empty where there is none

  std::string_view path() const { return target.substr(0, target.find('?')); }
  // A value of the query, decoded; nothing when the name is absent or its escapes are wrong.
  std::optional<std::string> query(std::string_view name) const;
};

struct Response {
  int status = 200;
  std::string body;
  std::string_view content_type = "application/json";  // a constant
  std::vector<std::pair<std::string_view, std::string>> headers;
  bool must_close = false;  // the connection cannot go on after it

  Response& with(std::string_view name, std::string value) {
    headers.emplace_back(name, std::move(value));
    return *this;
  }
};

// Percent-decoding; with `plus` a '+' is a space. Nothing for an incomplete or wrong escape.
std::optional<std::string> percent_decode(std::string_view text, bool plus);

// "application/json; charset=utf-8" is "application/json": lower case, parameters cut.
std::string media_type(std::string_view content_type);

}  // namespace nvab
