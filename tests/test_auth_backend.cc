// SPDX-License-Identifier: Apache-2.0
// Credentials and backends: from settings to what arrives at a server. TLS is in test_auth_tls.sh.
// ctest: threads timeout=120
#include "epilog/http_backend.hh"

#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "common/base/file.hh"
#include "epilog/connector.hh"
#include "tests/cmocka.hh"
#include "tests/support/http_stub.hh"

using namespace nvab;
using namespace nvab::test;

namespace {

constexpr auto kParams = with_backend_params({{.name = "limit", .help = "of its own"}});
constexpr ComponentSpec kServer = {
    .framework = "server", .name = "x", .help = "A server", .params = kParams};

std::vector<ComponentSpec> all_with_server() {
  std::vector<ComponentSpec> specs(all_specs().begin(), all_specs().end());
  specs.push_back(kServer);
  return specs;
}

// Settings as a person writes them, and a backend that is opened from them.
struct Site {
  std::vector<ComponentSpec> specs = all_with_server();
  std::optional<Settings> settings;
  Host host;

  Result<HttpBackend> open(const std::string& text,
                           const std::vector<const char*>& environment = {}) {
    SettingsLoader loader(specs);
    loader.read_text("test.toml", text);
    std::vector<const char*> names = environment;
    names.push_back(nullptr);
    loader.read_environment(names.data());
    auto loaded = loader.finish();
    if (!loaded) return tl::unexpected<Error>(loaded.error());
    settings.emplace(std::move(*loaded));
    host.settings = &*settings;
    return HttpBackend::open(*settings->active("server").at(0), host);
  }
};

std::string server_at(const std::string& url, const std::string& more = {}) {
  return "[server.x]\nproxy = \"none\"\nurl = \"" + url + "\"\n" + more + "\n";
}

struct Folder {
  std::string path;
  Folder() {
    char name[] = "/tmp/nvab-auth-XXXXXX";
    path = ::mkdtemp(name);
  }
  ~Folder() {
    ::unlink(file("secret").c_str());
    ::rmdir(path.c_str());
  }
  std::string file(const std::string& name) const { return path + "/" + name; }
};

// What the server saw of the credentials in an answer of its own.
std::string echo(const StubRequest& request) {
  return stub_answer(200, request.target + "|" + request.header("authorization") + "|" +
                              request.header("x-scope-orgid"));
}

std::string answer_of(HttpBackend& backend, const std::string& path = "/p") {
  HttpRequest request;
  request.url = path;
  const auto answer = backend.send(request, {});
  return answer ? answer->body : answer.error().message;
}

void a_token_goes_along_from_a_file_and_from_the_environment(void**) {
  HttpStub server(echo);
  Folder folder;
  assert_true(write_file(folder.file("secret"), "tok-1\n").has_value());
  Site site;
  auto backend = site.open(server_at(server.url() + "/base/", "auth = \"site\"") +
                           "[auth.token.site]\ninsecure = true\ntoken_file = \"" +
                           folder.file("secret") + "\"\n");
  if (!backend) fail_msg("%s", backend.error().message.c_str());
  assert_string_equal(answer_of(*backend).c_str(), "/base/p|Bearer tok-1|");
  backend =
      site.open(server_at(server.url(), "auth = \"site\"") + "[auth.token.site]\ninsecure = true\n",
                {"NVAB_AUTH_TOKEN_SITE_TOKEN=tok-2"});
  if (!backend) fail_msg("%s", backend.error().message.c_str());
  assert_string_equal(answer_of(*backend).c_str(), "/p|Bearer tok-2|");
}

void a_replaced_token_is_used_from_the_next_request_on(void**) {
  HttpStub server(echo);
  Folder folder;
  assert_true(write_file(folder.file("secret"), "old").has_value());
  Site site;
  auto backend = site.open(server_at(server.url(), "auth = \"site\"") +
                           "[auth.token.site]\ninsecure = true\ntoken_file = \"" +
                           folder.file("secret") + "\"\n");
  assert_string_equal(answer_of(*backend).c_str(), "/p|Bearer old|");
  assert_true(write_file(folder.file("secret"), "new").has_value());
  assert_string_equal(answer_of(*backend).c_str(), "/p|Bearer new|");
  // Some writers empty the file first.
  assert_true(write_file(folder.file("secret"), "").has_value());
  assert_string_equal(answer_of(*backend).c_str(), "/p|Bearer new|");
}

void a_token_that_is_replaced_while_the_server_refuses_it_is_tried_at_once(void**) {
  Folder folder;
  int requests = 0;
  HttpStub server([&](const StubRequest& request) {
    ++requests;
    if (request.header("authorization") == "Bearer new") return stub_answer(200, "in");
    const auto written = write_file(folder.file("secret"), "new");
    return stub_answer(written ? 401 : 500, "");
  });
  assert_true(write_file(folder.file("secret"), "old").has_value());
  Site site;
  auto backend = site.open(server_at(server.url(), "auth = \"site\"") +
                           "[auth.token.site]\ninsecure = true\ntoken_file = \"" +
                           folder.file("secret") + "\"\n");
  assert_string_equal(answer_of(*backend).c_str(), "in");
  assert_int_equal(requests, 2);
}

void user_and_password_and_a_tenant_go_along(void**) {
  HttpStub server(echo);
  Site site;
  auto backend =
      site.open(server_at(server.url(), "auth = \"site\"\nheaders = [\"X-Scope-OrgID: hpc\"]") +
                    "[auth.basic.site]\nuser = \"Aladdin\"\ninsecure = true\n",
                {"NVAB_AUTH_BASIC_SITE_PASSWORD=open sesame"});
  if (!backend) fail_msg("%s", backend.error().message.c_str());
  assert_string_equal(answer_of(*backend).c_str(), "/p|Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==|hpc");
}

// What must be refused, with a word that says why, and never with the secret.
void settings_that_would_leak_or_cannot_work_are_refused(void**) {
  const std::string good = "[auth.token.site]\ninsecure = true\n";
  const struct {
    std::string settings;
    const char* says;
  } cases[] = {
      {server_at("http://h", "auth = \"site\"") + "[auth.token.site]\n", "plain http"},
      {server_at("http://h", "auth = \"other\"") + good, "no [auth.token.other]"},
      {server_at("http://h", "auth = \"site\"") + good + "enabled = false\n",
       "no [auth.token.site]"},
      {server_at("https://h", "auth = \"b\"") + "[auth.basic.b]\nuser = \"a:b\"\n", "user"},
      {server_at("https://h", "auth = \"site\"") + good + "[auth.basic.site]\nuser = \"a\"\n",
       "both [auth.token.site] and [auth.basic.site]"},
      {server_at("https://u:hunter2@h"), "auth.basic"},
      {server_at("ftp://h"), "wants http://"},
      {server_at("https://h?x=1"), "wants http://"},
      {"[server.x]\n", "has no url"},
      {server_at("https://h", "headers = [\"Authorization: Bearer hunter2\"]"), "auth."},
      {server_at("https://h", "headers = [\"nonsense\"]"), "NAME: VALUE"},
      {server_at("https://h", "proxy_auth = \"site\"") + good, "no [auth.basic.site]"},
      {server_at("https://h", "auth = \"m\"") + "[auth.mtls.m]\nkey_file = \"/none\"\n",
       "certificate_file is not set"},
  };
  for (const auto& one : cases) {
    Site site;
    const auto backend = site.open(one.settings, {"NVAB_AUTH_TOKEN_SITE_TOKEN=hunter2"});
    if (backend) fail_msg("taken: %s", one.settings.c_str());
    const std::string& message = backend.error().message;
    if (message.find(one.says) == std::string::npos) fail_msg("%s", message.c_str());
    assert_int_equal(backend.error().code, Error::Code::malformed);
    assert_null(std::strstr(message.c_str(), "hunter2"));
  }
}

void a_secret_in_a_settings_file_is_refused(void**) {
  Site site;
  const auto backend = site.open(server_at("https://h", "auth = \"site\"") +
                                 "[auth.token.site]\ntoken = \"hunter2\"\n");
  assert_false(backend.has_value());
  assert_non_null(std::strstr(backend.error().message.c_str(), "token_file"));
  assert_null(std::strstr(backend.error().message.c_str(), "hunter2"));
}

void a_missing_or_unfit_file_of_a_secret_is_named_but_not_quoted(void**) {
  HttpStub server(echo);
  Folder folder;
  const std::string settings = server_at(server.url(), "auth = \"site\"") +
                               "[auth.token.site]\ninsecure = true\ntoken_file = \"" +
                               folder.file("secret") + "\"\n";
  Site site;
  auto backend = site.open(settings);
  assert_non_null(std::strstr(answer_of(*backend).c_str(), folder.file("secret").c_str()));
  for (const char* text : {"\n", "two\nlines"}) {
    assert_true(write_file(folder.file("secret"), text).has_value());
    backend = site.open(settings);
    const std::string message = answer_of(*backend);
    assert_non_null(std::strstr(message.c_str(), folder.file("secret").c_str()));
    assert_null(std::strstr(message.c_str(), "two"));
  }
}

void secrets_are_not_shown_with_the_settings(void**) {
  Site site;
  const auto backend = site.open(server_at("https://h", "auth = \"site\"") + "[auth.token.site]\n",
                                 {"NVAB_AUTH_TOKEN_SITE_TOKEN=hunter2"});
  assert_true(backend.has_value());
  assert_null(std::strstr(site.settings->show(true).c_str(), "hunter2"));
}

void a_busy_server_is_asked_again_but_a_body_that_has_begun_is_not(void**) {
  int requests = 0;
  HttpStub server([&](const StubRequest& request) -> std::string {
    ++requests;
    if (request.target == "/cut") return "HTTP/1.1 200 X\r\nContent-Length: 100\r\n\r\nhalf";
    return requests == 1 ? stub_answer(429, "", "Retry-After: 0\r\n") : stub_answer(200, "x");
  });
  Site site;
  auto backend = site.open(server_at(server.url()));
  assert_string_equal(answer_of(*backend).c_str(), "x");
  assert_int_equal(backend->usage().requests, 2);
  assert_int_equal(backend->usage().retries, 1);
  requests = 0;
  HttpRequest request;
  request.url = "/cut";
  std::string taken;
  request.on_body = [&](std::string_view piece) {
    taken += piece;
    return true;
  };
  const auto answer = backend->send(request, Deadline::after(std::chrono::seconds(1)));
  assert_false(answer.has_value());
  assert_string_equal(taken.c_str(), "half");
  assert_int_equal(requests, 1);
}

void answers_become_errors_with_the_servers_words(void**) {
  const struct {
    int status;
    const char* body;
    Error::Code code;
    const char* says;
  } cases[] = {
      {401, "no org id", Error::Code::permission, "x: HTTP 401: no org id"},
      {400, R"({"status":"error","errorType":"bad_data","error":"parse error"})",
       Error::Code::malformed, "x: HTTP 400: parse error"},
      {400, "<html><head><title>400 No required SSL certificate was sent</title>",
       Error::Code::permission, "x: HTTP 400: it refuses our certificate"},
      {502, "<html>Bad Gateway", Error::Code::unavailable, "x: HTTP 502"},
      {500, "a\nb\x1b[31m", Error::Code::internal, "x: HTTP 500: a b"},
      {404, "", Error::Code::not_found, "x: HTTP 404"},
  };
  for (const auto& one : cases) {
    HttpAnswer answer;
    answer.status = one.status;
    answer.body = one.body;
    const Error error = answer_error("x", answer);
    assert_string_equal(error.message.c_str(), one.says);
    assert_int_equal(error.code, one.code);
  }
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(a_token_goes_along_from_a_file_and_from_the_environment),
      cmocka_unit_test(a_replaced_token_is_used_from_the_next_request_on),
      cmocka_unit_test(a_token_that_is_replaced_while_the_server_refuses_it_is_tried_at_once),
      cmocka_unit_test(user_and_password_and_a_tenant_go_along),
      cmocka_unit_test(settings_that_would_leak_or_cannot_work_are_refused),
      cmocka_unit_test(a_secret_in_a_settings_file_is_refused),
      cmocka_unit_test(a_missing_or_unfit_file_of_a_secret_is_named_but_not_quoted),
      cmocka_unit_test(secrets_are_not_shown_with_the_settings),
      cmocka_unit_test(a_busy_server_is_asked_again_but_a_body_that_has_begun_is_not),
      cmocka_unit_test(answers_become_errors_with_the_servers_words),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
