// SPDX-License-Identifier: Apache-2.0
// The card beside a job's output: where it comes to lie, whose it is, and what is not written over.
// Becoming the owner takes root; a test that is not root writes as itself.
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "common/base/file.hh"
#include "epilog/connector.hh"
#include "tests/cmocka.hh"

using namespace nvab;

namespace {

// Nobody else's: an id without a name on any machine.
constexpr uid_t kOwner = 54321;

struct JobFolder {
  std::string path = "/tmp/nvab-card-file." + std::to_string(::getpid());
  Host host;
  JobFolder() {
    std::filesystem::remove_all(path);
    ::mkdir(path.c_str(), 0755);
    if (::geteuid() == 0 && ::chown(path.c_str(), kOwner, kOwner) != 0) fail_msg("chown");
  }
  ~JobFolder() { std::filesystem::remove_all(path); }

  AttributionResult result() const {
    AttributionResult result;
    ExecutionContext& c = result.context;
    c.scheduler = "slurm";
    c.job_id = "77";
    c.name = "train";
    c.uid = static_cast<long long>(::geteuid() == 0 ? kOwner : ::geteuid());
    c.files.gid = c.uid;
    c.files.raw_ids = {77};
    c.files.work_dir = path;
    c.files.is_batch = true;
    c.files.is_requested = true;
    result.terminal_state = TerminalState::failed;
    return result;
  }
  std::unique_ptr<Output> open(
      const std::vector<std::pair<std::string, std::string>>& values = {}) {
    for (const OutputComponent* component : output_components()) {
      if (component->spec.name != "card") continue;
      const auto settings = ComponentSettings::of(component->spec, "", values);
      assert_true(settings.has_value());
      return std::move(*component->open(*settings, host));
    }
    return nullptr;
  }
  void put(const AttributionResult& result) {
    const auto done = open()->write(result);
    if (!done) fail_msg("%s", done.error().message.c_str());
  }
  Error refused(const AttributionResult& result) {
    const auto done = open()->write(result);
    assert_false(done.has_value());
    return done.error();
  }
  std::string names() const {
    std::string all;
    for (const std::string& name : list_folder(path).value_or(std::vector<std::string>{})) {
      all += name + ";";
    }
    return all;
  }
  std::string file(const std::string& name) const {
    return read_file(path + "/" + name, 1'000'000).value_or("none");
  }
  struct stat status(const std::string& name) const {
    struct stat found {};
    assert_int_equal(::lstat((path + "/" + name).c_str(), &found), 0);
    return found;
  }
};

void it_lies_beside_the_output_and_is_the_owners(void**) {
  JobFolder folder;
  AttributionResult result = folder.result();
  result.context.files.stdout_pattern = folder.path + "/%x-%j.log";
  assert_true(write_file(folder.path + "/train-77.log", "x\n", 0604).has_value());
  folder.put(result);
  assert_string_equal(folder.names().c_str(), "train-77.log;train-77.log.nvab;");
  assert_non_null(std::strstr(folder.file("train-77.log.nvab").c_str(), "job 77"));
  const struct stat status = folder.status("train-77.log.nvab");
  assert_int_equal(status.st_uid, *result.context.uid);
  assert_int_equal(status.st_gid, *result.context.files.gid);
  assert_int_equal(status.st_mode & 07777, 0604);
  // Again: the newer one takes its place.
  result.context.job_id = "77";
  result.verdict.root_cause.title = "A newer title";
  result.verdict.root_cause.id = "newer";
  folder.put(result);
  assert_string_equal(folder.names().c_str(), "train-77.log;train-77.log.nvab;");
}

void without_a_pattern_it_has_slurms_own_name(void**) {
  JobFolder folder;
  folder.put(folder.result());
  assert_string_equal(folder.names().c_str(), "slurm-77.out.nvab;");
  assert_int_equal(folder.status("slurm-77.out.nvab").st_mode & 07777, 0640);
}

void output_that_is_no_file_sends_it_to_the_jobs_folder(void**) {
  JobFolder folder;
  AttributionResult result = folder.result();
  result.context.files.stdout_pattern = "/dev/null";
  folder.put(result);
  assert_string_equal(folder.names().c_str(), "slurm-77.nvab;");
  // srun without a script: its output went to a terminal.
  result.context.files.stdout_pattern = "";
  result.context.files.is_batch = false;
  folder.put(result);
  assert_string_equal(folder.names().c_str(), "slurm-77.nvab;");
  assert_int_equal(::access("/dev/null.nvab", F_OK), -1);
}

void tasks_that_share_an_output_have_cards_of_their_own(void**) {
  JobFolder folder;
  AttributionResult result = folder.result();
  result.context.job_id = "60_3";
  result.context.files.array_job_id = 60;
  result.context.files.array_task_id = 3;
  result.context.files.stdout_pattern = folder.path + "/all.log";
  folder.put(result);
  result.context.files.stdout_pattern = folder.path + "/%a.log";
  folder.put(result);
  assert_string_equal(folder.names().c_str(), "3.log.nvab;all.log.60_3.nvab;");
}

void links_and_devices_are_not_written_to(void**) {
  JobFolder folder;
  const std::string target = folder.path + "/slurm-77.out.nvab";
  const std::string victim = "/tmp/nvab-card-victim." + std::to_string(::getpid());
  assert_true(write_file(victim, "precious", 0666).has_value());
  assert_int_equal(::symlink(victim.c_str(), target.c_str()), 0);
  const Error linked = folder.refused(folder.result());
  assert_int_equal(linked.code, Error::Code::unsupported);
  assert_non_null(std::strstr(linked.message.c_str(), "no regular file"));
  assert_string_equal(read_file(victim, 100)->c_str(), "precious");
  ::unlink(victim.c_str());
  ::unlink(target.c_str());
  assert_int_equal(::mkfifo(target.c_str(), 0666), 0);
  assert_int_equal(folder.refused(folder.result()).code, Error::Code::unsupported);
}

void where_the_owner_may_not_write_nothing_is_written(void**) {
  JobFolder folder;
  AttributionResult result = folder.result();
  result.context.files.stdout_pattern = folder.path + "/gone/x.log";
  assert_int_equal(folder.refused(result).code, Error::Code::unsupported);
  result.context.files.stdout_pattern = "/proc/x.log";
  assert_int_equal(folder.refused(result).code, Error::Code::unsupported);
  assert_string_equal(folder.names().c_str(), "");
  if (::geteuid() == 0) {
    // Root could; the owner cannot.
    result.context.files.stdout_pattern = "/usr/nvab-card-test.log";
    const Error denied = folder.refused(result);
    assert_int_equal(denied.code, Error::Code::unsupported);
    assert_non_null(std::strstr(denied.message.c_str(), "/usr/nvab-card-test.log.nvab"));
    assert_int_equal(::access("/usr/nvab-card-test.log.nvab", F_OK), -1);
  }
}

void only_who_asked_gets_one_unless_all_do(void**) {
  JobFolder folder;
  AttributionResult result = folder.result();
  assert_true(folder.open()->wants(result));
  result.context.files.is_requested = false;
  assert_false(folder.open()->wants(result));
  assert_true(folder.open({{"when", "all"}})->wants(result));
  result.context.job_id = "77.0";
  assert_false(folder.open({{"when", "all"}})->wants(result));
  result = folder.result();
  result.provisional = true;
  assert_false(folder.open()->wants(result));
  result = folder.result();
  result.context.uid.reset();
  assert_non_null(std::strstr(folder.refused(result).message.c_str(), "who owns the job"));
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(it_lies_beside_the_output_and_is_the_owners),
      cmocka_unit_test(without_a_pattern_it_has_slurms_own_name),
      cmocka_unit_test(output_that_is_no_file_sends_it_to_the_jobs_folder),
      cmocka_unit_test(tasks_that_share_an_output_have_cards_of_their_own),
      cmocka_unit_test(links_and_devices_are_not_written_to),
      cmocka_unit_test(where_the_owner_may_not_write_nothing_is_written),
      cmocka_unit_test(only_who_asked_gets_one_unless_all_do),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
