// SPDX-License-Identifier: Apache-2.0
// What the doctor reads of Slurm and of this machine.
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "common/base/file.hh"
#include "epilog/doctor.hh"
#include "epilog/doctor_host.hh"
#include "epilog/doctor_slurm.hh"
#include "epilog/summary.hh"
#include "tests/cmocka.hh"
#include "tests/support/kept.hh"

using namespace nvab;
using namespace nvab::test;

namespace {

void versions_are_numbers(void**) {
  assert_int_equal(slurm_version("22.05.8").value_or(0), 0x160508);
  assert_int_equal(slurm_version(" 23.11.4-rc1 ").value_or(0), 0x170b04);
  for (const char* bad : {"", "22.05", "a.b.c", "22.05.999", "1.2.3.4"}) {
    assert_false(slurm_version(bad).has_value());
  }
}

void a_plugin_says_for_which_slurm_it_was_built(void**) {
  const char* build = std::getenv("BUILDDIR");
  const std::string path = std::string(build == nullptr ? "." : build) + "/obj/attribution.so";
  const auto elf = read_file(path, 256 << 20);
  assert_true(elf.has_value());
  const auto version = plugin_version(*elf);
  assert_true(version.has_value());
  assert_in_range(*version >> 16, 20, 99);  // of the headers it was built with
  assert_false(plugin_version("").has_value());
  assert_false(plugin_version("\x7f"
                              "ELF")
                   .has_value());
  // However it is damaged, there is an answer.
  for (std::size_t cut = 0; cut < elf->size(); cut += 4099) {
    (void)plugin_version(std::string_view(*elf).substr(0, cut));
  }
  for (std::size_t at = 0; at < 4096; at += 3) {
    std::string damaged = *elf;
    damaged[at] = static_cast<char>(0xff);
    (void)plugin_version(damaged);
  }
}

void slurms_settings_are_read(void**) {
  const char kText[] =
      "Configuration data as of 2026-03-01T10:59:58\nAccountingStorageType   = "
      "accounting_storage/slurmdbd\nEpilog[0] = /usr/libexec/nvab/nvab-epilog\n"
      "SLURM_VERSION           = 22.05.8\nnoise\n";
  const auto config = parse_slurm_config(kText);
  assert_string_equal(config.at("slurm_version").c_str(), "22.05.8");
  assert_string_equal(config.at("epilog[0]").c_str(), "/usr/libexec/nvab/nvab-epilog");
  assert_string_equal(format_rfc3339(*controller_clock(kText)).c_str(), "2026-03-01T10:59:58Z");
  assert_false(controller_clock("slurm_load_ctl_conf error").has_value());
}

void the_plugin_is_found_where_slurm_finds_it(void**) {
  TempFolder folder("doctor_test");
  const std::string plugstack = folder / "plugstack.conf";
  std::filesystem::create_directories(folder / "plugstack.conf.d");
  assert_true(write_file(plugstack,
                         "# required attribution.so\noptional other.so\n"
                         "include plugstack.conf.d/*.conf\n")
                  .has_value());
  assert_string_equal(find_plugin(plugstack, "/lib/slurm").c_str(), "");
  assert_true(write_file(folder / "plugstack.conf.d/a.conf", "optional\tattribution.so spool=/x\n")
                  .has_value());
  assert_string_equal(find_plugin(plugstack, "/lib/slurm").c_str(), "/lib/slurm/attribution.so");
  assert_true(write_file(plugstack, "required /opt/nvab/attribution.so\n").has_value());
  assert_string_equal(find_plugin(plugstack, "/lib/slurm").c_str(), "/opt/nvab/attribution.so");
  // One that includes itself.
  assert_true(write_file(plugstack, "include " + plugstack + "\n").has_value());
  assert_string_equal(find_plugin(plugstack, "/lib/slurm").c_str(), "");
}

void folders_are_tried_and_left_as_they_were(void**) {
  TempFolder folder("doctor_test");
  assert_true(is_writable(folder.path));
  assert_true(list_folder(folder.path)->empty());
  assert_false(is_writable(folder / "nothing"));
  assert_true(probe_queue(folder.path).front().status == ProbeStatus::ok);
  assert_true(probe_queue(folder / "nothing").front().status == ProbeStatus::warning);
  assert_true(probe_spool(folder / "nothing").front().status == ProbeStatus::warning);
  std::filesystem::create_directories(folder / "dead");
  assert_true(write_file(folder / "dead/1", "x").has_value());
  const ProbeFindings dead = probe_queue(folder.path);
  assert_true(dead.front().status == ProbeStatus::warning);
  assert_non_null(std::strstr(dead.front().fix.c_str(), "--requeue"));
  assert_true(write_file(folder / "file", "x").has_value());
  assert_false(probe_spool(folder / "file").front().status == ProbeStatus::ok);
}

void the_report_says_what_to_do(void**) {
  const std::vector<DoctorCheck> checks = {
      {"queue", probe_ok("work on it", "it can be written to")},
      {"log.loki.app", probe_fault("query it", "HTTP 401\nno token", "set auth")},
      {"spool", probe_warning("read it", "there is none", "make it")}};
  const std::string text = doctor_text(checks);
  assert_non_null(std::strstr(text.c_str(),
                              "fault    log.loki.app  query it: HTTP 401 no token\n"
                              "                       -> set auth\n"));
  assert_non_null(std::strstr(text.c_str(), "3 checked, 1 at fault, 1 to look at\n"));
  const auto json = Json::parse(doctor_json("x.toml", checks));
  assert_true(json.has_value());
  assert_int_equal(json->get("faults").as_int().value_or(0), 1);
  assert_string_equal(json->get("checks").at(1).get("fix").as_string()->c_str(), "set auth");
  assert_int_equal(doctor_exit_code(checks, false), kExitNoOutput);
  assert_int_equal(doctor_exit_code({checks[2]}, false), kExitOk);
  assert_int_equal(doctor_exit_code({checks[2]}, true), kExitIncomplete);
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(versions_are_numbers),
      cmocka_unit_test(a_plugin_says_for_which_slurm_it_was_built),
      cmocka_unit_test(slurms_settings_are_read),
      cmocka_unit_test(the_plugin_is_found_where_slurm_finds_it),
      cmocka_unit_test(folders_are_tried_and_left_as_they_were),
      cmocka_unit_test(the_report_says_what_to_do),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
