// SPDX-License-Identifier: Apache-2.0
// The line to syslog that never waits.
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include "common/wire/log_socket.h"
#include "tests/cmocka.hh"

namespace {

// A socket such as a syslog daemon has, at `path`.
int listen_at(const char* path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  strcpy(address.sun_path, path);
  const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
  return bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 ? fd : -1;
}

void a_line_has_priority_and_tag(void**) {
  char folder[] = "/tmp/nvab-test-log-XXXXXX";
  const std::string path = std::string(mkdtemp(folder)) + "/log";
  char got[64] = {};
  const int daemon = listen_at(path.c_str());
  const int fd = nvab_log_connect(path.c_str());
  assert_true(daemon >= 0 && fd >= 0);
  nvab_log_send(fd, NVAB_LOG_WARNING, "nvab-test", "what happened", 4);
  assert_int_equal(recv(daemon, got, sizeof got, 0), 19);
  assert_string_equal(got, "<28>nvab-test: what");

  // Nobody reads any more: this must come to an end all the same.
  for (int i = 0; i < 10000; i++) nvab_log_send(fd, NVAB_LOG_INFO, "nvab-test", got, sizeof got);
  close(daemon);
  nvab_log_send(fd, NVAB_LOG_INFO, "nvab-test", got, sizeof got);
  close(fd);
  unlink(path.c_str());
  rmdir(folder);
}

void nobody_listening_is_no_socket(void**) {
  assert_int_equal(nvab_log_connect("/nonexistent/log"), -1);
  assert_int_equal(nvab_log_connect(std::string(200, 'x').c_str()), -1);
  nvab_log_send(-1, NVAB_LOG_INFO, "nvab-test", "nothing", 7);
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(a_line_has_priority_and_tag),
      cmocka_unit_test(nobody_listening_is_no_socket),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
