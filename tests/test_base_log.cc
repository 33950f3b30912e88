// SPDX-License-Identifier: Apache-2.0
// What the log writes to stderr, seen through a pipe in its place.
#include <unistd.h>

#include <cstring>

#include "common/base/json.hh"
#include "common/base/log.hh"
#include "tests/cmocka.hh"

using namespace nvab;

namespace {

// What `write_log` wrote to stderr; little enough to fit a pipe.
std::string stderr_of(void (*write_log)()) {
  int ends[2];
  assert_int_equal(::pipe(ends), 0);
  const int saved = ::dup(2);
  ::dup2(ends[1], 2);
  write_log();
  ::dup2(saved, 2);
  ::close(saved);
  ::close(ends[1]);
  char text[65536];
  const ssize_t size = ::read(ends[0], text, sizeof text);
  ::close(ends[0]);
  return {text, size > 0 ? static_cast<std::size_t>(size) : 0};
}

void text_lines_name_program_and_level(void**) {
  const std::string text = stderr_of([] {
    log_start("nvab-test", LogLevel::info, LogFormat::text);
    log_debug("hidden");
    log_info("one\nline\x1b[31m only");
    log_error("bad");
  });
  assert_string_equal(text.c_str(), "nvab-test: info: one line only\nnvab-test: error: bad\n");
}

void json_lines_are_objects_whatever_the_message(void**) {
  const std::string text = stderr_of([] {
    log_start("nvab-test", LogLevel::warning, LogFormat::json);
    log_warning("quote \" and \xff byte");
  });
  const auto line = Json::parse(text);
  assert_true(line.has_value());
  assert_string_equal(line->get("level").as_string()->c_str(), "warning");
  assert_string_equal(line->get("message").as_string()->c_str(), "quote \" and \xef\xbf\xbd byte");
  assert_true(line->has("time"));
}

void off_shows_nothing(void**) {
  const std::string text = stderr_of([] {
    log_start("nvab-test", LogLevel::off, LogFormat::text);
    log_error("bad");
  });
  assert_true(text.empty());
}

void words_are_levels_and_formats(void**) {
  assert_true(log_level_from("warning") == LogLevel::warning);
  assert_false(log_level_from("loud").has_value());
  assert_true(log_format_from("json") == LogFormat::json);
  assert_false(log_format_from("xml").has_value());
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(text_lines_name_program_and_level),
      cmocka_unit_test(json_lines_are_objects_whatever_the_message),
      cmocka_unit_test(off_shows_nothing),
      cmocka_unit_test(words_are_levels_and_formats),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
