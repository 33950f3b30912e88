// SPDX-License-Identifier: Apache-2.0
// JSON: hostile documents end in a sentence, and equal values have equal bytes.
#include "common/base/json.hh"

#include <climits>
#include <cmath>
#include <cstring>

#include "tests/cmocka.hh"

using nvab::Json;

static std::string reprinted(std::string_view text) {
  const auto json = Json::parse(text);
  return json ? json->dump() : "error: " + json.error().message;
}

static void what_is_parsed_prints_back(void**) {
  const char* text = R"({"b":[1,-2,true,null,"x"],"a":{"c":[],"d":{}},"e":0.1})";
  assert_string_equal(reprinted(text).c_str(), text);
  assert_string_equal(reprinted(" null \n").c_str(), "null");
  assert_string_equal(reprinted("12").c_str(), "12");
  assert_string_equal(reprinted("\"x\"\r\n").c_str(), "\"x\"");
}

static void doubles_print_as_the_shortest_decimal_whatever_their_source(void**) {
  assert_string_equal(Json::of(0.1).dump().c_str(), "0.1");
  assert_string_equal(Json::of(0.1 + 0.2).dump().c_str(), "0.30000000000000004");
  assert_string_equal(Json::of(3.0).dump().c_str(), "3");
  assert_string_equal(reprinted("2.50").c_str(), "2.5");
  assert_string_equal(reprinted("25e-1").c_str(), "2.5");
  assert_string_equal(reprinted("1e999").c_str(), "null");
  assert_string_equal(Json::of(std::nan("")).dump().c_str(), "null");
  assert_string_equal(Json::of(HUGE_VAL).dump().c_str(), "null");
}

static void big_integers_are_exact_or_absent(void**) {
  assert_string_equal(reprinted("9223372036854775807").c_str(), "9223372036854775807");
  assert_string_equal(reprinted("-9223372036854775808").c_str(), "-9223372036854775808");
  assert_string_equal(Json::of(ULLONG_MAX).dump().c_str(), "18446744073709551615");
  assert_false(Json::of(ULLONG_MAX).as_int().has_value());
  assert_true(*Json::of(ULLONG_MAX).as_double() > 1.8e19);
  assert_int_equal(*Json::of(LLONG_MAX).as_int(), LLONG_MAX);
  assert_false(Json::parse("9.3e18")->as_int().has_value());
  assert_int_equal(*Json::parse("12.0")->as_int(), 12);
  assert_false(Json::parse("12.5")->as_int().has_value());
}

static void a_wrong_type_is_nothing_and_never_an_abort(void**) {
  const Json values[] = {Json(),         Json::object(), Json::array(), Json::of("12"),
                         Json::of(true), Json::of(12),   Json::of(1.5)};
  for (const Json& value : values) {
    assert_int_equal(value.as_string().has_value(), value.is_string());
    assert_int_equal(value.as_bool().has_value(), value.is_bool());
    assert_int_equal(value.as_double().has_value(), value.is_number());
    if (!value.is_number()) assert_false(value.as_int().has_value());
    assert_true(value.get("x").is_null());
    assert_true(value.at(0).is_null());
    assert_false(value.has("x"));
    assert_int_equal(value.elements().size(), 0);
    Json copy = value;
    if (!value.is_object()) assert_int_equal(copy.set("x", Json::of(1)).size(), 0);
    if (!value.is_array()) assert_false(copy.push(Json::of(1)).has("x"));
  }
}

static void malformed_text_is_refused_with_line_and_column(void**) {
  struct Row {
    const char* text;
    const char* place;
  };
  const Row rows[] = {
      {"", "line 1, column 1"},
      {"{\"a\":\n  x}", "line 2, column 3"},
      {"{\"a\":1,}", "line 1, column 8"},
      {"[1,]", "line 1, column 4"},
      {"[1] x", "line 1, column 5"},
      {"{\"a\"", "line 1, column 5"},
      {"{'a':1}", "line 1, column 2"},
      {"[1] // c", "line 1, column 5"},
      {"nul", "line 1, column 1"},
      {"[01]", "line 1, column 2"},
      {"[1.]", "line 1, column 2"},
      {"[.5]", "line 1, column 2"},
      {"[+1]", "line 1, column 2"},
      {"[-]", "line 1, column 2"},
      {"[1e]", "line 1, column 2"},
      {"[0x1]", "line 1, column 2"},
      {"[1,,2]", "line 1, column 4"},
      {"\"\\", "line 1"},
      {"\"\\q\"", "line 1"},
      {"{1:2}", "line 1, column 2"},
      {"\"abc", "line 1, column 5"},
      {"[NaN]", "line 1"},
      {"[Infinity]", "line 1"},
      {"\"a\nb\"", "line 1"},
      {"[1 2]", "line 1, column 4"},
      {"TRUE", "line 1, column 1"},
      {"tRue", "line 1"},
  };
  for (const Row& row : rows) {
    const auto json = Json::parse(row.text);
    if (json) fail_msg("%s was read as %s", row.text, json->dump().c_str());
    assert_true(json.error().code == nvab::Error::Code::malformed);
    if (!std::strstr(json.error().message.c_str(), row.place)) {
      fail_msg("%s: %s", row.text, json.error().message.c_str());
    }
  }
}

