// SPDX-License-Identifier: Apache-2.0
// Turns that runners take at a server.
#include "epilog/backend_slots.hh"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "tests/cmocka.hh"

using namespace nvab;
using namespace std::chrono_literals;

namespace {

struct Folder {
  std::string path;
  Folder() {
    char name[] = "/tmp/nvab-slots-XXXXXX";
    path = ::mkdtemp(name);
  }
  ~Folder() {
    const auto names = list_folder(path + "/s");
    for (const std::string& name : names ? *names : std::vector<std::string>()) {
      ::unlink((path + "/s/" + name).c_str());
    }
    ::rmdir((path + "/s").c_str());
    ::rmdir(path.c_str());
  }
};

void so_many_hold_a_slot_and_the_next_waits(void**) {
  Folder folder;
  const BackendSlots slots(folder.path + "/s", "https://loki:443", 2);
  const BackendSlots others(folder.path + "/s", "https://prometheus:443", 1);
  auto first = slots.take({});
  auto second = slots.take({});
  assert_true(first.has_value() && *first && second.has_value() && *second);
  const auto third = slots.take(Deadline::after(50ms));
  assert_false(third.has_value());
  assert_int_equal(third.error().code, Error::Code::timeout);
  assert_true(others.take(Deadline::after(50ms)).has_value());
  *first = Fd();
  assert_true(slots.take(Deadline::after(50ms)).has_value());
}

void a_slot_dies_with_its_holder(void**) {
  Folder folder;
  const BackendSlots slots(folder.path + "/s", "https://loki:443", 1);
  int ready[2];
  assert_int_equal(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const auto held = slots.take({});
    (void)!::write(ready[1], "x", 1);
    ::pause();
    ::_exit(held ? 0 : 1);
  }
  char byte = 0;
  assert_int_equal(::read(ready[0], &byte, 1), 1);
  assert_false(slots.take(Deadline::after(50ms)).has_value());
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  assert_true(slots.take(Deadline::after(50ms)).has_value());
  ::close(ready[0]);
  ::close(ready[1]);
}

void where_no_limit_can_be_kept_there_is_none(void**) {
  Folder folder;
  const auto unlimited = BackendSlots(folder.path + "/s", "https://loki:443", 0).take({});
  assert_true(unlimited.has_value() && !*unlimited);
  const auto nowhere = BackendSlots("/proc/none/s", "https://loki:443", 1).take({});
  assert_true(nowhere.has_value() && !*nowhere);
  // A folder into which others can write may be theirs.
  assert_int_equal(::mkdir((folder.path + "/s").c_str(), 0700), 0);
  assert_int_equal(::chmod((folder.path + "/s").c_str(), 0777), 0);
  const auto shared = BackendSlots(folder.path + "/s", "https://loki:443", 1).take({});
  assert_true(shared.has_value() && !*shared);
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(so_many_hold_a_slot_and_the_next_waits),
      cmocka_unit_test(a_slot_dies_with_its_holder),
      cmocka_unit_test(where_no_limit_can_be_kept_there_is_none),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
