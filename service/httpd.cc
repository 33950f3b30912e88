// SPDX-License-Identifier: Apache-2.0
// See httpd.hh. The state of a request is made when its first line has come and freed in the
// completed callback; every callback is guarded, since the library is C.
#include "service/httpd.hh"

#include <arpa/inet.h>
#include <microhttpd.h>
#include <netinet/in.h>

#include <cstdarg>
#include <cstdio>
#include <exception>
#include <new>
#include <utility>
#include <vector>

#include "common/base/log.hh"
#include "common/base/text.hh"
#include "service/problem.hh"
#include "service/tls.hh"

namespace nvab {
namespace {

// A body that is refused is still taken up to here, so that the connection can go on and the client
// surely reads the answer.
constexpr std::uint64_t kMaxSwallowed = 256 * 1024;
// The announced length is believed up to here; a liar costs address space only.
constexpr std::uint64_t kMaxReserved = 8 * 1024 * 1024;
// RapidJSON's vector loads read whole blocks, behind the end of the text, too.
constexpr std::uint64_t kBodySlack = 64;

// One request, from its first line to its end.
struct RequestState {
  Request request;
  Connection* connection = nullptr;
  std::string target;
  std::optional<Response> refusal;
  std::size_t limit = 0;
  std::uint64_t bytes_in = 0, bytes_out = 0, held = 0;
  int status = 0;
  std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();
  bool has_begun = false;
  unsigned lengths = 0;  // Content-Length headers
  bool is_chunked = false, expects_continue = false;
};

// What flies in a callback ends here.
template <typename T, typename F>
T guard(T failed, F&& body) noexcept {
  try {
    return body();
  } catch (const std::exception& error) {
    log_error(std::string("a request failed unexpectedly: ") + error.what());
  } catch (...) {
    log_error("a request failed unexpectedly");
  }
  return failed;
}

Response guarded_answer(HttpApp& app, Request& request) noexcept {
  try {
    return app.handle(request);
  } catch (const std::bad_alloc&) {
    return problem_response(Problem::out_of_memory, "There is not enough memory for this request.");
  } catch (const std::exception& error) {
    log_error(std::string("a request failed unexpectedly: ") + error.what());
  } catch (...) {
    log_error("a request failed unexpectedly");
  }
  return problem_response(Problem::internal, "An unexpected error; the service's log says more.");
}

MHD_Result take_header(void* cls, MHD_ValueKind /*kind*/, const char* name, std::size_t name_size,
                       const char* value, std::size_t value_size) {
  auto& state = *static_cast<RequestState*>(cls);
  RequestHeaders& headers = state.request.headers;
  const std::string_view key(name, name_size);
  const std::string_view text = value != nullptr ? std::string_view(value, value_size) : "";
  const auto is = [&](std::string_view known) {
    return key.size() == known.size() && starts_with_nocase(key, known);
  };
  switch (name_size) {
    case 6:
      if (is("Expect")) state.expects_continue = true;
      if (is("Cookie")) headers.cookie = text;
      break;
    case 10:
      if (is("User-Agent")) headers.user_agent = text;
      break;
    case 12:
      if (is("Content-Type")) headers.content_type = text;
      if (is("X-Request-Id")) headers.request_id = text;
      break;
    case 13:
      if (is("Authorization")) headers.authorization = text;
      if (is("If-None-Match")) headers.if_none_match = text;
      break;
    case 14:
      if (is("Content-Length")) {
        ++state.lengths;
        const auto length = parse_int(text);
        if (length && *length >= 0) {
          state.request.content_length = static_cast<std::uint64_t>(*length);
        }
      }
      break;
    case 15:
      if (is("X-Session-Token")) headers.session_token = text;
      break;
    case 16:
      if (is("Content-Encoding")) headers.content_encoding = text;
      break;
    case 17:
      if (is("Transfer-Encoding")) state.is_chunked = true;
      break;
    default:
      break;
  }
  return MHD_YES;
}

void free_body(void* body) { delete static_cast<std::string*>(body); }

// Hands the answer to the library. The connection is the client's turn from then on.
MHD_Result send_response(MHD_Connection* mhd, RequestState& state, Response response) {
  auto body = std::make_unique<std::string>(std::move(response.body));
  const std::size_t size = body->size();
  MHD_Response* made = MHD_create_response_from_buffer_with_free_callback_cls(
      size, body->data(), free_body, body.get());
  if (made == nullptr) return MHD_NO;
  static_cast<void>(body.release());  // the library's from here on
  if (response.status != 204 && response.status != 304) {
    MHD_add_response_header(made, "Content-Type", std::string(response.content_type).c_str());
  }
  for (const auto& [name, value] : response.headers) {
    MHD_add_response_header(made, std::string(name).c_str(), value.c_str());
  }
  if (response.must_close) MHD_add_response_header(made, "Connection", "close");
  if (const std::string_view id = state.request.headers.request_id; !id.empty()) {
    constexpr std::size_t kMaxRequestId = 128;
    const std::string shown = sanitize(id.substr(0, kMaxRequestId));
    MHD_add_response_header(made, "X-Request-Id", shown.c_str());
  }
  state.status = response.status;
  state.bytes_out = size;
  const MHD_Result queued = MHD_queue_response(mhd, static_cast<unsigned>(response.status), made);
  MHD_destroy_response(made);
  return queued;
}

std::optional<Response> refuse_connection(const Connection& connection) {
  std::optional<Response> refusal;
  switch (connection.fate()) {
    case Connection::Fate::welcome:
      return std::nullopt;
    case Connection::Fate::too_many:
      refusal = problem_response(Problem::too_many_connections, "Try again in a moment.");
      break;
    case Connection::Fate::too_many_of_client:
      refusal = problem_response(Problem::too_many_connections_of_client,
                                 "Use the connections that there are again, or close some.");
      break;
  }
  refusal->must_close = true;
  return refusal;
}

// Where two readers could take the body's length for different ones, nobody should guess.
std::optional<Response> refuse_framing(const RequestState& state) {
  if (state.lengths < 2 && !(state.lengths > 0 && state.is_chunked) &&
      (state.lengths == 0 || state.request.content_length)) {
    return std::nullopt;
  }
  Response refusal = problem_response(
      Problem::bad_header, "Content-Length must be one number, and not with Transfer-Encoding.");
  refusal.must_close = true;
  return refusal;
}

Response too_large(std::size_t limit) {
  return problem_response(Problem::body_too_large,
                          "At most " + std::to_string(limit) +
                              " bytes are taken here, before and after decoding; send the rest in "
                              "further requests.");
}

}  // namespace

struct HttpServer {
  Fd listener;
  HttpdOptions options;
  ConnectionTable& table;
  BodyBudget& budget;
  HttpApp& app;
  MHD_Daemon* daemon = nullptr;

