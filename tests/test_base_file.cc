// SPDX-License-Identifier: Apache-2.0
// Files: nothing blocks, nothing half-written is ever seen.
#include "common/base/file.hh"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

#include "common/base/text.hh"
#include "tests/cmocka.hh"

using namespace nvab;

static std::string folder;

static int make_folder(void**) {
  char name[] = "/tmp/nvab_test_file.XXXXXX";
  if (mkdtemp(name) == nullptr) return -1;
  folder = name;
  return 0;
}

static int remove_folder(void**) { return std::system(("rm -rf " + folder).c_str()); }

static std::string listing() {
  const auto names = list_folder(folder);
  return names ? join(*names, " ") : "error";
}

static void a_written_file_reads_back(void**) {
  const std::string path = folder + "/a";
  assert_true(write_file(path, std::string("x\0y", 3), 0600).has_value());
  const auto bytes = read_file(path, 100);
  assert_true(bytes.has_value() && *bytes == std::string("x\0y", 3));
  struct stat status = {};
  assert_int_equal(stat(path.c_str(), &status), 0);
  assert_int_equal(status.st_mode & 0777, 0600);
}

static void an_uncommitted_file_leaves_nothing_and_keeps_the_old_one(void**) {
  const std::string path = folder + "/kept";
  assert_true(write_file(path, "old").has_value());
  {
    auto file = AtomicFile::create(path);
    assert_true(file.has_value());
    assert_true(file->write("new").has_value());
    AtomicFile moved = std::move(*file);
    assert_true(moved.write("er").has_value());
  }
  assert_string_equal(read_file(path, 100)->c_str(), "old");
  assert_null(std::strstr(listing().c_str(), ".kept"));
}

static void the_published_file_is_there_only_after_commit(void**) {
  const std::string path = folder + "/later";
  auto file = AtomicFile::create(path);
  assert_true(file.has_value() && file->write("x").has_value());
  assert_false(exists(path));
  assert_true(file->commit().has_value());
  assert_true(exists(path));
}

static void a_file_over_the_limit_is_refused(void**) {
  const std::string path = folder + "/big";
  assert_true(write_file(path, std::string(200'000, 'x')).has_value());
  assert_int_equal(read_file(path, 200'000)->size(), 200'000);
  const auto cut = read_file(path, 199'999);
  assert_false(cut.has_value());
  assert_true(cut.error().code == Error::Code::malformed);
}

static void a_fifo_or_folder_or_device_is_refused_without_waiting(void**) {
  const std::string fifo = folder + "/fifo";
  assert_int_equal(mkfifo(fifo.c_str(), 0600), 0);
  for (const std::string& path : {fifo, folder, std::string("/dev/zero")}) {
    const auto fd = open_regular(path);
    assert_false(fd.has_value());
    assert_true(fd.error().code == Error::Code::unsupported);
    assert_non_null(std::strstr(fd.error().message.c_str(), path.c_str()));
  }
}

static void a_missing_file_is_not_found(void**) {
  assert_true(open_regular(folder + "/none").error().code == Error::Code::not_found);
  assert_true(list_folder(folder + "/none").error().code == Error::Code::not_found);
  assert_true(write_file(folder + "/none/x", "").error().code == Error::Code::not_found);
}

static void folders_are_made_with_their_parents_and_again(void**) {
  const std::string path = folder + "/p/q/r";
  assert_true(make_folders(path).has_value());
  assert_true(make_folders(path + "/").has_value());
  assert_true(is_folder(path));
  assert_true(write_file(folder + "/plain", "").has_value());
  assert_false(make_folders(folder + "/plain/x").has_value());
}

static void a_pattern_yields_sorted_files_and_a_name_itself(void**) {
  for (const char* name : {"/g2.log", "/g1.log", "/g10.log"}) {
    assert_true(write_file(folder + name, "").has_value());
  }
  const auto found = glob_files(folder + "/g*.log");
  assert_int_equal(found->size(), 3);
  assert_string_equal(found->front().c_str(), (folder + "/g1.log").c_str());
  assert_int_equal(glob_files(folder + "/g1.log")->size(), 1);
  assert_int_equal(glob_files(folder + "/none*")->size(), 0);
  assert_int_equal(glob_files(folder + "/none")->size(), 0);
}

static void a_descriptor_is_closed_once_by_its_last_owner(void**) {
  const int raw = open("/dev/null", O_RDONLY | O_CLOEXEC);
  {
    Fd first(raw);
    Fd second = std::move(first);
    assert_false(static_cast<bool>(first));
    assert_int_equal(second.get(), raw);
    assert_int_not_equal(fcntl(raw, F_GETFD), -1);
  }
  assert_int_equal(fcntl(raw, F_GETFD), -1);
}

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(a_written_file_reads_back),
      cmocka_unit_test(an_uncommitted_file_leaves_nothing_and_keeps_the_old_one),
      cmocka_unit_test(the_published_file_is_there_only_after_commit),
      cmocka_unit_test(a_file_over_the_limit_is_refused),
      cmocka_unit_test(a_fifo_or_folder_or_device_is_refused_without_waiting),
      cmocka_unit_test(a_missing_file_is_not_found),
      cmocka_unit_test(folders_are_made_with_their_parents_and_again),
      cmocka_unit_test(a_pattern_yields_sorted_files_and_a_name_itself),
      cmocka_unit_test(a_descriptor_is_closed_once_by_its_last_owner),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
