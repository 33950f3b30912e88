// SPDX-License-Identifier: Apache-2.0
// The job's own files: found, read as their owner, and nothing else read for him. Some tests need
// root, who alone can become others.
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <filesystem>

#include <fmt/core.h>

#include "common/base/file.hh"
#include "common/base/text.hh"
#include "epilog/connector.hh"
#include "epilog/log/as_user.hh"
#include "epilog/log/job_files.hh"
#include "epilog/log/spool.hh"
#include "tests/cmocka.hh"

using namespace nvab;

namespace {

// Nobody else's: two ids without a name on any machine.
constexpr uid_t kOwner = 54321, kOther = 54322;

std::unique_ptr<Ruleset> g_rules;

struct TempFolder {
  std::string path = "/tmp/nvab-log-job." + std::to_string(::getpid());
  TempFolder() {
    std::filesystem::remove_all(path);
    ::mkdir(path.c_str(), 0755);
  }
  ~TempFolder() { std::filesystem::remove_all(path); }
  std::string operator/(const std::string& name) const { return path + "/" + name; }
  std::string put(const std::string& name, const std::string& text, mode_t mode = 0644) const {
    assert_true(write_file(path + "/" + name, text, mode).has_value());
    return path + "/" + name;
  }
};

struct Kept final : ObservationSink {
  std::vector<Observation> all;
  void deliver(Observation&& observation) override { all.push_back(std::move(observation)); }
  std::string streams() const {
    std::string text;
    for (const Observation& observation : all) {
      for (const StreamCoverage& stream : observation.coverage.streams) text += stream.stream + ";";
    }
    return text;
  }
};

Time now() { return std::chrono::floor<Duration>(std::chrono::system_clock::now()); }

ExecutionContext job(const TempFolder& folder, long long id = 77) {
  ExecutionContext c;
  c.scheduler = "slurm";
  c.job_id = std::to_string(id);
  c.state = "FAILED";
  c.uid = static_cast<long long>(::geteuid() == 0 ? kOwner : ::geteuid());
  c.files.gid = c.uid;
  c.start_time = now() - std::chrono::seconds(30);
  c.end_time = now() + std::chrono::seconds(2);
  c.files.raw_ids = {id};
  c.files.work_dir = folder.path;
  c.files.is_batch = true;
  c.files.batch_node = "n1";
  c.name = "train";
  c.user = "ada";
  return c;
}

std::string found_in(const JobFilesFound& found) {
  std::string text;
  for (const SourceFile& file : found.source.files) {
    text += std::filesystem::path(file.path).filename().string() + ";";
  }
  for (const SkippedFile& file : found.source.skipped) {
    text += "!" + std::filesystem::path(file.path).filename().string() + ";";
  }
  return text;
}

std::string find(const ExecutionContext& context, std::vector<TaskStream> streams = {}) {
  return found_in(find_job_files({context, std::move(streams), "boot-1"}));
}

TaskStream recorded(const std::string& path, const std::string& step = "batch", int task = 0) {
  struct stat status {};
  ::stat(path.c_str(), &status);
  TaskStream stream;
  stream.step = step;
  stream.task = task;
  stream.node = "n1";
  stream.kind = TaskStream::Kind::file;
  stream.path = path;
  stream.dev = status.st_dev;
  stream.ino = status.st_ino;
  stream.boot_id = "boot-1";
  return stream;
}

// ---- finding
// ------------------------------------------------------------------------------------------

void the_default_name_is_found(void**) {
  const TempFolder folder;
  folder.put("slurm-77.out", "x\n");
  folder.put("slurm-770.out", "x\n");
  assert_string_equal(find(job(folder)).c_str(), "slurm-77.out;");
  ExecutionContext task = job(folder, 80);
  task.files.array_job_id = 78;
  task.files.array_task_id = 4;
  assert_string_equal(find(task).c_str(), "");
  folder.put("slurm-78_4.out", "x\n");
  assert_string_equal(find(task).c_str(), "slurm-78_4.out;");
}

void patterns_of_the_submission_go_before_it(void**) {
  const TempFolder folder;
  for (const char* name : {"slurm-77.out", "known-77.log", "known-77.err", "line-77.log",
                           "script-77.log", "train.err"}) {
    folder.put(name, "x\n");
  }
  ExecutionContext c = job(folder);
  c.files.submit_line = "sbatch -o line-%j.log job.sh";
  assert_string_equal(find(c).c_str(), "line-77.log;slurm-77.out;");
  folder.put("job.sh", "#!/bin/sh\n#SBATCH -o script-%j.log -e %x.err\ntrue\n");
  assert_string_equal(find(c).c_str(), "line-77.log;train.err;slurm-77.out;");
  c.files.submit_line = "sbatch job.sh";
  assert_string_equal(find(c).c_str(), "script-77.log;train.err;slurm-77.out;");
  c.files.stdout_pattern = folder / "known-%j.log";
  c.files.stderr_pattern = "known-%j.err";
  assert_string_equal(find(c).c_str(), "known-77.log;known-77.err;");
  c.files.stdout_pattern = folder / "gone-%j.log";
  assert_string_equal(find(c).c_str(), "known-77.err;!gone-77.log;");
}

void the_task_record_goes_before_all(void**) {
  const TempFolder folder;
  folder.put("slurm-77.out", "x\n");
  const std::string out = folder.put("real.out", "x\n");
  assert_string_equal(find(job(folder), {recorded(out)}).c_str(), "real.out;");
  const JobFilesFound ranks = find_job_files(
      {job(folder), {recorded(out), recorded(folder.put("rank-3", "x\n"), "0", 3)}, "boot-1"});
  assert_string_equal(found_in(ranks).c_str(), "rank-3;real.out;");
  assert_int_equal(*ranks.source.files[0].task, 3);
  assert_string_equal(ranks.source.files[0].node.c_str(), "n1");
  assert_false(ranks.source.files[1].task.has_value());
}

void files_of_each_task_are_found_without_a_record(void**) {
  const TempFolder folder;
  folder.put("slurm-77.out", "x\n");
  for (const char* name : {"r-0.out", "r-1.out", "r-2.out", "n-0", "n-1"}) folder.put(name, "x\n");
  ExecutionContext c = job(folder);
  c.files.steps = {{"0", "srun -n2 -o r-%t.out prog", 2, {"n1"}},
                   {"1", "srun -o n-%n prog", 4, {"n1", "n2"}},
                   {"2", "srun -o none prog", 4, {"n1", "n2"}}};
  assert_string_equal(find(c).c_str(), "slurm-77.out;r-0.out;r-1.out;n-0;n-1;");
}

void the_file_that_srun_itself_writes_is_found_where_tasks_saw_a_pipe(void**) {
  const TempFolder folder;
  folder.put("train.log", "x\n");
  ExecutionContext c = job(folder);
  c.files.is_batch = false;
  c.files.steps = {{"0", "srun -n2 -o %x.log prog", 2, {"n1"}}};
  TaskStream stream = recorded(folder / "train.log", "0");
  stream.kind = TaskStream::Kind::pipe;
  stream.path.clear();
  assert_string_equal(find(c, {stream}).c_str(), "train.log;");
  stream.kind = TaskStream::Kind::device;
  assert_string_equal(find(c, {stream}).c_str(), "");
}

void a_file_that_others_wrote_to_is_left_out(void**) {
  const TempFolder folder;
  const std::string shared = folder.put("log.txt", "x\n");
  ExecutionContext c = job(folder);
  c.files.stdout_pattern = "log.txt";
  assert_string_equal(find(c).c_str(), "log.txt;");
  c.end_time = now() - std::chrono::minutes(10);
  c.start_time = now() - std::chrono::minutes(20);
  assert_string_equal(find(c).c_str(), "!log.txt;");
  assert_string_equal(find(c, {recorded(shared)}).c_str(), "!log.txt;");
  // Nobody else writes to a file with this job's number.
  folder.put("slurm-0077.out", "x\n");
  c.files.stdout_pattern = "slurm-%4j.out";
  assert_string_equal(find(c).c_str(), "slurm-0077.out;");
  c.files.stdout_pattern = "log.txt";
  c.start_time = now() + std::chrono::minutes(20);
  c.end_time = now() + std::chrono::minutes(30);
  assert_string_equal(find(c).c_str(), "!log.txt;");
}

void it_is_said_why_there_is_no_file(void**) {
  const TempFolder folder;
  TaskStream null = recorded("/dev/null");
  null.kind = TaskStream::Kind::device;
  assert_string_equal(find_job_files({job(folder), {null}, ""}).nowhere.c_str(),
                      "the job's output went to /dev/null");
  ExecutionContext interactive = job(folder);
  interactive.files.is_batch = false;
  assert_non_null(strstr(find_job_files({interactive, {}, ""}).nowhere.c_str(), "srun or salloc"));
}

// ---- the spool
// ----------------------------------------------------------------------------------------

void each_run_has_its_own_records(void**) {
  const TempFolder folder;
  ExecutionContext c = job(folder, 19);
  c.start_time = parse_rfc3339("2026-12-01T08:18:35Z");
  c.end_time = parse_rfc3339("2026-12-01T08:18:38Z");
  const std::vector<std::string> names = {
      "19.batch.n3.1796113115100000.ndjson",  // 08:18:35.1
      "19.batch.n3.1796113240200000.ndjson",  // 08:20:40.2
      "19.0.n3.1796113241000000.ndjson",      // 08:20:41
      "190.batch.n3.1796113115100000.ndjson", "19.batch.n3.ndjson",
      "19.batch.a.b.1796113116000000.ndjson", ".19.batch.n3.1796113115100000.ndjson"};
  const auto chosen = [&] { return join(choose_spool_files(names, c), " "); };
  // A step that only the second run had began within the slack of clocks.
  assert_string_equal(chosen().c_str(),
                      "19.0.n3.1796113241000000.ndjson 19.batch.a.b.1796113116000000.ndjson "
                      "19.batch.n3.1796113115100000.ndjson");
  c.start_time = c.end_time = parse_rfc3339("2026-12-01T08:20:40Z");
  assert_non_null(strstr(chosen().c_str(), "19.batch.n3.1796113240200000.ndjson"));
  assert_null(strstr(chosen().c_str(), "19.batch.n3.1796113115100000.ndjson"));
  c.job_id = "19.0";
  assert_string_equal(chosen().c_str(), "19.0.n3.1796113241000000.ndjson");
  c.job_id = "19";
  c.files.raw_ids = {190};
  c.start_time = c.end_time = parse_rfc3339("2026-12-01T08:18:35Z");
  assert_string_equal(chosen().c_str(), "190.batch.n3.1796113115100000.ndjson");
}

void records_that_others_can_have_written_are_refused(void**) {
  const TempFolder folder;
  ExecutionContext c = job(folder, 19);
  c.start_time = c.end_time = parse_rfc3339("2026-12-01T08:18:35Z");
  const std::string path = folder.put("19.0.n3.1796113115100000.ndjson", "{}\n", 0640);
  const auto found = [&](std::string* why) {
    std::vector<std::string> refused;
    const auto paths = spool_files(folder.path, c, &refused);
    assert_true(paths.has_value());
    *why = join(refused, " ");
    return paths->size();
  };
  std::string why;
  assert_int_equal(found(&why), 1);
  assert_int_equal(::chmod(path.c_str(), 0666), 0);
  assert_int_equal(found(&why), 0);
  assert_non_null(strstr(why.c_str(), "can be written by others"));
  assert_int_equal(::unlink(path.c_str()), 0);
  assert_int_equal(::symlink("/dev/null", path.c_str()), 0);
  assert_int_equal(found(&why), 0);
  assert_non_null(strstr(why.c_str(), "is a link"));
}

void records_of_another_owner_are_refused(void**) {
  if (::geteuid() != 0) skip();
  const TempFolder folder;
  ExecutionContext c = job(folder, 19);
  c.start_time = c.end_time = parse_rfc3339("2026-12-01T08:18:35Z");
  const std::string path = folder.put("19.0.n3.1796113115100000.ndjson", "{}\n", 0640);
  assert_int_equal(::chown(path.c_str(), kOwner, kOwner), 0);
  std::vector<std::string> refused;
  assert_int_equal(spool_files(folder.path, c, &refused)->size(), 0);
  assert_int_equal(refused.size(), 1);
  // SlurmUser's, where the spool is that user's.
  assert_int_equal(::chown(folder.path.c_str(), kOwner, kOwner), 0);
  assert_int_equal(spool_files(folder.path, c, &refused)->size(), 1);
}

// ---- reading as the user
// -------------------------------------------------------------------------------

Result<std::unique_ptr<Collector>> open_log_job(Host& host) {
  for (const CollectorComponent* component : collector_components()) {
    if (component->spec.name != "job") continue;
    const auto settings = ComponentSettings::of(component->spec, "", {});
    return component->open(*settings, host);
  }
  return tl::unexpected(Error{Error::Code::internal, "no log.job"});
}

CollectOutcome collect(const ExecutionContext& context, Kept* kept,
                       Duration time = std::chrono::seconds(20)) {
  Host host;
  host.rules = g_rules.get();
  host.spool = "/no/such/spool";
  host.deadline = Deadline::after(time);
  auto collector = open_log_job(host);
  return (*collector)->collect(context, *kept);
}

void what_the_job_printed_comes_back(void**) {
  const TempFolder folder;
  folder.put("slurm-77.out", "step 1\nSegmentation fault (core dumped)\n");
  Kept kept;
  const CollectOutcome outcome = collect(job(folder), &kept);
  assert_string_equal(outcome.reason.c_str(), "");
  assert_true(outcome.status == ConnectorStatus::ok);
  assert_string_equal(kept.streams().c_str(), (folder.path + "/slurm-77.out;").c_str());
  assert_int_equal(kept.all.at(0).coverage.lines_scanned, 2);
  assert_string_equal(kept.all.at(0).connector.c_str(), "log.job");
  assert_int_equal(outcome.details.get("files").as_int().value_or(0), 1);
}

void only_the_owners_rights_count(void**) {
  if (::geteuid() != 0) skip();
  const TempFolder folder;
  const std::string path = folder.put("slurm-77.out", "secret\n", 0600);
  Kept kept;
  // root's file, asked for by a user's job.
  CollectOutcome outcome = collect(job(folder), &kept);
  assert_true(outcome.status == ConnectorStatus::denied);
  assert_string_equal(kept.streams().c_str(), "");
  assert_int_equal(::chown(path.c_str(), kOther, kOther), 0);
  assert_true(collect(job(folder), &kept).status == ConnectorStatus::denied);
  assert_int_equal(::chown(path.c_str(), kOwner, kOwner), 0);
  assert_true(collect(job(folder), &kept).status == ConnectorStatus::ok);
  // By the job's group.
  assert_int_equal(::chown(path.c_str(), kOther, kOwner), 0);
  assert_int_equal(::chmod(path.c_str(), 0640), 0);
  assert_true(collect(job(folder), &kept).status == ConnectorStatus::ok);
  ExecutionContext other = job(folder);
  other.files.gid = kOther;
  assert_true(collect(other, &kept).status == ConnectorStatus::denied);
}

void without_an_owner_nothing_is_read(void**) {
  const TempFolder folder;
  folder.put("slurm-77.out", "x\n");
  ExecutionContext c = job(folder);
  c.uid.reset();
  Kept kept;
  assert_true(collect(c, &kept).status == ConnectorStatus::denied);
  assert_true(kept.all.empty());
}

void links_pipes_devices_and_what_vanished_are_not_read(void**) {
  const TempFolder folder;
  folder.put("elsewhere", "x\n");
  ExecutionContext c = job(folder);
  const auto reason_of = [&](const std::string& pattern) {
    c.files.stdout_pattern = pattern;
    Kept kept;
    const CollectOutcome outcome = collect(c, &kept);
    assert_string_equal(kept.streams().c_str(), "");
    return std::string(to_string(outcome.status)) + ": " + outcome.reason;
  };
  assert_int_equal(::symlink("elsewhere", (folder / "link-77").c_str()), 0);
  assert_non_null(strstr(reason_of("link-%j").c_str(), "error: "));
  assert_non_null(strstr(reason_of("link-%j").c_str(), "a link lies where the file was"));
  assert_int_equal(::mkfifo((folder / "fifo-77").c_str(), 0666), 0);
  assert_non_null(strstr(reason_of("fifo-%j").c_str(), "it is not a regular file"));
  assert_non_null(strstr(reason_of("/dev/zero").c_str(), "it is not a regular file"));
  assert_non_null(strstr(reason_of("gone-%j").c_str(), "no_data: "));
  assert_non_null(strstr(reason_of("gone-%j").c_str(), "gone-77"));
}

void what_the_next_run_overwrote_is_not_read(void**) {
  const TempFolder folder;
  const std::string path = folder.put("slurm-77.out", "of the second run\n");
  ExecutionContext first = job(folder), second = job(folder);
  first.state = "REQUEUED";
  first.start_time = now() - std::chrono::seconds(40);
  first.end_time = now() - std::chrono::seconds(20);
  // The next run waits or has only just begun: the file is still the first one's.
  assert_string_equal(find(first).c_str(), "slurm-77.out;");
  first.files.next_run = now() + std::chrono::seconds(5);
  assert_string_equal(find(first).c_str(), "slurm-77.out;");
  first.files.next_run = now() - std::chrono::seconds(10);
  assert_string_equal(find(first).c_str(), "!slurm-77.out;");
  assert_string_equal(find(first, {recorded(path)}).c_str(), "!slurm-77.out;");
  assert_string_equal(find(second).c_str(), "slurm-77.out;");
}

void a_file_in_the_place_of_the_recorded_one_is_not_read(void**) {
  const TempFolder folder;
  const std::string path = folder.put("o-77", "x\n");
  std::vector<TaskStream> streams = {recorded(path)};
  const auto read = [&] {
    const JobFilesFound found = find_job_files({job(folder), streams, "boot-1"});
    assert_int_equal(found.source.files.size(), 1);
    return open_source(found.source.files[0]);
  };
  assert_true(read().has_value());
  streams[0].dev += 1;
  assert_int_equal(read().error().code, Error::Code::conflict);
  // Of another machine the number of the device says nothing.
  streams[0].boot_id = "boot-2";
  assert_true(read().has_value());
  streams[0].ino += 1;
  assert_int_equal(read().error().code, Error::Code::conflict);
}

void a_child_that_hangs_costs_its_time_only(void**) {
  Kept kept;
  const auto begin = std::chrono::steady_clock::now();
  const CollectOutcome outcome = collect_as({static_cast<long long>(::geteuid()), {}},
                                            Deadline::after(std::chrono::milliseconds(300)), kept,
                                            [](ObservationSink&) -> CollectOutcome {
                                              for (;;) ::pause();
                                            });
  assert_true(outcome.status == ConnectorStatus::timed_out);
  assert_true(std::chrono::steady_clock::now() - begin < std::chrono::seconds(5));
  assert_int_equal(::waitpid(-1, nullptr, WNOHANG), -1);  // and is gone
}

void a_child_that_dies_or_lies_is_an_error(void**) {
  Kept kept;
  const UserIds self = {static_cast<long long>(::geteuid()), {}};
  const Deadline deadline = Deadline::after(std::chrono::seconds(20));
  const CollectOutcome died = collect_as(self, deadline, kept, [](ObservationSink& sink) {
    sink.deliver({});
    ::raise(SIGKILL);
    return CollectOutcome{};
  });
  assert_true(died.status == ConnectorStatus::error);
  assert_int_equal(kept.all.size(), 1);  // what came before counts
  const CollectOutcome lied = collect_as(self, deadline, kept, [](ObservationSink&) {
    // Whatever descriptor it is: words that are no frame.
    for (int fd = 3; fd < 64; ++fd) (void)!::write(fd, "\xff\xff\xff\x7fO{}{}{}", 11);
    ::pause();
    return CollectOutcome{};
  });
  assert_true(lied.status == ConnectorStatus::error);
  assert_non_null(strstr(lied.reason.c_str(), "more than it can have found"));
}

void the_child_is_the_user_and_nobody_else(void**) {
  if (::geteuid() != 0) skip();
  Kept kept;
  const CollectOutcome outcome = collect_as(
      {kOwner, kOther}, Deadline::after(std::chrono::seconds(20)), kept, [](ObservationSink&) {
        gid_t groups[8] = {};
        const int count = ::getgroups(8, groups);
        CollectOutcome seen;
        for (const unsigned id :
             {::geteuid(), ::getgid(), static_cast<unsigned>(count), groups[0]}) {
          seen.reason += std::to_string(id) + " ";
        }
        seen.reason += ::seteuid(0) == 0 ? "root" : "stays";
        seen.reason += ::open("/proc/self/mem", O_RDWR) >= 0 ? " readable" : " closed";
        int open_files = 0;
        for (int fd = 0; fd < 100; ++fd) open_files += ::fcntl(fd, F_GETFD) >= 0 ? 1 : 0;
        seen.reason += " " + std::to_string(open_files);  // three to /dev/null, and the pipe
        return seen;
      });
  assert_string_equal(outcome.reason.c_str(), "54321 54322 1 54322 stays closed 4");
}

// Makes this process a service's: not root, with the capabilities of its unit or without.
void become_service(bool is_capable) {
  ::prctl(PR_SET_KEEPCAPS, 1);
  assert_int_equal(::setgroups(0, nullptr), 0);
  assert_int_equal(::setresgid(kOther, kOther, kOther), 0);
  assert_int_equal(::setresuid(kOther, kOther, kOther), 0);
  const unsigned both = is_capable ? 1U << CAP_SETUID | 1U << CAP_SETGID : 0;
  __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct sets[2] = {{both, both, 0}, {0, 0, 0}};
  assert_int_equal(::syscall(SYS_capset, &head, sets), 0);
}

// What collect_as() and open_source() do in such a process: "IDS CAPABILITIES | FILE".
std::string in_service(bool is_capable, const std::string& path) {
  int ends[2];
  assert_int_equal(::pipe(ends), 0);
  if (::fork() == 0) {
    become_service(is_capable);
    Kept kept;
    const auto outcome = collect_as(
        {kOwner, kOwner}, Deadline::after(std::chrono::seconds(20)), kept, [&](ObservationSink&) {
          CollectOutcome seen;
          const auto status = read_file("/proc/self/status", 8192);
          const std::size_t at = status->find("CapPrm:\t") + 8;
          seen.reason = fmt::format("{} {} {}", ::getuid(), ::getgid(), status->substr(at, 16));
          SourceFile file{.path = path, .stream = path};
          if (!may_become(kOwner)) file.owner = kOwner;
          const auto opened = open_source(file);
          seen.reason += opened ? " | open" : " | " + opened.error().message.substr(0, 35);
          return seen;
        });
    (void)!::write(ends[1], outcome.reason.data(), outcome.reason.size());
    ::_exit(0);
  }
  ::close(ends[1]);
  std::string text(200, '\0');
  const ssize_t got = ::read(ends[0], text.data(), text.size());
  ::close(ends[0]);
  ::wait(nullptr);
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  return text;
}

void a_service_that_is_not_root_reads_as_the_owner_or_only_the_owners_files(void**) {
  if (::geteuid() != 0) skip();
  const TempFolder folder;
  const std::string theirs = folder.put("theirs", "x", 0640), own = folder.put("own", "x");
  assert_int_equal(::chown(theirs.c_str(), kOther, kOther), 0);  // the service could read it
  assert_int_equal(::chown(own.c_str(), kOwner, kOwner), 0);
  assert_string_equal(in_service(true, own).c_str(), "54321 54321 0000000000000000 | open");
  assert_string_equal(in_service(true, theirs).c_str(),
                      "54321 54321 0000000000000000 | opening it: Permission denied");
  assert_string_equal(in_service(false, own).c_str(), "54322 54322 0000000000000000 | open");
  assert_string_equal(in_service(false, theirs).c_str(),
                      "54322 54322 0000000000000000 | it belongs to another user than the");
}

int load_rules(void**) {
  auto rules = Ruleset::load("default", "");
  if (rules) g_rules = std::move(*rules);
  return g_rules ? 0 : -1;
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(the_default_name_is_found),
      cmocka_unit_test(patterns_of_the_submission_go_before_it),
      cmocka_unit_test(the_task_record_goes_before_all),
      cmocka_unit_test(files_of_each_task_are_found_without_a_record),
      cmocka_unit_test(the_file_that_srun_itself_writes_is_found_where_tasks_saw_a_pipe),
      cmocka_unit_test(a_file_that_others_wrote_to_is_left_out),
      cmocka_unit_test(it_is_said_why_there_is_no_file),
      cmocka_unit_test(each_run_has_its_own_records),
      cmocka_unit_test(records_that_others_can_have_written_are_refused),
      cmocka_unit_test(records_of_another_owner_are_refused),
      cmocka_unit_test(what_the_job_printed_comes_back),
      cmocka_unit_test(only_the_owners_rights_count),
      cmocka_unit_test(without_an_owner_nothing_is_read),
      cmocka_unit_test(links_pipes_devices_and_what_vanished_are_not_read),
      cmocka_unit_test(what_the_next_run_overwrote_is_not_read),
      cmocka_unit_test(a_file_in_the_place_of_the_recorded_one_is_not_read),
      cmocka_unit_test(a_child_that_hangs_costs_its_time_only),
      cmocka_unit_test(a_child_that_dies_or_lies_is_an_error),
      cmocka_unit_test(the_child_is_the_user_and_nobody_else),
      cmocka_unit_test(a_service_that_is_not_root_reads_as_the_owner_or_only_the_owners_files),
  };
  return cmocka_run_group_tests(tests, load_rules, nullptr);
}