  MHD_Result begin(MHD_Connection* mhd, const char* method, RequestState& state);
  MHD_Result receive(RequestState& state, std::string_view bytes);
  MHD_Result finish(MHD_Connection* mhd, RequestState& state);
  MHD_Result send_refusal(MHD_Connection* mhd, RequestState& state);
  std::optional<Response> refuse(MHD_Connection* mhd, RequestState& state);
  void done(RequestState& state);
  void drop_body(RequestState& state);
};

std::optional<Response> HttpServer::refuse(MHD_Connection* mhd, RequestState& state) {
  Request& request = state.request;
  MHD_get_connection_values_n(mhd, MHD_HEADER_KIND, take_header, &state);
  if (auto refusal = refuse_connection(*state.connection)) return refusal;
  if (auto refusal = refuse_framing(state)) return refusal;
  if (!options.tls.client_ca.empty()) {
    const auto* info = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_GNUTLS_SESSION);
    if (info == nullptr || !has_valid_certificate(info->tls_session)) {
      return problem_response(Problem::unauthorized,
                              "Show a client certificate of an authority that is trusted here.");
    }
  }
  if (auto refusal = app.begin(request)) return refusal;
  state.limit = app.body_limit(request);
  if (request.content_length.value_or(0) > state.limit) return too_large(state.limit);
  return std::nullopt;
}

