// SPDX-License-Identifier: Apache-2.0
// Trees of syslog servers: which of their files are a job's.
#include "epilog/log/path_template.hh"

#include <sys/stat.h>
#include <unistd.h>

#include "common/base/file.hh"
#include "common/base/text.hh"
#include "epilog/log/file.hh"
#include "tests/cmocka.hh"
#include "tests/support/kept.hh"

using namespace nvab;
using namespace nvab::test;

namespace {

ExecutionContext job() {
  ExecutionContext context;
  context.job_id = "1234_7";
  context.files.raw_ids = {1300};
  context.nodes = {"n1", "n2.example.org"};
  context.start_time = *parse_rfc3339("2026-03-01T10:00:00Z");
  context.end_time = *parse_rfc3339("2026-03-02T09:00:00Z");
  return context;
}

struct Tree {
  TempFolder folder{"template_test"};
  explicit Tree(const std::vector<std::string>& files) {
    for (const std::string& file : files) {
      const std::string path = folder / file;
      std::filesystem::create_directories(path.substr(0, path.rfind('/')));
      assert_true(write_file(path, "Mar  1 11:00:00 x kernel: line\n").has_value());
    }
  }
  // "NODE:PATH below the tree" of each, with a blank behind.
  std::string expand(const std::string& path) const {
    const auto expanded = expand_path_template(folder / path, job());
    assert_true(expanded.has_value());
    std::string text;
    for (const TemplatePath& found : expanded->paths) {
      text += found.node + ":" + found.path.substr(folder.path.size() + 1) + " ";
    }
    return text;
  }
};

void only_the_jobs_nodes_are_looked_at(void**) {
  const Tree tree({"n1/syslog", "n1.site.org/syslog", "n2/syslog", "n2.example.org/syslog",
                   "n2.other.org/syslog", "n10/syslog", "N1/syslog", "n3/syslog", ".n1/syslog"});
  assert_string_equal(tree.expand("%HOSTNAME%/syslog").c_str(),
                      "n1:N1/syslog n1:n1/syslog n1:n1.site.org/syslog n2.example.org:n2/syslog "
                      "n2.example.org:n2.example.org/syslog ");
  for (const char* same : {"{node}/syslog", "%fromhost:::secpath-replace,lowercase%/sys*"}) {
    assert_string_equal(tree.expand(same).c_str(), tree.expand("%HOSTNAME%/syslog").c_str());
  }
  // A folder that may not be opened is not even tried when it is another host's.
  assert_int_equal(::chmod((tree.folder / "n3").c_str(), 0), 0);
  const auto expanded = expand_path_template(tree.folder / "%HOSTNAME%/syslog", job());
  assert_int_equal(expanded->skipped.size(), 0);
}

void a_host_may_be_part_of_a_name(void**) {
  const Tree tree({"all/n1-kern.log", "all/n2-kern.log", "all/n22-kern.log", "all/n1-mail.log"});
  assert_string_equal(tree.expand("all/%HOSTNAME%-kern.log").c_str(),
                      "n1:all/n1-kern.log n2.example.org:all/n2-kern.log ");
}

void dates_must_fit_the_jobs_time(void**) {
  const Tree tree({"2025/n1/a.log", "2026/n1/02/27.log", "2026/n1/02/28.log", "2026/n1/03/01.log",
                   "2026/n1/03/02.log", "2026/n1/03/03.log", "2026/n1/03/04.log",
                   "2026/n1/x/y.log"});
  // A day more on either side: nobody knows the zone of that server.
  const char kDays[] =
      "n1:2026/n1/02/28.log n1:2026/n1/03/01.log n1:2026/n1/03/02.log n1:2026/n1/03/03.log ";
  assert_string_equal(tree.expand("%$YEAR%/%HOSTNAME%/%$MONTH%/%$DAY%.log").c_str(), kDays);
  assert_string_equal(
      tree.expand("%timegenerated:1:4:date-rfc3339%/%hostname%/"
                  "%timegenerated:6:7:date-rfc3339%/%timegenerated:9:10:date-rfc3339%.log")
          .c_str(),
      kDays);
}

void a_job_may_be_named(void**) {
  const Tree tree(
      {"kernel/1234_7/n1.log", "kernel/1300/n2.log", "kernel/12345/n1.log", "kernel/9/n1.log"});
  assert_string_equal(tree.expand("kernel/{job}/{node}.log").c_str(),
                      "n1:kernel/1234_7/n1.log n2.example.org:kernel/1300/n2.log ");
}

void other_properties_may_be_anything(void**) {
  const Tree tree({"n1/kernel.log", "n1/slurmd.log", "n1/deep/er.log"});
  assert_string_equal(tree.expand("%HOSTNAME%/%PROGRAMNAME%.log").c_str(),
                      "n1:n1/kernel.log n1:n1/slurmd.log ");
}

void what_is_malformed_is_refused(void**) {
  assert_false(is_path_template("/var/log/messages"));
  assert_false(is_path_template("/var/log/100%"));
  assert_true(is_path_template("/var/log/%HOSTNAME%"));
  assert_false(expand_path_template("/x/%HOSTNAME%/%HOST", job()).has_value());
}

void the_collector_says_whose_lines_they_are(void**) {
  const Tree tree({"n1/kern.log", "n1/kern.log.1", "n3/kern.log"});
  assert_true(write_file(tree.folder / "n1/kern.log",
                         "2026-03-01T11:00:00Z kernel: NVRM: Xid (PCI:0000:61:00): 79, pid=1, a\n")
                  .has_value());
  auto rules = Ruleset::load("default", "");
  Host host;
  host.rules = rules->get();
  LogFileOptions options;
  options.source = Source::syslog;
  options.paths = {tree.folder / "%HOSTNAME%/kern.log"};
  Kept kept;
  const CollectOutcome outcome = make_log_file(options, host)->collect(job(), kept);
  assert_true(outcome.status == ConnectorStatus::ok);
  assert_int_equal(outcome.details.get("files").as_int().value_or(0), 2);  // with the rotated one
  assert_int_equal(outcome.details.get("nodes_without_files").as_int().value_or(0), 1);
  assert_non_null(kept.find("79"));
  assert_string_equal(kept.find("79")->node.c_str(), "n1");
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(only_the_jobs_nodes_are_looked_at),
      cmocka_unit_test(a_host_may_be_part_of_a_name),
      cmocka_unit_test(dates_must_fit_the_jobs_time),
      cmocka_unit_test(a_job_may_be_named),
      cmocka_unit_test(other_properties_may_be_anything),
      cmocka_unit_test(what_is_malformed_is_refused),
      cmocka_unit_test(the_collector_says_whose_lines_they_are),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
