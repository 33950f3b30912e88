// SPDX-License-Identifier: Apache-2.0
// Paths to calls: what is found, what is refused and how, and tricks that must not work.
#include "service/router.hh"

#include <set>
#include <string>

#include "tests/cmocka.hh"

using namespace nvab;

namespace {

Route route(Method method, std::string_view pattern, std::string_view operation,
            bool is_admin = false) {
  RouteSpec spec;
  spec.method = method;
  spec.pattern = pattern;
  spec.operation = operation;
  spec.is_admin = is_admin;
  return {spec, [](Request&) { return Response{}; }};
}

Router router() {
  return Router({route(Method::get, "/things", "list"), route(Method::post, "/things", "create"),
                 route(Method::get, "/things/{id}", "get"),
                 route(Method::del, "/things/{id}", "remove"),
                 route(Method::post, "/things/{id}/part", "part"),
                 route(Method::post, "/admin/reload", "reload", true)});
}

struct Found {
  std::string operation, id, code, allow;
  int status = 0;
};

Found resolve(std::string_view method, std::string_view target, Door door = Door::network) {
  static const Router table = router();
  Request request;
  request.method = method_from(method);
  request.method_word = method;
  request.target = target;
  request.door = door;
  const auto refusal = table.resolve(request);
  Found found;
  if (!refusal) {
    found.operation = request.route->spec.operation;
    found.id = request.id;
    return found;
  }
  found.status = refusal->status;
  for (const auto& [name, value] : refusal->headers) {
    if (name == "Allow") found.allow = value;
  }
  const Json body = Json::parse(refusal->body).value_or(Json());
  found.code = body.get("code").as_string().value_or("");
  return found;
}

void paths_and_methods_find_their_call(void**) {
  assert_string_equal(resolve("GET", "/things").operation.c_str(), "list");
  assert_string_equal(resolve("HEAD", "/things?x=1").operation.c_str(), "list");
  assert_string_equal(resolve("POST", "/things").operation.c_str(), "create");
  assert_string_equal(resolve("DELETE", "/things/a1").operation.c_str(), "remove");
  assert_string_equal(resolve("DELETE", "/things/a1").id.c_str(), "a1");
  assert_string_equal(resolve("POST", "/things/a%31/part").operation.c_str(), "part");
  assert_string_equal(resolve("POST", "/things/a%31/part").id.c_str(), "a1");
}

void a_wrong_method_is_told_the_right_ones(void**) {
  const Found found = resolve("PUT", "/things/a1");
  assert_int_equal(found.status, 405);
  assert_string_equal(found.code.c_str(), "method_not_allowed");
  assert_string_equal(found.allow.c_str(), "GET, HEAD, DELETE, OPTIONS");
  for (const char* method : {"get", "BREW", "PATCH", "CONNECT", "TRACE", ""}) {
    assert_int_equal(resolve(method, "/things").status, 405);
  }
}

void options_say_what_a_path_takes(void**) {
  const Found found = resolve("OPTIONS", "/things");
  assert_int_equal(found.status, 204);
  assert_string_equal(found.allow.c_str(), "GET, HEAD, POST, OPTIONS");
  assert_int_equal(resolve("OPTIONS", "*").status, 204);
  assert_int_equal(resolve("OPTIONS", "/nowhere").status, 404);
}

void tricks_with_paths_find_nothing(void**) {
  for (const char* target :
       {"/", "", "things", "/things/", "//things", "/things//part", "/Things", "/%74hings",
        "/./things", "/x/../things", "/things/a/part/", "/things/a/b/part", "/things;x=1",
        "/things%00", "*", "/things\\a", "http://h/things", "/things%2fa%2fpart"}) {
    const Found found = resolve("POST", target);
    if (found.status != 404) fail_msg("%s: %d", target, found.status);
    assert_string_equal(found.code.c_str(), "no_such_path");
  }
}

void ids_that_are_none_are_refused(void**) {
  const std::string longest(300, 'a');
  for (const std::string& id :
       {std::string("%00"), std::string("a%2fb"), std::string("%zz"), std::string("%"),
        std::string("%4"), std::string("%0d%0aX: y"), std::string("a%5cb"), longest}) {
    const Found found = resolve("GET", "/things/" + id);
    if (found.status != 400) fail_msg("%s: %d", id.c_str(), found.status);
    assert_string_equal(found.code.c_str(), "bad_path");
  }
}

void admin_calls_exist_on_the_admin_socket_only(void**) {
  assert_int_equal(resolve("POST", "/admin/reload").status, 404);
  assert_int_equal(resolve("POST", "/admin/reload", Door::local).status, 404);
  assert_int_equal(resolve("OPTIONS", "/admin/reload").status, 404);
  assert_string_equal(resolve("POST", "/admin/reload", Door::admin).operation.c_str(), "reload");
}

void query_values_are_decoded(void**) {
  Request request;
  request.target = "/p?a=1&b=x%20y+z&c&d=%zz&a=2&=q";
  assert_string_equal(request.query("a")->c_str(), "1");
  assert_string_equal(request.query("b")->c_str(), "x y z");
  assert_string_equal(request.query("c")->c_str(), "");
  assert_false(request.query("d").has_value());
  assert_false(request.query("e").has_value());
  assert_string_equal(std::string(request.path()).c_str(), "/p");
}

void every_problem_has_its_row_and_a_code_of_its_own(void**) {
  std::set<std::string_view> codes;
  int index = 0;
  for (const ProblemRow& row : problems()) {
    assert_int_equal(static_cast<int>(row.problem), index++);
    assert_true(row.status >= 400 && row.status < 600);
    assert_true(codes.insert(row.code).second);
    // Past a limit a client must know when to come again.
    if (row.status == 429 || row.status == 503) assert_true(row.retry_after > 0);
  }
  assert_int_equal(static_cast<int>(Problem::results_unavailable), index - 1);
}

void a_problem_is_a_document_of_rfc_9457(void**) {
  const Response response = problem_response(Problem::session_exists, "It is open.",
                                             Json::object().set("attributor_id", Json::of("ab")));
  assert_int_equal(response.status, 409);
  assert_true(response.content_type == "application/problem+json");
  assert_string_equal(response.body.c_str(),
                      "{\"type\":\"urn:nvab:problem:session_exists\",\"title\":\"A session for "
                      "this context is open\",\"status\":409,\"code\":\"session_exists\","
                      "\"detail\":\"It is open.\",\"attributor_id\":\"ab\"}");
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(paths_and_methods_find_their_call),
      cmocka_unit_test(a_wrong_method_is_told_the_right_ones),
      cmocka_unit_test(options_say_what_a_path_takes),
      cmocka_unit_test(tricks_with_paths_find_nothing),
      cmocka_unit_test(ids_that_are_none_are_refused),
      cmocka_unit_test(admin_calls_exist_on_the_admin_socket_only),
      cmocka_unit_test(query_values_are_decoded),
      cmocka_unit_test(every_problem_has_its_row_and_a_code_of_its_own),
      cmocka_unit_test(a_problem_is_a_document_of_rfc_9457),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