MHD_Result HttpServer::begin(MHD_Connection* mhd, const char* method, RequestState& state) {
  state.has_begun = true;
  const auto* info = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
  if (info == nullptr || info->socket_context == nullptr) return MHD_NO;
  state.connection = static_cast<Connection*>(info->socket_context);
  if (!state.connection->move(Connection::Phase::waiting, Connection::Phase::receiving)) {
    return MHD_NO;
  }
  Request& request = state.request;
  request.method_word = method;
  request.method = method_from(method);
  request.client = state.connection->client();
  request.door = options.door;
  state.refusal = refuse(mhd, state);
  const std::uint64_t announced = request.content_length.value_or(0);
  if (!state.refusal) {
    request.body.reserve(std::min(announced, kMaxReserved) + kBodySlack);
    return MHD_YES;
  }
  const bool has_body = announced > 0 || state.is_chunked;
  const bool can_swallow =
      announced <= kMaxSwallowed && !state.expects_continue && !state.refusal->must_close;
  return has_body && can_swallow ? MHD_YES : send_refusal(mhd, state);
}

MHD_Result HttpServer::send_refusal(MHD_Connection* mhd, RequestState& state) {
  if (!state.connection->move(Connection::Phase::receiving, Connection::Phase::sending)) {
    return MHD_NO;
  }
  return send_response(mhd, state, std::move(*state.refusal));
}

void HttpServer::drop_body(RequestState& state) {
  budget.give(std::exchange(state.held, 0));
  std::string().swap(state.request.body);
}

MHD_Result HttpServer::receive(RequestState& state, std::string_view bytes) {
  state.bytes_in += bytes.size();
  if (state.refusal) return state.bytes_in > state.limit + kMaxSwallowed ? MHD_NO : MHD_YES;
  if (state.bytes_in > state.limit) {
    state.refusal = too_large(state.limit);
  } else if (!budget.take(bytes.size())) {
    state.refusal =
        problem_response(Problem::out_of_memory, "The bodies that are on their way fill it.");
  } else {
    state.held += bytes.size();
    state.request.body.append(bytes);
    return MHD_YES;
  }
  drop_body(state);
  return MHD_YES;
}

MHD_Result HttpServer::finish(MHD_Connection* mhd, RequestState& state) {
  if (state.refusal) return send_refusal(mhd, state);
  Connection& connection = *state.connection;
  if (!connection.move(Connection::Phase::receiving, Connection::Phase::working)) return MHD_NO;
  Response response = guarded_answer(app, state.request);
  connection.move(Connection::Phase::working, Connection::Phase::sending);
  return send_response(mhd, state, std::move(response));
}

void HttpServer::done(RequestState& state) {
  budget.give(state.held);
  if (state.connection != nullptr) {
    const Connection::Phase phase = state.connection->phase();
    if (phase != Connection::Phase::expired) {
      state.connection->move(phase, Connection::Phase::waiting);
    }
  }
  if (!state.has_begun) return;
  Exchange exchange;
  exchange.status = state.status;
  exchange.bytes_in = state.bytes_in;
  exchange.bytes_out = state.bytes_out;
  exchange.took =
      std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now() - state.begin);
  app.done(state.request, exchange);
}

