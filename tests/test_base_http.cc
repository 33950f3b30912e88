// SPDX-License-Identifier: Apache-2.0
// The HTTP client against a server that says whatever a test wants.
// ctest: threads timeout=120
#include "common/base/http.hh"

#include <cstring>
#include <thread>

#include "common/base/http_retry.hh"
#include "tests/cmocka.hh"
#include "tests/support/http_stub.hh"

using namespace nvab;
using namespace nvab::test;
using namespace std::chrono_literals;

namespace {

HttpClient client_of(HttpOptions options = {}) {
  options.proxy = "none";
  auto client = HttpClient::create(std::move(options));
  if (!client) fail_msg("%s", client.error().message.c_str());
  return std::move(*client);
}

HttpRequest get(const std::string& url) {
  HttpRequest request;
  request.url = url;
  return request;
}

// "hello, hello, hello, hello" as gzip.
constexpr std::string_view kPacked(
    "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\xcb\x48\xcd\xc9\xc9\xd7\x51\xc8\xc0\xa4\x00\x55\xa3"
    "\x82\x77\x1a\x00\x00\x00",
    29);

void an_answer_comes_with_status_body_and_what_patience_needs(void**) {
  HttpStub server([](const StubRequest& request) {
    return stub_answer(503, request.method + " " + request.target + " " + request.header("x-a"),
                       "Retry-After: 7\r\nContent-Type: text/plain\r\n");
  });
  HttpClient client = client_of();
  HttpRequest request = get(server.url() + "/p?q=1");
  request.headers = {"X-A: b"};
  const auto answer = client.send(request);
  assert_true(answer.has_value());
  assert_int_equal(answer->status, 503);
  assert_string_equal(answer->body.c_str(), "GET /p?q=1 b");
  assert_string_equal(answer->retry_after.c_str(), "7");
  assert_string_equal(answer->content_type.c_str(), "text/plain");
}

void a_packed_answer_is_unpacked_and_counted_as_such(void**) {
  bool was_asked_for = false;
  HttpStub server([&](const StubRequest& request) {
    was_asked_for = request.header("accept-encoding") == "gzip";
    return stub_answer(200, std::string(kPacked), "Content-Encoding: gzip\r\n");
  });
  HttpClient client = client_of();
  const auto answer = client.send(get(server.url()));
  assert_true(answer.has_value());
  assert_true(was_asked_for);
  assert_string_equal(answer->body.c_str(), "hello, hello, hello, hello");
  assert_int_equal(answer->bytes, 26);
}

void the_body_of_a_success_goes_to_the_callback_and_that_of_an_error_does_not(void**) {
  HttpStub server([](const StubRequest& request) {
    return request.target == "/good" ? stub_answer(200, "data") : stub_answer(400, "why not");
  });
  HttpClient client = client_of();
  std::string taken;
  HttpRequest request = get(server.url() + "/good");
  request.on_body = [&](std::string_view piece) {
    taken += piece;
    return true;
  };
  auto answer = client.send(request);
  assert_string_equal(taken.c_str(), "data");
  assert_string_equal(answer->body.c_str(), "");
  request.url = server.url() + "/bad";
  answer = client.send(request);
  assert_string_equal(taken.c_str(), "data");
  assert_string_equal(answer->body.c_str(), "why not");
}

void a_callback_may_end_the_transfer(void**) {
  HttpStub server([](const StubRequest&) { return stub_answer(200, std::string(1 << 20, 'x')); });
  HttpClient client = client_of();
  std::size_t taken = 0;
  HttpRequest request = get(server.url());
  request.on_body = [&](std::string_view piece) {
    taken += piece.size();
    return false;
  };
  const auto answer = client.send(request);
  assert_true(answer.has_value());
  assert_true(answer->was_stopped);
  assert_true(taken < 1 << 20);
}

void an_answer_over_the_limit_is_an_error_also_when_it_is_streamed(void**) {
  HttpStub server([](const StubRequest&) { return stub_answer(200, std::string(5000, 'x')); });
  HttpOptions options;
  options.max_answer = 4999;
  HttpClient client = client_of(options);
  HttpRequest request = get(server.url());
  for (const bool is_streamed : {false, true}) {
    if (is_streamed) request.on_body = [](std::string_view) { return true; };
    const auto answer = client.send(request);
    assert_false(answer.has_value());
    assert_int_equal(answer.error().code, Error::Code::unavailable);
    assert_non_null(std::strstr(answer.error().message.c_str(), "more than 4999 bytes"));
  }
}

void connections_are_used_again(void**) {
  HttpStub server([](const StubRequest&) { return stub_answer(200, "x"); });
  HttpClient client = client_of();
  for (int i = 0; i < 20; ++i) assert_true(client.send(get(server.url())).has_value());
  assert_int_equal(server.connections(), 1);
}

void a_server_that_does_not_answer_costs_the_deadline(void**) {
  HttpStub server([](const StubRequest&) {
    std::this_thread::sleep_for(1500ms);
    return std::string();
  });
  HttpClient client = client_of();
  const auto begin = std::chrono::steady_clock::now();
  const auto answer = client.send(get(server.url()), Deadline::after(300ms));
  assert_false(answer.has_value());
  assert_int_equal(answer.error().code, Error::Code::timeout);
  assert_true(std::chrono::steady_clock::now() - begin < 1200ms);
}

void nobody_there_is_unavailable_and_a_wrong_url_malformed(void**) {
  int port = 0;
  {
    port = HttpStub([](const StubRequest&) { return std::string(); }).port();
  }
  HttpClient client = client_of();
  auto answer = client.send(get("http://127.0.0.1:" + std::to_string(port)));
  assert_int_equal(answer.error().code, Error::Code::unavailable);
  answer = client.send(get("file:///etc/passwd"));
  assert_int_equal(answer.error().code, Error::Code::malformed);
}

void redirects_at_home_are_followed_and_carry_credentials(void**) {
  HttpStub server([](const StubRequest& request) {
    if (request.target == "/old") return stub_answer(302, "", "Location: /new\r\n");
    return stub_answer(200, request.target + " " + request.header("authorization"));
  });
  HttpClient client = client_of();
  HttpRequest request = get(server.url() + "/old");
  request.secret_headers = {"Authorization: Bearer s3cret"};
  const auto answer = client.send(request);
  assert_string_equal(answer->body.c_str(), "/new Bearer s3cret");
}

void redirects_never_carry_credentials_to_another_place(void**) {
  int arrived = 0;
  HttpStub other([&](const StubRequest& request) {
    ++arrived;
    return stub_answer(200, "other " + request.header("authorization"));
  });
  HttpStub server([&](const StubRequest&) {
    return stub_answer(307, "", "Location: " + other.url() + "/x\r\n");
  });
  HttpClient client = client_of();
  HttpRequest request = get(server.url());
  request.secret_headers = {"Authorization: Bearer s3cret"};
  const auto answer = client.send(request);
  assert_false(answer.has_value());
  assert_int_equal(answer.error().code, Error::Code::permission);
  assert_non_null(std::strstr(answer.error().message.c_str(), other.url().c_str()));
  assert_null(std::strstr(answer.error().message.c_str(), "s3cret"));
  assert_int_equal(arrived, 0);
  request.secret_headers.clear();
  assert_string_equal(client.send(request)->body.c_str(), "other ");
}

void a_circle_of_redirects_ends(void**) {
  HttpStub server([](const StubRequest&) { return stub_answer(302, "", "Location: /\r\n"); });
  HttpClient client = client_of();
  const auto answer = client.send(get(server.url()));
  assert_int_equal(answer.error().code, Error::Code::unavailable);
}

void a_post_is_sent_on_only_as_a_post(void**) {
  HttpStub server([](const StubRequest& request) {
    if (request.target == "/302") return stub_answer(302, "", "Location: /new\r\n");
    if (request.target == "/308") return stub_answer(308, "", "Location: /new\r\n");
    return stub_answer(200, request.method + " " + request.body);
  });
  HttpClient client = client_of();
  HttpRequest request = get(server.url() + "/302");
  request.method = "POST";
  request.body = "data";
  assert_int_equal(client.send(request)->status, 302);
  request.url = server.url() + "/308";
  assert_string_equal(client.send(request)->body.c_str(), "POST data");
}

void a_proxy_is_asked_with_its_own_login(void**) {
  HttpStub proxy([](const StubRequest& request) {
    return stub_answer(200, request.target + " " + request.header("proxy-authorization"));
  });
  HttpOptions options;
  options.proxy = proxy.url();
  options.proxy_login = "ada:pw";
  auto client = HttpClient::create(options);
  assert_true(client.has_value());
  const auto answer = client->send(get("http://loki.example:3100/ready"));
  assert_true(answer.has_value());
  assert_string_equal(answer->body.c_str(), "http://loki.example:3100/ready Basic YWRhOnB3");
}

void origins_are_compared_with_their_ports(void**) {
  assert_string_equal(url_origin("https://Loki.Example/a?b").c_str(), "https://loki.example:443");
  assert_string_equal(url_origin("http://h:3100").c_str(), "http://h:3100");
  assert_string_equal(url_origin("http://[::1]/x").c_str(), "http://[::1]:80");
  assert_string_equal(url_origin("http://[::1]:3100/x").c_str(), "http://[::1]:3100");
  for (const char* wrong : {"", "host", "ftp://h/", "http://", "http://u:p@h/", "unix:/x"}) {
    assert_string_equal(url_origin(wrong).c_str(), "");
  }
  assert_string_equal(url_escape("{a=\"b c\"}é").c_str(), "%7Ba%3D%22b%20c%22%7D%C3%A9");
}

// ---- patience ----

struct Tries {
  std::vector<int> statuses;  // what the server says, the last one again and again
  std::string retry_after = {};
  int made = 0;
  Result<HttpAnswer> send() {
    HttpAnswer answer;
    answer.status = statuses[std::min<std::size_t>(made, statuses.size() - 1)];
    answer.retry_after = retry_after;
    ++made;
    return answer;
  }
};

int tries_of(Tries tries, RetryPolicy policy = {}, Deadline deadline = {}) {
  policy.first_pause = 1ms;
  send_patiently([&] { return tries.send(); }, policy, deadline);
  return tries.made;
}

void busy_servers_are_asked_again_and_others_are_not(void**) {
  for (const int status : {429, 502, 503, 504}) assert_int_equal(tries_of({{status, 200}}), 2);
  for (const int status : {200, 400, 401, 404, 500}) assert_int_equal(tries_of({{status}}), 1);
  assert_int_equal(tries_of({{503}}), RetryPolicy().attempts);
}

void a_pause_that_does_not_fit_is_not_waited_for(void**) {
  const auto begin = std::chrono::steady_clock::now();
  assert_int_equal(tries_of({{429}, "5"}, {}, Deadline::after(2s)), 1);
  assert_int_equal(tries_of({{429}, "3600"}), 1);
  assert_true(std::chrono::steady_clock::now() - begin < 1s);
}

void retry_after_is_waited_for(void**) {
  const auto begin = std::chrono::steady_clock::now();
  assert_int_equal(tries_of({{429, 200}, "0.3"}), 2);
  assert_true(std::chrono::steady_clock::now() - begin >= 300ms);
}

void an_end_that_was_asked_for_ends_the_tries(void**) {
  RetryPolicy policy;
  policy.is_over = [] { return true; };
  assert_int_equal(tries_of({{503}}, policy), 1);
}

void retry_after_is_seconds_or_a_date(void**) {
  const Time now = *parse_rfc3339("2026-03-01T10:00:00Z");
  assert_true(*parse_retry_after("30", now) == 30s);
  assert_true(*parse_retry_after("Sun, 01 Mar 2026 10:01:00 GMT", now) == 60s);
  assert_true(*parse_retry_after("Sun, 01 Mar 2026 09:00:00 GMT", now) == 0s);
  for (const char* wrong : {"", "soon", "-1", "nan"}) {
    assert_false(parse_retry_after(wrong, now).has_value());
  }
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(an_answer_comes_with_status_body_and_what_patience_needs),
      cmocka_unit_test(a_packed_answer_is_unpacked_and_counted_as_such),
      cmocka_unit_test(the_body_of_a_success_goes_to_the_callback_and_that_of_an_error_does_not),
      cmocka_unit_test(a_callback_may_end_the_transfer),
      cmocka_unit_test(an_answer_over_the_limit_is_an_error_also_when_it_is_streamed),
      cmocka_unit_test(connections_are_used_again),
      cmocka_unit_test(a_server_that_does_not_answer_costs_the_deadline),
      cmocka_unit_test(nobody_there_is_unavailable_and_a_wrong_url_malformed),
      cmocka_unit_test(redirects_at_home_are_followed_and_carry_credentials),
      cmocka_unit_test(redirects_never_carry_credentials_to_another_place),
      cmocka_unit_test(a_circle_of_redirects_ends),
      cmocka_unit_test(a_post_is_sent_on_only_as_a_post),
      cmocka_unit_test(a_proxy_is_asked_with_its_own_login),
      cmocka_unit_test(origins_are_compared_with_their_ports),
      cmocka_unit_test(busy_servers_are_asked_again_and_others_are_not),
      cmocka_unit_test(a_pause_that_does_not_fit_is_not_waited_for),
      cmocka_unit_test(retry_after_is_waited_for),
      cmocka_unit_test(an_end_that_was_asked_for_ends_the_tries),
      cmocka_unit_test(retry_after_is_seconds_or_a_date),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
