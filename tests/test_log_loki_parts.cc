// SPDX-License-Identifier: Apache-2.0
// Parts of log.loki by themselves: the answer while it arrives, the halves of a moment, lines that
// a server dated. The whole is tested against a stand-in in test_log_loki.sh.
#include <cstring>

#include "epilog/log/loki_answer.hh"
#include "epilog/log/loki_moment.hh"
#include "tests/cmocka.hh"

using namespace nvab;

namespace {

struct Answered {
  std::vector<std::string> lines;
  std::string problem;
  std::vector<std::string> warnings;
};

Answered read(std::string_view text, std::size_t piece) {
  Answered answered;
  LokiAnswer answer([&](const LokiLine& line) {
    std::string one = std::to_string(line.stream_number) + " " + std::to_string(line.time_ns);
    for (const auto& [name, value] : line.stream) one += " " + name + "=" + value;
    for (const auto& [name, value] : line.metadata) one += " (" + name + "=" + value + ")";
    answered.lines.push_back(one + " " + std::string(line.text));
  });
  std::size_t at = 0;
  const auto done = read_json(
      [&] {
        const std::string_view next = text.substr(at, piece);
        at += next.size();
        return next;
      },
      answer);
  answered.problem = done ? answer.problem() : done.error().message;
  answered.warnings = answer.warnings();
  return answered;
}

void an_answer_is_the_same_in_pieces_of_any_size(void**) {
  const std::string_view text =
      R"q({"status":"success","warnings":["w"],"data":{"resultType":"streams","result":[)q"
      R"q({"stream":{"host":"n1","job":"x"},"values":[["1","a \"b\" \u00e9"],["2","",{"structuredMetadata":)q"
      R"q({"level":"warn"},"parsed":{"k":"v"}}]]},{"stream":{},"values":[["3","c",{"trace":"t"}]]}],)q"
      R"q("stats":{"summary":{"execTime":0.1,"splits":[1,2,{"values":[]}]}},"encodingFlags":["x"]}})q";
  for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, text.size()}) {
    const Answered answered = read(text, piece);
    assert_string_equal(answered.problem.c_str(), "");
    assert_int_equal(answered.lines.size(), 3);
    assert_string_equal(answered.lines[0].c_str(), "1 1 host=n1 job=x a \"b\" \xc3\xa9");
    assert_string_equal(answered.lines[1].c_str(), "1 2 host=n1 job=x (k=v) (level=warn) ");
    assert_string_equal(answered.lines[2].c_str(), "2 3 (trace=t) c");
    assert_int_equal(answered.warnings.size(), 1);
  }
}

void what_is_no_answer_of_loki_is_told(void**) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "empty"},
      {"<html>", "Invalid value"},
      {"[]", "no JSON object"},
      {"{}", "does not say success"},
      {R"({"status":"error","error":"too bad"})", "too bad"},
      {R"({"status":"success","data":{"resultType":"vector","result":[]}})", "metric query"},
      {R"({"status":"success","data":{"resultType":"streams","result":[)", "Invalid value"},
      {R"({"status":"success","data":{"resultType":"streams","result":[{"values":[["1","x"]]}]}})",
       "before its labels"},
      {R"({"status":"success","data":{"resultType":"streams","result":[{"stream":{},"values":[["x","y"]]}]}})",
       "nanoseconds"},
      {R"({"status":"success","data":{"resultType":"streams","result":[{"stream":{},"values":[[1,"y"]]}]}})",
       "nanoseconds"},
  };
  for (const auto& [text, says] : cases) {
    const Answered answered = read(text, 5);
    if (answered.problem.find(says) == std::string::npos) {
      fail_msg("%s: %s", text, answered.problem.c_str());
    }
  }
  const std::string deep(5000, '[');
  assert_non_null(std::strstr(read("{\"a\":" + deep, 64).problem.c_str(), "too deep"));
}

void lines_of_one_moment_are_split_where_they_differ_most(void**) {
  std::vector<std::string> lines;
  for (int i = 0; i < 100; ++i) lines.push_back("same " + std::to_string(10 + i % 90));
  const auto split = split_lines(lines);
  assert_true(split.has_value());
  assert_string_equal(split->c_str(), "^(?s:.{5})[\\x{0}-\\x{34}]");
  assert_false(split_lines({"x", "x"}).has_value());
  assert_false(split_lines({}).has_value());
  assert_string_equal(split_lines({"\xc3\xa9"
                                   "a",
                                   "\xc3\xa9"
                                   "b"})
                          ->c_str(),
                      "^(?s:.{1})[\\x{0}-\\x{61}]");
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(an_answer_is_the_same_in_pieces_of_any_size),
      cmocka_unit_test(what_is_no_answer_of_loki_is_told),
      cmocka_unit_test(lines_of_one_moment_are_split_where_they_differ_most),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