namespace {

// Before the head has come: the target as it was sent, with its escapes.
void* on_first_line(void* /*cls*/, const char* uri, MHD_Connection* /*mhd*/) {
  return guard<void*>(nullptr, [&]() -> void* {
    auto state = std::make_unique<RequestState>();
    state->target = uri;
    state->request.target = state->target;
    return state.release();
  });
}

// The library says which parameters.
// NOLINTNEXTLINE(readability-function-size)
MHD_Result on_request(void* cls, MHD_Connection* mhd, const char* /*url*/, const char* method,
                      const char* /*version*/, const char* data, std::size_t* size, void** kept) {
  return guard<MHD_Result>(MHD_NO, [&] {
    auto& server = *static_cast<HttpServer*>(cls);
    auto* state = static_cast<RequestState*>(*kept);
    if (state == nullptr) return MHD_NO;
    if (!state->has_begun) return server.begin(mhd, method, *state);
    if (*size == 0) return server.finish(mhd, *state);
    const std::string_view bytes(data, std::exchange(*size, 0));
    return server.receive(*state, bytes);
  });
}

void on_completed(void* cls, MHD_Connection* /*mhd*/, void** kept,
                  MHD_RequestTerminationCode /*how*/) {
  guard<int>(0, [&] {
    const std::unique_ptr<RequestState> state(static_cast<RequestState*>(*kept));
    *kept = nullptr;
    if (state) static_cast<HttpServer*>(cls)->done(*state);
    return 0;
  });
}

struct Peer {
  std::string name = "local";
  bool is_remote = false;
};

Peer peer_of(const sockaddr* address) {
  Peer peer;
  char text[INET6_ADDRSTRLEN] = "";
  if (address == nullptr) return peer;
  if (address->sa_family == AF_INET) {
    const auto* v4 = reinterpret_cast<const sockaddr_in*>(address);
    ::inet_ntop(AF_INET, &v4->sin_addr, text, sizeof(text));
    peer.is_remote = (ntohl(v4->sin_addr.s_addr) >> 24) != IN_LOOPBACKNET;
    peer.name = text;
  } else if (address->sa_family == AF_INET6) {
    const auto* v6 = reinterpret_cast<const sockaddr_in6*>(address);
    ::inet_ntop(AF_INET6, &v6->sin6_addr, text, sizeof(text));
    peer.is_remote = !IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
    peer.name = text;
  }
  return peer;
}

MHD_Result on_accept(void* cls, const sockaddr* address, socklen_t /*length*/) {
  return guard<MHD_Result>(MHD_NO, [&] {
    const Peer peer = peer_of(address);
    const auto& server = *static_cast<HttpServer*>(cls);
    return server.table.may_accept(peer.name, peer.is_remote) ? MHD_YES : MHD_NO;
  });
}

void on_connection(void* cls, MHD_Connection* mhd, void** kept, MHD_ConnectionNotificationCode c) {
  guard<int>(0, [&] {
    auto& server = *static_cast<HttpServer*>(cls);
    if (c == MHD_CONNECTION_NOTIFY_CLOSED) {
      if (*kept != nullptr) server.table.close(static_cast<Connection*>(*kept));
      *kept = nullptr;
      return 0;
    }
    const auto* fd = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD);
    const int descriptor = fd->connect_fd;
    const auto* address = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    Peer peer = peer_of(address->client_addr);
    *kept = server.table.open(descriptor, std::move(peer.name), peer.is_remote,
                              server.options.tls.certificate.empty());
    return 0;
  });
}

// Escapes are decoded by the router, where it is known what they may stand for.
std::size_t keep_escapes(void* /*cls*/, MHD_Connection* /*mhd*/, char* text) {
  return std::string_view(text).size();
}

__attribute__((format(printf, 2, 0))) void on_log(void* /*cls*/, const char* format,
                                                  va_list arguments) {
  char text[512];
  std::vsnprintf(text, sizeof(text), format, arguments);
  log_debug(std::string("libmicrohttpd: ") + std::string(trim(text)));
}

