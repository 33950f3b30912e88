// SPDX-License-Identifier: Apache-2.0
// LogQL from templates. That the real grammar takes what comes out is tested in
// test_loki_grammar.sh.
#include "epilog/log/logql.hh"

#include <cstring>

#include "tests/cmocka.hh"

using namespace nvab;

namespace {

ExecutionContext job() {
  ExecutionContext context;
  context.scheduler = "slurm";
  context.job_id = "1234_7";
  context.other_ids = {"1241"};
  context.name = "pre\"train\\ `x` ${user}";
  context.user = "ada";
  context.nodes = {"n1", "n2.example"};
  return context;
}

std::string render(const char* text, const ExecutionContext& context) {
  const auto parsed = LogqlTemplate::parse(text);
  if (!parsed) return "malformed: " + parsed.error().message;
  const auto rendered = parsed->render(logql_values(context, context.nodes));
  return rendered ? *rendered : "no value: " + rendered.error().message;
}

void check(const char* text, const char* wanted) {
  const std::string got = render(text, job());
  if (got != wanted) fail_msg("%s\n  gave   %s\n  wanted %s", text, got.c_str(), wanted);
}

void values_stand_where_their_placeholders_stood(void**) {
  check(R"q({job="slurm", id="${job_id}", user="${user}"} |= "x")q",
        R"q({job="slurm", id="1234_7", user="ada"} |= "x")q");
  check(R"q({id=~"${job_ids}"})q", R"q({id=~"(?:1234_7|1241)"})q");
  check(R"q({host=~"(${nodes})([.].*)?"})q", R"q({host=~"((?:n1|n2\\.example))([.].*)?"})q");
  check("{host=~`${nodes}`}", R"q({host=~"(?:n1|n2\\.example)"})q");
}

void values_are_escaped_once_and_never_read_as_templates(void**) {
  check(R"q({name="${job_name}"})q", R"q({name="pre\"train\\ `x` ${user}"})q");
  check("{name=`${job_name}`}", R"q({name="pre\"train\\ `x` ${user}"})q");
  check(R"q({name=~"${job_name}.*"})q", R"q({name=~"pre\"train\\\\ `x` \\$\\{user\\}.*"})q");
}

void strings_in_backquotes_become_strings_with_escapes(void**) {
  check(R"q({a="b"} |~ `\d+ "x"`)q", R"q({a="b"} |~ "\\d+ \"x\"")q");
  check(R"q({a="b\"c"})q", R"q({a="b\"c"})q");
}

void comments_are_left_out_and_hold_no_strings(void**) {
  check("{a=\"b\"} # don't \" ${this}\n|= \"c\"", "{a=\"b\"} \n|= \"c\"");
}

void an_or_behind_a_regex_is_one_too(void**) {
  check(R"q({a="b"} |~ "x" or "${nodes}")q", R"q({a="b"} |~ "x" or "(?:n1|n2\\.example)")q");
  const std::string plain = render(R"q({a="b"} |= "x" or "${nodes}")q", job());
  assert_non_null(std::strstr(plain.c_str(), "is a list"));
}

void templates_that_cannot_be_safe_are_refused(void**) {
  const std::pair<const char*, const char*> cases[] = {
      {R"q({${nodes}="x"})q", "outside a string"},
      {R"q({a="${nodes}"})q", "is a list"},
      {R"q({a="${secret}"})q", "is not known"},
      {R"q({a="${job_id"})q", "is not known"},
      {R"q({a="b)q", "has no end"},
      {R"q({a="b\")q", "has no end"},
      {"{a=`b", "has no end"},
  };
  for (const auto& [text, says] : cases) {
    const std::string got = render(text, job());
    if (got.find("malformed") != 0 || got.find(says) == std::string::npos) {
      fail_msg("%s gave %s", text, got.c_str());
    }
  }
}

void a_job_without_the_value_is_told_so(void**) {
  assert_string_equal(render(R"q({ns="${namespace}"})q", job()).c_str(),
                      "no value: the query wants ${namespace}, and the job has none");
}

void a_workload_of_kueue_gives_namespace_and_pods(void**) {
  ExecutionContext context;
  context.scheduler = "kueue";
  context.job_id = "team-a/train";
  Step pod;
  pod.name = "train-0";
  context.steps.push_back(pod);
  pod.name = "train-1";
  context.steps.push_back(pod);
  const char* text = R"q({namespace="${namespace}", pod=~"${pods}", job="${workload}"})q";
  assert_string_equal(render(text, context).c_str(),
                      R"q({namespace="team-a", pod=~"(?:train-0|train-1)", job="train"})q");
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(values_stand_where_their_placeholders_stood),
      cmocka_unit_test(values_are_escaped_once_and_never_read_as_templates),
      cmocka_unit_test(strings_in_backquotes_become_strings_with_escapes),
      cmocka_unit_test(comments_are_left_out_and_hold_no_strings),
      cmocka_unit_test(an_or_behind_a_regex_is_one_too),
      cmocka_unit_test(templates_that_cannot_be_safe_are_refused),
      cmocka_unit_test(a_job_without_the_value_is_told_so),
      cmocka_unit_test(a_workload_of_kueue_gives_namespace_and_pods),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