static void a_zero_byte_does_not_end_a_document(void**) {
  assert_false(Json::parse(std::string_view("{}\0{}", 5)).has_value());
  assert_false(Json::parse(std::string_view("12\0", 3)).has_value());
  assert_int_equal(Json::parse("\"a\\u0000b\"")->as_string()->size(), 3);
  assert_string_equal(reprinted("\"a\\u0000b\"").c_str(), "\"a\\u0000b\"");
}

static void nesting_is_limited(void**) {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  assert_true(Json::parse(nested(nvab::kMaxJsonDepth - 1)).has_value());
  assert_false(Json::parse(nested(nvab::kMaxJsonDepth + 1)).has_value());
  assert_false(Json::parse(std::string(1'000'000, '[')).has_value());
}

static void invalid_utf8_is_replaced_on_every_way_in(void**) {
  assert_string_equal(reprinted("{\"k\xFF\":\"v\xE9\"}").c_str(), "{\"k\uFFFD\":\"v\uFFFD\"}");
  assert_string_equal(Json::of("a\xFF").dump().c_str(), "\"a\uFFFD\"");
  assert_string_equal(Json::object().set("\xFF", Json()).dump().c_str(), "{\"\uFFFD\":null}");
  assert_string_equal(reprinted("\"\\ud800\"").c_str(), "\"\uFFFD\"");
  assert_string_equal(reprinted("\"\\ud83d\\ude00\"").c_str(), "\"\U0001F600\"");
}

static void controls_are_escaped_on_output(void**) {
  assert_string_equal(Json::of("\"\\/\n\t\r\x1B\x7F").dump().c_str(),
                      R"("\"\\/\n\t\r\u001b\u007f")");
}

static void the_last_of_equal_keys_counts(void**) {
  assert_string_equal(reprinted(R"({"a":1,"a":2})").c_str(), R"({"a":2})");
}

static void documents_are_built_and_walked_in_order(void**) {
  Json json = Json::object();
  json.set("z", Json::of("s")).set("a", Json::of(nvab::Time(nvab::Duration(0))));
  json.set("list", nvab::json_strings({"x", "y"}));
  json.set("none", nvab::json_or_null(std::optional<int>()));
  json.set("some", nvab::json_or_null(std::optional<long long>(7)));
  assert_string_equal(
      json.dump().c_str(),
      R"({"z":"s","a":"1970-01-01T00:00:00Z","list":["x","y"],"none":null,"some":7})");
  std::string keys;
  json.each([&](std::string_view key, const Json&) { keys += std::string(key) + " "; });
  assert_string_equal(keys.c_str(), "z a list none some ");
  assert_true(json.has("none") && !json.has("nothing"));
  assert_int_equal(nvab::strings_of(*Json::parse(R"(["a",1,"b",null])")).size(), 2);
}

static void a_value_outlives_the_document_it_came_from(void**) {
  Json inner;
  {
    const auto outer = Json::parse(R"({"a":{"b":[1,2]}})");
    inner = outer->get("a").get("b");
  }
  assert_string_equal(inner.dump().c_str(), "[1,2]");
}

static void pretty_output_is_indented_by_two(void**) {
  assert_string_equal(Json::parse(R"({"a":[1,{}],"b":{"c":[]}})")->dump_pretty().c_str(),
                      "{\n  \"a\": [\n    1,\n    {}\n  ],\n  \"b\": {\n    \"c\": []\n  }\n}");
}

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(what_is_parsed_prints_back),
      cmocka_unit_test(doubles_print_as_the_shortest_decimal_whatever_their_source),
      cmocka_unit_test(big_integers_are_exact_or_absent),
      cmocka_unit_test(a_wrong_type_is_nothing_and_never_an_abort),
      cmocka_unit_test(malformed_text_is_refused_with_line_and_column),
      cmocka_unit_test(a_zero_byte_does_not_end_a_document),
      cmocka_unit_test(nesting_is_limited),
      cmocka_unit_test(invalid_utf8_is_replaced_on_every_way_in),
      cmocka_unit_test(controls_are_escaped_on_output),
      cmocka_unit_test(the_last_of_equal_keys_counts),
      cmocka_unit_test(documents_are_built_and_walked_in_order),
      cmocka_unit_test(a_value_outlives_the_document_it_came_from),
      cmocka_unit_test(pretty_output_is_indented_by_two),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
