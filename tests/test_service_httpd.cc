// SPDX-License-Identifier: Apache-2.0
// The HTTP server over real sockets: framing, limits, hostile clients, and that others are served.
// ctest: threads
#include "service/httpd.hh"

#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "common/base/json.hh"
#include "service/listener.hh"
#include "service/problem.hh"
#include "tests/cmocka.hh"
#include "tests/support/http_socket.hh"

using namespace nvab;
using nvab::test::HttpSocket;

namespace {

constexpr std::size_t kLimit = 100'000;

// Answers with what it understood.
class EchoApp final : public HttpApp {
 public:
  std::optional<Response> begin(Request& head) override {
    if (head.path() == "/refused") return problem_response(Problem::no_such_path, "Not here.");
    return std::nullopt;
  }
  std::size_t body_limit(const Request&) const override { return kLimit; }
  Response handle(Request& request) override {
    if (request.path() == "/throw") throw std::runtime_error("on purpose");
    if (request.path() == "/huge") throw std::bad_alloc();
    Response response;
    response.body = std::string(to_string(request.method)) + " " + std::string(request.target) +
                    " " + std::to_string(request.body.size()) + " " +
                    std::string(media_type(request.headers.content_type));
    return response;
  }
  void done(const Request&, const Exchange& exchange) override {
    ++finished;
    if (exchange.status == 0) ++abandoned;
  }
  std::atomic<int> finished{0}, abandoned{0};
};

struct Server {
  explicit Server(ConnectionLimits limits, const std::string& address = "127.0.0.1:0",
                  std::uint64_t body_memory = 1'000'000)
      : table(limits), budget(body_memory) {
    auto listener = listen_on(*parse_listen(address), 0600);
    if (!listener) fail_msg("%s", listener.error().message.c_str());
    at = bound_to(*listener);
    HttpdOptions options;
    options.threads = 2;
    options.silence = std::chrono::seconds(30);
    options.connections = limits.connections * 2 + 64;
    auto started = Httpd::start(std::move(*listener), options, table, budget, app);
    if (!started) fail_msg("%s", started.error().message.c_str());
    httpd = std::move(*started);
  }
  EchoApp app;
  ConnectionTable table;
  BodyBudget budget;
  std::string at;
  std::unique_ptr<Httpd> httpd;
};

ConnectionLimits usual() {
  return {.connections = 64,
          .per_client = 0,
          .idle = std::chrono::seconds(30),
          .request = std::chrono::seconds(30)};
}

std::string code_of(const std::optional<nvab::test::Answer>& answer) {
  if (!answer) return "no answer";
  return Json::parse(answer->body).value_or(Json()).get("code").as_string().value_or("no code");
}

void a_connection_serves_several_requests(void**) {
  Server server(usual());
  HttpSocket client(server.at);
  for (int i = 0; i < 3; ++i) {
    const auto answer = client.ask("POST", "/a?b=%41", "{}");
    assert_true(answer.has_value());
    assert_int_equal(answer->status, 200);
    assert_string_equal(answer->body.c_str(), "POST /a?b=%41 2 application/json");
  }
  const auto head = client.ask("HEAD", "/a");
  assert_true(head.has_value());
  assert_string_equal(head->body.c_str(), "");
  assert_int_equal(client.ask("GET", "/a")->status, 200);
}

void the_target_arrives_as_it_was_sent(void**) {
  Server server(usual());
  HttpSocket client(server.at);
  const auto answer = client.ask("GET", "/v2/%2e%2e/%00/%2F?x=%zz");
  assert_true(answer.has_value());
  assert_string_equal(answer->body.c_str(), "GET /v2/%2e%2e/%00/%2F?x=%zz 0 ");
}

void chunked_bodies_are_put_together(void**) {
  Server server(usual());
  HttpSocket client(server.at);
  assert_true(client.send("POST /c HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n"));
  assert_true(client.send("5\r\nabcde\r\n"));
  assert_true(client.send("3\r\nfgh\r\n0\r\n\r\n"));
  const auto answer = client.receive();
  assert_true(answer.has_value());
  assert_string_equal(answer->body.c_str(), "POST /c 8 ");
}

void who_asks_first_is_told_to_go_on(void**) {
  Server server(usual());
  HttpSocket client(server.at);
  assert_true(client.send(
      "POST /e HTTP/1.1\r\nHost: t\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n"));
  const auto go_on = client.receive();
  assert_true(go_on.has_value());
  assert_int_equal(go_on->status, 100);
  assert_true(client.send("abc"));
  assert_int_equal(client.receive()->status, 200);
}

void who_asks_first_with_too_much_is_not(void**) {
  Server server(usual());
  HttpSocket client(server.at);
  assert_true(client.send(
      "POST /e HTTP/1.1\r\nHost: t\r\nExpect: 100-continue\r\nContent-Length: 300000\r\n\r\n"));
  const auto answer = client.receive();
  assert_string_equal(code_of(answer).c_str(), "body_too_large");
  assert_int_equal(answer->status, 413);
}

void a_body_over_the_limit_is_refused_and_the_connection_goes_on(void**) {
  Server server(usual());
  HttpSocket client(server.at);
  const auto answer = client.ask("POST", "/b", std::string(kLimit + 1, 'x'));
  assert_string_equal(code_of(answer).c_str(), "body_too_large");
  const auto exact = client.ask("POST", "/b", std::string(kLimit, 'x'));
  assert_true(exact.has_value());
  assert_int_equal(exact->status, 200);
}

void a_chunked_body_over_the_limit_is_refused(void**) {
  Server server(usual());
  HttpSocket client(server.at);
  assert_true(client.send("POST /c HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n"));
  const std::string piece(0x8000, 'x');
  for (int i = 0; i < 4; ++i) assert_true(client.send("8000\r\n" + piece + "\r\n"));
  assert_true(client.send("0\r\n\r\n"));
  assert_string_equal(code_of(client.receive()).c_str(), "body_too_large");
}

void a_chunked_body_without_end_is_cut(void**) {
  Server server(usual());
  HttpSocket client(server.at);
  client.send("POST /c HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n");
  const std::string piece = "8000\r\n" + std::string(0x8000, 'x') + "\r\n";
  int sent = 0;
  while (sent < 10'000 && client.send(piece)) ++sent;
  assert_true(sent < 10'000);
}

void a_refusal_by_the_head_leaves_the_connection_usable(void**) {
  Server server(usual());
  HttpSocket client(server.at);
  assert_string_equal(code_of(client.ask("POST", "/refused", "{}")).c_str(), "no_such_path");
  assert_int_equal(client.ask("GET", "/a")->status, 200);
}

void ambiguous_lengths_are_refused(void**) {
  Server server(usual());
  const char* const heads[] = {
      "Content-Length: 3\r\nContent-Length: 4\r\n",
      "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n",
  };
  for (const char* head : heads) {
    HttpSocket client(server.at);
    client.send(std::string("POST /a HTTP/1.1\r\nHost: t\r\n") + head + "\r\nabc");
    const auto answer = client.receive();
    assert_true(answer.has_value());
    assert_int_equal(answer->status, 400);
    assert_true(client.is_closed_within(10));
  }
  HttpSocket negative(server.at);
  negative.send("POST /a HTTP/1.1\r\nHost: t\r\nContent-Length: -3\r\n\r\n");
  const auto answer = negative.receive();
  assert_true(!answer || answer->status == 400);
}

void what_a_handler_throws_is_an_answer(void**) {
  Server server(usual());
  HttpSocket client(server.at);
  const auto thrown = client.ask("GET", "/throw");
  assert_string_equal(code_of(thrown).c_str(), "internal");
  assert_int_equal(thrown->status, 500);
  assert_string_equal(code_of(client.ask("GET", "/huge")).c_str(), "out_of_memory");
  assert_int_equal(client.ask("GET", "/a")->status, 200);
}

void garbage_ends_its_connection_only(void**) {
  Server server(usual());
  HttpSocket good(server.at);
  assert_int_equal(good.ask("GET", "/a")->status, 200);
  const std::string heads[] = {
      std::string("\0\0\0\0\r\n\r\n", 8),
      "GET\r\n\r\n",
      "GET /a HTTP/9.9\r\n\r\n",
      "GET /a HTTP/1.1\r\nno colon\r\n\r\n",
      "POST /a HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
      "GET /" + std::string(200'000, 'a') + " HTTP/1.1\r\nHost: t\r\n\r\n",
      "GET /a HTTP/1.1\r\nHost: t\r\nX: " + std::string(200'000, 'a') + "\r\n\r\n",
      "\x16\x03\x01\x02\x01\x01\xff",
  };
  for (const std::string& head : heads) {
    HttpSocket client(server.at);
    client.send(head);
    ::shutdown(client.fd(), SHUT_WR);
    assert_true(client.is_closed_within(10));
  }
  assert_int_equal(good.ask("GET", "/a")->status, 200);
}

void connections_that_only_wait_make_room(void**) {
  ConnectionLimits limits = usual();
  limits.connections = 16;
  Server server(limits);
  std::vector<HttpSocket> slow;
  for (int i = 0; i < 200; ++i) {
    slow.emplace_back(server.at);
    slow.back().send("GET /slow HTTP/1.1\r\nHo");
  }
  for (int i = 0; i < 5; ++i) {
    HttpSocket client(server.at);
    const auto answer = client.ask("GET", "/a");
    assert_true(answer.has_value());
    assert_int_equal(answer->status, 200);
  }
  assert_true(server.table.counts().evicted >= 180);
  assert_true(server.table.size() < 40);
}

void when_all_are_busy_a_new_one_is_told(void**) {
  ConnectionLimits limits = usual();
  limits.connections = 4;
  Server server(limits);
  std::vector<HttpSocket> half;
  for (int i = 0; i < 4; ++i) {
    half.emplace_back(server.at);
    half.back().send("POST /a HTTP/1.1\r\nHost: t\r\nContent-Length: 10\r\n\r\nhalf");
  }
  while (server.table.busy() < 4) std::this_thread::yield();
  HttpSocket client(server.at);
  const auto answer = client.ask("GET", "/a");
  assert_string_equal(code_of(answer).c_str(), "too_many_connections");
  assert_int_equal(answer->status, 503);
  assert_string_equal(answer->header("retry-after").c_str(), "1");
  assert_true(client.is_closed_within(10));
  assert_true(half.front().send("enough"));
  assert_int_equal(half.front().receive()->status, 200);
}

void a_body_that_trickles_in_is_ended_with_408(void**) {
  ConnectionLimits limits = usual();
  limits.request = std::chrono::seconds(0);
  Server server(limits);
  HttpSocket client(server.at);
  client.send("POST /a HTTP/1.1\r\nHost: t\r\nContent-Length: 10\r\n\r\nhalf");
  while (server.table.busy() < 1) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  server.table.expire("HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n");
  const auto answer = client.receive();
  assert_true(answer.has_value());
  assert_int_equal(answer->status, 408);
  assert_true(client.is_closed_within(10));
  while (server.app.finished < 1) std::this_thread::yield();
  assert_int_equal(server.app.abandoned, 1);
}

void idle_connections_are_closed_in_time(void**) {
  ConnectionLimits limits = usual();
  limits.idle = std::chrono::seconds(0);
  Server server(limits);
  HttpSocket client(server.at);
  assert_int_equal(client.ask("GET", "/a")->status, 200);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  server.table.expire("");
  assert_true(client.is_closed_within(10));
}

void bodies_together_are_bounded(void**) {
  Server server(usual(), "127.0.0.1:0", 150'000);
  HttpSocket first(server.at);
  first.send("POST /a HTTP/1.1\r\nHost: t\r\nContent-Length: 100000\r\n\r\n" +
             std::string(99'999, 'x'));
  while (server.budget.used() < 99'999) std::this_thread::yield();
  HttpSocket second(server.at);
  const auto answer = second.ask("POST", "/a", std::string(90'000, 'y'));
  assert_string_equal(code_of(answer).c_str(), "out_of_memory");
  assert_true(first.send("x"));
  assert_int_equal(first.receive()->status, 200);
  const auto again = second.ask("POST", "/a", std::string(90'000, 'y'));
  assert_true(again.has_value());
  assert_int_equal(again->status, 200);
}

void a_unix_socket_serves_and_is_taken_over_when_stale(void**) {
  const std::string path = "/tmp/nvab-test-" + std::to_string(::getpid()) + ".sock";
  for (int i = 0; i < 2; ++i) {
    Server server(usual(), "unix:" + path);
    HttpSocket client(server.at);
    assert_int_equal(client.ask("GET", "/a")->status, 200);
    assert_false(listen_on(*parse_listen("unix:" + path), 0600).has_value());
  }
  ::unlink(path.c_str());
}

void stopping_lets_requests_end(void**) {
  Server server(usual());
  HttpSocket client(server.at);
  client.send("POST /a HTTP/1.1\r\nHost: t\r\nContent-Length: 4\r\n\r\nab");
  while (server.table.busy() < 1) std::this_thread::yield();
  server.httpd->stop_accepting();
  assert_false(HttpSocket(server.at).is_open());
  client.send("cd");
  assert_int_equal(client.receive()->status, 200);
}

void many_clients_at_once_are_all_answered(void**) {
  Server server(usual());
  std::atomic<int> good{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      HttpSocket client(server.at);
      for (int i = 0; i < 200; ++i) {
        const auto answer = client.ask("POST", "/m", "{}");
        if (answer && answer->status == 200) ++good;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  assert_int_equal(good, 1600);
  // A client has its answer a moment before the server has put the request away.
  for (int i = 0; i < 2000 && server.budget.used() > 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  assert_int_equal(server.budget.used(), 0);
}

void addresses_are_read_or_refused(void**) {
  assert_string_equal(parse_listen("unix:/a b")->path.c_str(), "/a b");
  assert_string_equal(parse_listen("[::1]:80")->host.c_str(), "::1");
  assert_string_equal(parse_listen("localhost:0")->port.c_str(), "0");
  for (const char* wrong :
       {"", "localhost", ":80", "h:", "h:65536", "h:-1", "h:8x", "::1:80", "unix:"}) {
    assert_false(parse_listen(wrong).has_value());
  }
  const auto taken = listen_on(*parse_listen("127.0.0.1:0"), 0);
  assert_true(taken.has_value());
  const auto again = listen_on(*parse_listen(bound_to(*taken)), 0);
  assert_false(again.has_value());
  assert_true(again.error().code == Error::Code::conflict);
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(a_connection_serves_several_requests),
      cmocka_unit_test(the_target_arrives_as_it_was_sent),
      cmocka_unit_test(chunked_bodies_are_put_together),
      cmocka_unit_test(who_asks_first_is_told_to_go_on),
      cmocka_unit_test(who_asks_first_with_too_much_is_not),
      cmocka_unit_test(a_body_over_the_limit_is_refused_and_the_connection_goes_on),
      cmocka_unit_test(a_chunked_body_over_the_limit_is_refused),
      cmocka_unit_test(a_chunked_body_without_end_is_cut),
      cmocka_unit_test(a_refusal_by_the_head_leaves_the_connection_usable),
      cmocka_unit_test(ambiguous_lengths_are_refused),
      cmocka_unit_test(what_a_handler_throws_is_an_answer),
      cmocka_unit_test(garbage_ends_its_connection_only),
      cmocka_unit_test(connections_that_only_wait_make_room),
      cmocka_unit_test(when_all_are_busy_a_new_one_is_told),
      cmocka_unit_test(a_body_that_trickles_in_is_ended_with_408),
      cmocka_unit_test(idle_connections_are_closed_in_time),
      cmocka_unit_test(bodies_together_are_bounded),
      cmocka_unit_test(a_unix_socket_serves_and_is_taken_over_when_stale),
      cmocka_unit_test(stopping_lets_requests_end),
      cmocka_unit_test(many_clients_at_once_are_all_answered),
      cmocka_unit_test(addresses_are_read_or_refused),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
