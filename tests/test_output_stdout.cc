// SPDX-License-Identifier: Apache-2.0
// What stdout gets: the format that was asked for, and an error where it cannot be written.
#include <fcntl.h>
#include <unistd.h>

#include <cstring>

#include "common/base/json.hh"
#include "epilog/output/stdout.hh"
#include "tests/cmocka.hh"

using namespace nvab;

namespace {

std::string written(StdoutFormat format, int times) {
  int ends[2];
  assert_int_equal(::pipe(ends), 0);
  {
    const auto output = make_stdout_output({format, false, ends[1]});
    AttributionResult result;
    result.context.job_id = "9";
    for (int i = 0; i < times; ++i) assert_true(output->write(result).has_value());
  }
  ::close(ends[1]);
  char text[65536];
  const ssize_t size = ::read(ends[0], text, sizeof text);
  ::close(ends[0]);
  return {text, size > 0 ? static_cast<std::size_t>(size) : 0};
}

void automatic_is_one_json_object_a_line_where_no_terminal_is(void**) {
  const std::string text = written(StdoutFormat::automatic, 2);
  const std::size_t end = text.find('\n');
  const auto first = Json::parse(std::string_view(text).substr(0, end));
  assert_true(first.has_value());
  assert_string_equal(first->get("schema").as_string()->c_str(), "nvab.result/1");
  assert_true(Json::parse(std::string_view(text).substr(end + 1)).has_value());
}

void text_is_a_card_and_without_colour_in_a_pipe(void**) {
  const std::string text = written(StdoutFormat::text, 2);
  assert_non_null(std::strstr(text.c_str(), "job 9"));
  assert_null(std::strstr(text.c_str(), "\x1b"));
  assert_non_null(std::strstr(text.c_str(), "\n\n\xe2\x94\x80\xe2\x94\x80 job 9"));
}

void a_full_device_is_an_error(void**) {
  const int full = ::open("/dev/full", O_WRONLY);
  if (full < 0) skip();
  const auto output = make_stdout_output({StdoutFormat::json, false, full});
  const auto done = output->write(AttributionResult{});
  ::close(full);
  assert_false(done.has_value());
  assert_non_null(std::strstr(done.error().message.c_str(), "writing to stdout"));
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(automatic_is_one_json_object_a_line_where_no_terminal_is),
      cmocka_unit_test(text_is_a_card_and_without_colour_in_a_pipe),
      cmocka_unit_test(a_full_device_is_an_error),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