template <typename T>
MHD_OptionItem number(MHD_OPTION option, T value) {
  return {option, static_cast<std::intptr_t>(value), nullptr};
}
MHD_OptionItem text(MHD_OPTION option, const std::string& value) {
  return {option, 0, const_cast<char*>(value.c_str())};
}
template <typename F>
MHD_OptionItem callback(MHD_OPTION option, F function, void* cls) {
  return {option, reinterpret_cast<std::intptr_t>(function), cls};
}

std::vector<MHD_OptionItem> options_of(HttpServer& server) {
  const HttpdOptions& options = server.options;
  std::vector<MHD_OptionItem> all = {
      // First: later ones may already log.
      callback(MHD_OPTION_EXTERNAL_LOGGER, on_log, nullptr),
      number(MHD_OPTION_LISTEN_SOCKET, server.listener.get()),
      number(MHD_OPTION_THREAD_POOL_SIZE, options.threads),
      number(MHD_OPTION_CONNECTION_LIMIT, options.connections),
      number(MHD_OPTION_CONNECTION_MEMORY_LIMIT, options.header_bytes),
      number(MHD_OPTION_CONNECTION_TIMEOUT, options.silence.count()),
      number(MHD_OPTION_STRICT_FOR_CLIENT, 1),
      callback(MHD_OPTION_NOTIFY_COMPLETED, on_completed, &server),
      callback(MHD_OPTION_NOTIFY_CONNECTION, on_connection, &server),
      callback(MHD_OPTION_URI_LOG_CALLBACK, on_first_line, &server),
      callback(MHD_OPTION_UNESCAPE_CALLBACK, keep_escapes, &server),
  };
  if (!options.tls.certificate.empty()) {
    all.push_back(text(MHD_OPTION_HTTPS_MEM_CERT, options.tls.certificate));
    all.push_back(text(MHD_OPTION_HTTPS_MEM_KEY, options.tls.key));
    if (!options.tls.client_ca.empty()) {
      all.push_back(text(MHD_OPTION_HTTPS_MEM_TRUST, options.tls.client_ca));
    }
  }
  all.push_back(number(MHD_OPTION_END, 0));
  return all;
}

}  // namespace

Httpd::Httpd(std::unique_ptr<HttpServer> server) : server_(std::move(server)) {}

Result<std::unique_ptr<Httpd>> Httpd::start(Fd listener, const HttpdOptions& options,
                                            ConnectionTable& table, BodyBudget& budget,
                                            HttpApp& app) {
  auto server =
      std::unique_ptr<HttpServer>(new HttpServer{std::move(listener), options, table, budget, app});
  unsigned flags = MHD_USE_POLL_INTERNAL_THREAD | MHD_USE_ERROR_LOG | MHD_USE_ITC;
  if (!options.tls.certificate.empty()) flags |= MHD_USE_TLS;
  auto items = options_of(*server);
  server->daemon = MHD_start_daemon(flags, 0, on_accept, server.get(), on_request, server.get(),
                                    MHD_OPTION_ARRAY, items.data(), MHD_OPTION_END);
  if (server->daemon == nullptr) {
    return fail(Error::Code::internal,
                "starting the HTTP server: libmicrohttpd refused (are certificate and key a "
                "pair in PEM form? --log-level debug shows its words)");
  }
  return std::unique_ptr<Httpd>(new Httpd(std::move(server)));
}

void Httpd::stop_accepting() {
  // The library leaves the socket to us; it would go on queueing connections, also after a close as
  // long as one of its threads still polls it.
  if (MHD_quiesce_daemon(server_->daemon) == MHD_INVALID_SOCKET) return;
  ::shutdown(server_->listener.get(), SHUT_RDWR);
  server_->listener = Fd();
}

Httpd::~Httpd() {
  if (server_ == nullptr) return;
  MHD_stop_daemon(server_->daemon);
  // Not quiesced: the library has closed the socket with the daemon.
  server_->listener.release();
}

}  // namespace nvab
