// SPDX-License-Identifier: Apache-2.0
// What the service refuses, and how it says so: types, encodings, sizes, counts, credentials, and
// times at which it takes nothing. Without sockets.
#include <zlib.h>

#include <string>

#include "common/base/encode.hh"
#include "tests/support/service_fixture.hh"

using namespace nvab;
using namespace nvab::test;

namespace {

std::string gzip(const std::string& text) {
  std::string out(compressBound(text.size()) + 64, '\0');
  z_stream stream = {};
  deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

void types_and_encodings_are_checked_before_the_body(void**) {
  Fixture f;
  const auto create = [&](const std::string& type, const std::string& encoding,
                          const std::string& body) {
    return f.ask({.method = "POST",
                  .target = "/v2/attributor",
                  .body = body,
                  .content_type = type,
                  .encoding = encoding});
  };
  const std::string body = sample_session("77");
  for (const char* type : {"text/plain", "application/x-www-form-urlencoded", "application/jsonx",
                           "multipart/form-data; boundary=x"}) {
    const Reply reply = create(type, "", body);
    assert_int_equal(reply.status, 415);
    assert_text(reply.code, "unsupported_media_type");
  }
  for (const char* encoding : {"br", "deflate", "gzip, zstd", "compress"}) {
    assert_text(create("application/json", encoding, body).code, "unsupported_encoding");
  }
  assert_text(create("application/json", "gzip", body).code, "bad_encoding");
  assert_text(create("application/json", "zstd", "").code, "bad_encoding");
  const std::string packed = zstd_pack(body);
  assert_text(create("application/json", "zstd", packed.substr(0, packed.size() - 3)).code,
              "bad_encoding");
  assert_int_equal(create("Application/JSON ; charset=utf-8", "zstd", packed).status, 201);
  assert_int_equal(create("", "GZIP", gzip(sample_session("78"))).status, 201);
}

void bodies_over_the_limit_are_refused_packed_or_not(void**) {
  Fixture f([](ServiceSettings* s) {
    s->max_body = 10'000;
    s->max_workload = 1'000;
  });
  const std::string at = "/v2/attributor/" + f.open() + "/observation";
  const std::string large =
      R"({"source":"applog","entry_timeseries":[{"message":")" + std::string(20'000, 'x') + "\"}]}";
  assert_int_equal(f.post(at, large).status, 413);
  const Reply bomb =
      f.ask({.method = "POST", .target = at, .body = zstd_pack(large), .encoding = "zstd"});
  assert_int_equal(bomb.status, 413);
  assert_text(bomb.code, "body_too_large");
  assert_int_equal(f.post("/v2/attributor", sample_session("78") + std::string(1000, ' ')).status,
                   413);
  assert_int_equal(f.ask({.target = "/v2/healthz", .body = std::string(70'000, 'x')}).status, 413);
}

void limits_of_sessions_are_told(void**) {
  Fixture f([](ServiceSettings* s) {
    s->store.sessions = 2;
    s->store.each.observations = 2;
    s->store.each.entries = 5;
  });
  const std::string at = "/v2/attributor/" + f.open("1") + "/observation";
  f.open("2");
  const Reply third = f.post("/v2/attributor", sample_session("3"));
  assert_int_equal(third.status, 429);
  assert_text(third.code, "too_many_sessions");
  assert_text(third.retry_after, "5");
  std::string six = R"({"source":"applog","entry_timeseries":[{"message":"a"})";
  for (int i = 0; i < 5; ++i) six += ",{\"message\":\"b\"}";
  assert_text(f.post(at, six + "]}").code, "session_full");
  assert_int_equal(f.post(at, sample_observation("w1", 1)).status, 201);
  assert_int_equal(f.post(at, sample_observation("w1", 2)).status, 201);
  const Reply full = f.post(at, sample_observation("w1", 3));
  assert_int_equal(full.status, 413);
  assert_text(full.code, "session_full");
  assert_int_equal(f.post(at, sample_observation("w1", 2)).status, 409);
}

void memory_of_sessions_is_bounded(void**) {
  Fixture f([](ServiceSettings* s) { s->store.memory = 40'000; });
  int opened = 0;
  std::string code;
  for (; opened < 1000 && code.empty(); ++opened) {
    code = f.post("/v2/attributor", sample_session(std::to_string(opened))).code;
  }
  assert_text(code, "out_of_memory");
  assert_true(opened > 2 && opened < 20);
  const std::string first = f.get("/v2/attributor?limit=1")
                                .json.get("attributors")
                                .at(0)
                                .get("attributor_id")
                                .as_string()
                                .value_or("");
  assert_text(f.post("/v2/attributor/" + first + "/observation", sample_observation("w1")).code,
              "out_of_memory");
  while (f.service->store().size() > 0) {
    const auto session = f.service->store().list("", 1).front();
    assert_int_equal(
        f.ask({.method = "DELETE", .target = "/v2/attributor/" + session->identity().id}).status,
        204);
  }
  assert_int_equal(f.service->store().memory(), 0);
  f.open();
}

void credentials_are_demanded_where_the_site_has_tokens(void**) {
  Fixture f([](ServiceSettings* s) {
    s->bearer_tokens = {"first-good-token-1", "second-good-2345"};
  });
  const auto list = [&](const std::string& authorization) {
    return f.ask({.target = "/v2/attributor", .authorization = authorization});
  };
  for (const char* wrong : {"", "Bearer", "Bearer ", "Basic first-good-token-1",
                            "Bearer first-good-token-", "Bearer first-good-token-12"}) {
    const Reply reply = list(wrong);
    assert_int_equal(reply.status, 401);
    assert_text(reply.code, "unauthorized");
  }
  assert_int_equal(list("Bearer second-good-2345").status, 200);
  assert_int_equal(list("bearer  first-good-token-1").status, 200);
  assert_int_equal(f.get("/v2/healthz").status, 200);
  assert_int_equal(f.get("/openapi.json").status, 200);
  assert_text(f.get("/metrics").code, "unauthorized");
}

void a_starting_and_a_stopping_service_says_so(void**) {
  auto service = Service::create(test_service_settings());
  assert_true(service.has_value());
  ServiceCaller caller(**service);
  assert_text(caller.post("/v2/attributor", sample_session("1")).code, "starting");
  assert_text(caller.get("/v2/readyz").code, "starting");
  assert_int_equal(caller.get("/v2/healthz").status, 200);
  assert_true((*service)->start().has_value());
  assert_int_equal(caller.get("/v2/readyz").status, 200);
  (*service)->stop();
  const Reply stopping = caller.post("/v2/attributor", sample_session("1"));
  assert_int_equal(stopping.status, 503);
  assert_text(stopping.code, "stopping");
  assert_text(stopping.retry_after, "5");
  assert_int_equal(caller.get("/v2/healthz").status, 200);
  assert_int_equal(caller.get("/v2/readyz").status, 503);
}

void tokens_are_demanded_where_the_site_wants_it(void**) {
  Fixture f([](ServiceSettings* s) { s->require_session_token = true; });
  const Reply created = f.post("/v2/attributor", sample_session("77"));
  const std::string at = "/v2/attributor/" + created.text("attributor_id");
  assert_text(f.ask({.method = "DELETE", .target = at}).code, "token_required");
  const std::string query = "?session_token=" + created.text("session_token");
  assert_int_equal(f.ask({.method = "DELETE", .target = at + query}).status, 204);
}

void bodies_that_cannot_be_used_are_told_why(void**) {
  Fixture f;
  const auto create = [&](const std::string& body) { return f.post("/v2/attributor", body).code; };
  assert_text(create(""), "bad_json");
  assert_text(create("{"), "bad_json");
  assert_text(create(std::string(100'000, '[')), "bad_json");
  assert_text(create("[]"), "bad_workload");
  assert_text(create("{}"), "bad_workload");
  assert_text(create(R"({"workload":{}})"), "bad_workload");
  assert_text(create(R"({"workload":{"job_id":""}})"), "bad_workload");
  assert_text(create(R"({"workload":{"job_id":"1","nodes":7}})"), "bad_workload");
  assert_text(create(R"({"workload":{"job_id":"1","start_time":"soon"}})"), "bad_workload");
  assert_text(create(R"({"workload":{"job_id":"1"},"metadata":7})"), "bad_workload");
  assert_text(create(R"({"workload":{"job_id":"1"},"metadata":{"ruleset":"other"}})"),
              "unknown_ruleset");
  const std::string at = "/v2/attributor/" + f.open() + "/observation";
  assert_text(f.post(at, "{").code, "bad_json");
  assert_text(f.post(at, "{}").code, "bad_observation");
  assert_text(f.post(at, R"({"source":"x","entry_timeseries":[]})").code, "unsupported_source");
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(types_and_encodings_are_checked_before_the_body),
      cmocka_unit_test(bodies_over_the_limit_are_refused_packed_or_not),
      cmocka_unit_test(limits_of_sessions_are_told),
      cmocka_unit_test(memory_of_sessions_is_bounded),
      cmocka_unit_test(credentials_are_demanded_where_the_site_has_tokens),
      cmocka_unit_test(a_starting_and_a_stopping_service_says_so),
      cmocka_unit_test(tokens_are_demanded_where_the_site_wants_it),
      cmocka_unit_test(bodies_that_cannot_be_used_are_told_why),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
