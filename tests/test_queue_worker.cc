// SPDX-License-Identifier: Apache-2.0
// The queue with accounting and judging as stand-ins: what becomes of entries, whoever dies when.
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <set>

#include "common/base/log.hh"
#include "epilog/queue/status.hh"
#include "epilog/queue/worker.hh"
#include "tests/cmocka.hh"

// (fail)(...) is ours: cmocka has a macro of that name.

using namespace nvab;

namespace {

Time at(const char* text) { return *parse_rfc3339(text); }
const Time kNow = at("2026-05-01T12:00:00Z");
const Time kEnd = at("2026-05-01T11:59:58Z");

std::string temp_folder() {
  std::string path = "/tmp/nvab-queue-XXXXXX";
  assert_non_null(::mkdtemp(path.data()));
  return path;
}

// A queue in a folder of its own, with one run for each job that accounting is told of.
struct Bench {
  std::string folder = temp_folder();
  Time now = kNow;
  QueueSettings settings;
  Policy policy;
  std::map<std::uint32_t, SlurmRun> jobs;
  std::set<std::string> known;  // trigger ids that were judged
  int judged = 0, looks = 0;
  std::size_t asked = 0;  // hints in the last look
  std::optional<Error> outage;
  std::string output_trouble;
  bool is_held = false;
  std::vector<std::string> delivered_before;
  std::string last_job;
  std::unique_ptr<QueueStore> store;

  Bench() {
    policy.automatic = Policy::Auto::all;
    reopen();
  }
  ~Bench() {
    store.reset();
    const std::string remove = "chmod -R u+w " + folder + "; rm -rf " + folder;
    if (std::system(remove.c_str()) != 0) std::abort();
  }
  void reopen() {
    store.reset();
    auto opened = QueueStore::open(folder);
    assert_true(opened.has_value());
    store = std::move(*opened);
  }
  SlurmRun& add_job(std::uint32_t id, const char* state = "FAILED") {
    SlurmRun run;
    run.id = {id, {}, {}, {}};
    run.raw_ids = {id};
    run.context.scheduler = "slurm";
    run.context.cluster = "c";
    run.context.job_id = std::to_string(id);
    run.context.state = state;
    run.context.submit_time = at("2026-05-01T11:00:00Z");
    run.context.end_time = kEnd;
    run.context.files.submit_line = "sbatch x.sh";
    run.context.uid = 1000;
    return jobs[id] = run;
  }
  std::string hand_over(std::uint32_t id, const char* hook, const char* more = "") const {
    const std::string trigger = std::to_string(id) + "." + hook + ".h.1.1";
    put(trigger + ".json", R"({"v":1,"trigger_id":")" + trigger + R"(","hook":")" + hook +
                               R"(","host":"h","time":"2026-05-01T11:59:58.5Z","job":{"job_id":)" +
                               std::to_string(id) + more + "}}\n");
    return trigger;
  }
  void put(const std::string& name, const std::string& text) const {
    const std::string path = folder + "/new/" + name;
    assert_true(write_file(path, text).has_value());
    set_age(path, Duration{0});
  }
  // As if it had been written so long before this bench's time.
  void set_age(const std::string& path, Duration age) const {
    const auto seconds = static_cast<time_t>(to_unix_seconds(now - age));
    const timespec times[2] = {{seconds, 0}, {seconds, 0}};
    ::utimensat(AT_FDCWD, path.c_str(), times, 0);
  }
  Result<SlurmAnswer> look(const SlurmQuestion& question) {
    ++looks;
    asked = question.hints.size();
    if (outage) return tl::unexpected(*outage);
    SlurmAnswer answer;
    std::map<std::uint32_t, std::size_t> place;
    for (const JobHint& hint : question.hints) {
      const auto job = jobs.find(hint.job_id);
      if (job == jobs.end()) {
        answer.of_hint.push_back(std::nullopt);
        continue;
      }
      const auto [where, is_new] = place.emplace(hint.job_id, answer.runs.size());
      if (is_new) answer.runs.push_back(job->second);
      answer.of_hint.push_back(where->second);
    }
    return answer;
  }
  ContextSummary judge(QueueTask* task) {
    ++judged;
    delivered_before = task->delivered;
    known.insert(task->trigger_id);
    last_job = task->context.job_id;
    ContextSummary summary;
    summary.status = is_held ? ContextStatus::conflicted : ContextStatus::attributed;
    summary.job = task->context.job_id;
    summary.reason = output_trouble;
    if (!is_held) task->delivered.push_back("output.sqlite");
    return summary;
  }
  QueueWorker worker() {
    return QueueWorker(*store, settings, policy,
                       {.look = [this](const SlurmQuestion& question) { return look(question); },
                        .judge = [this](QueueTask* task) { return judge(task); },
                        .now = [this] { return now; },
                        .must_stop = [] { return false; }});
  }
  Result<RoundResult> round() { return worker().round(); }
  std::size_t count(const char* state, const char* suffix = ".json") const {
    std::size_t count = 0;
    const auto names = list_folder(folder + "/" + state);
    assert_true(names.has_value());
    for (const std::string& name : *names) count += name.ends_with(suffix) ? 1 : 0;
    return count;
  }
  std::string reason(const std::string& trigger) const {
    auto text = read_file(folder + "/dead/" + trigger + ".json.reason", 4096);
    return text ? *text : "";
  }
};

void three_hooks_and_two_nodes_make_one_verdict(void**) {
  Bench b;
  b.add_job(7);
  b.hand_over(7, "epilog");
  b.hand_over(7, "epilogctld");
  assert_int_equal(b.round()->claimed, 2);
  b.hand_over(7, "jobcomp");
  b.put("7.epilog.other.2.2.json", R"({"v":1,"job":{"job_id":7}})");
  assert_int_equal(b.round()->claimed, 2);
  assert_int_equal(b.judged, 1);
  assert_int_equal(b.count("done"), 4);
  assert_int_equal(b.count("done", ".context"), 1);
  assert_int_equal(b.count("new") + b.count("dead"), 0);
  assert_int_equal(list_folder(b.folder + "/locks")->size(), 0);
}

void five_hundred_entries_cost_one_call(void**) {
  Bench b;
  for (std::uint32_t id = 1; id <= 510; ++id) {
    b.add_job(id);
    b.put(std::to_string(id) + ".json", R"({"v":1,"job":{"job_id":)" + std::to_string(id) + "}}");
  }
  assert_int_equal(b.round()->claimed, 500);
  assert_int_equal(b.looks, 1);
  assert_int_equal(b.round()->claimed, 10);
  assert_int_equal(b.judged, 510);
}

void what_is_no_entry_goes_to_dead_with_a_sentence(void**) {
  Bench b;
  b.put("a.json", "no json at all");
  b.put("b.json", "[1]");
  b.put("c.json", R"({"v":2,"job":{"job_id":7}})");
  b.put("d.json", R"({"v":1,"job":{"job_id":"seven"}})");
  b.put("e.json", std::string(kMaxEntryBytes + 1, ' '));
  b.put("f.txt", "{}");
  b.put(".g.json.tmp", "being written");
  b.put("h.json", "");
  assert_int_equal(::mkdir((b.folder + "/new/i.json").c_str(), 0755), 0);
  assert_int_equal(::mkfifo((b.folder + "/new/j.json").c_str(), 0644), 0);
  assert_int_equal(::symlink("/etc/passwd", (b.folder + "/new/k.json").c_str()), 0);
  // The folder, pipe and link are of the real time.
  b.now = std::chrono::floor<Duration>(std::chrono::system_clock::now()) + std::chrono::hours(1);
  assert_true(b.round().has_value());
  assert_int_equal(b.looks, 0);
  assert_int_equal(b.count("dead"), 9);
  assert_int_equal(b.count("dead", ".reason"), 10);
  assert_non_null(std::strstr(b.reason("a").c_str(), "no queue entry"));
  assert_non_null(std::strstr(b.reason("c").c_str(), "another version"));
  assert_non_null(std::strstr(b.reason("d").c_str(), "names no job"));
  assert_non_null(std::strstr(b.reason("e").c_str(), "larger than"));
  assert_non_null(std::strstr(b.reason("k").c_str(), "regular file"));
  assert_true(exists(b.folder + "/new/.g.json.tmp"));
}

void an_outage_of_accounting_costs_no_try(void**) {
  Bench b;
  b.settings.retries = 2;
  b.add_job(7);
  b.hand_over(7, "epilog");
  b.outage = Error{Error::Code::unavailable, "slurmdbd is away"};
  for (int i = 0; i < 5; ++i) assert_false(b.round().has_value());
  assert_int_equal(b.count("new"), 1);
  b.outage.reset();
  assert_true(b.round().has_value());
  assert_int_equal(b.judged, 1);
  assert_int_equal(b.count("done"), 1);
}

void the_lag_of_accounting_is_waited_out_with_growing_pauses(void**) {
  Bench b;
  b.hand_over(7, "epilog");
  assert_int_equal(b.round()->put_off, 1);
  assert_int_equal(b.round()->claimed, 0);
  b.now += std::chrono::milliseconds(250);
  b.add_job(7).waits_for = "the end of the job";
  assert_int_equal(b.round()->put_off, 1);
  b.now += std::chrono::milliseconds(400);
  assert_int_equal(b.round()->claimed, 0);
  assert_true(b.store->next_due(b.now).has_value());
  assert_true(*b.store->next_due(b.now) == b.now + std::chrono::milliseconds(100));
  b.now += std::chrono::milliseconds(100);
  b.add_job(7);
  assert_int_equal(b.round()->put_off, 0);
  assert_int_equal(b.judged, 1);
  assert_true(back_off(std::chrono::seconds(1), std::chrono::minutes(5), 3) ==
              std::chrono::seconds(4));
  assert_true(back_off(std::chrono::seconds(1), std::chrono::minutes(5), 99) ==
              std::chrono::minutes(5));
}

void after_the_last_try_an_entry_is_dead_until_a_person_requeues_it(void**) {
  Bench b;
  b.settings.retries = 3;
  const std::string trigger = b.hand_over(7, "epilog");
  for (int i = 0; i < 3; ++i) {
    assert_true(b.round().has_value());
    b.now += std::chrono::hours(1);
  }
  assert_int_equal(b.count("dead"), 1);
  assert_non_null(std::strstr(b.reason(trigger).c_str(), "given up after 3 tries: accounting"));
  const auto status = queue_status(b.folder, b.now);
  assert_true(status.has_value());
  assert_int_equal(status->dead, 1);
  assert_non_null(std::strstr(status_to_text(*status).c_str(), "given up after 3 tries"));
  assert_string_equal(
      status_to_json(*status).get("dead_entries").at(0).get("id").as_string()->c_str(),
      trigger.c_str());
  b.add_job(7);
  assert_int_equal(*requeue(b.folder, "7", b.now), 1);
  assert_int_equal(b.count("dead", ""), 0);
  assert_true(b.round().has_value());
  assert_int_equal(b.judged, 1);
}

void requeueing_what_is_done_judges_it_once_more(void**) {
  Bench b;
  b.add_job(7);
  const std::string trigger = b.hand_over(7, "epilog");
  b.hand_over(7, "jobcomp");
  assert_true(b.round().has_value());
  b.now += std::chrono::minutes(1);
  assert_int_equal(*requeue(b.folder, "7", b.now), 1);
  assert_true(b.round().has_value());
  b.now += std::chrono::minutes(1);
  assert_int_equal(*requeue(b.folder, trigger, b.now), 1);
  b.now += std::chrono::minutes(1);
  assert_true(b.round().has_value());
  assert_int_equal(b.judged, 3);
  assert_int_equal(b.known.size(), 3);
  assert_int_equal(*requeue(b.folder, "8", b.now), 0);
  assert_int_equal(*requeue(b.folder, "../7", b.now), 0);
}

void only_outputs_that_failed_are_tried_again(void**) {
  Bench b;
  b.add_job(7);
  b.hand_over(7, "epilog");
  b.output_trouble = "output http: refused";
  assert_int_equal(b.round()->put_off, 1);
  assert_int_equal(b.count("done", ".context"), 0);
  b.output_trouble.clear();
  b.now += std::chrono::seconds(1);
  b.reopen();  // also by another runner
  assert_true(b.round().has_value());
  assert_int_equal(b.delivered_before.size(), 1);
  assert_string_equal(b.delivered_before[0].c_str(), "output.sqlite");
  assert_int_equal(b.known.size(), 1);
  assert_int_equal(b.count("done"), 1);
}

void a_held_session_waits_in_conflicted(void**) {
  Bench b;
  b.add_job(7);
  b.hand_over(7, "epilog");
  b.is_held = true;
  assert_true(b.round().has_value());
  assert_int_equal(b.count("conflicted"), 1);
  b.is_held = false;
  b.now += std::chrono::seconds(1);
  assert_true(b.round().has_value());
  assert_int_equal(b.count("done"), 1);
}

void policy_leaves_out_and_a_later_wish_brings_back(void**) {
  Bench b;
  b.policy.automatic = Policy::Auto::failures;
  b.add_job(7, "COMPLETED");
  b.hand_over(7, "jobcomp");
  assert_true(b.round().has_value());
  assert_int_equal(b.judged, 0);
  assert_int_equal(b.count("done"), 1);
  b.hand_over(7, "epilog", R"(,"attribution":"on; rm -rf /")");
  assert_true(b.round().has_value());
  assert_int_equal(b.judged, 0);
  b.hand_over(7, "epilogctld", R"(,"attribution":"on")");
  assert_true(b.round().has_value());
  assert_int_equal(b.judged, 1);
  b.hand_over(7, "epilog", R"(,"attribution":"on")");
  assert_true(b.round().has_value());
  assert_int_equal(b.judged, 1);
}

void a_task_of_an_array_is_one_context_before_and_after_accounting_knows_it(void**) {
  Bench b;
  SlurmRun& run = b.add_job(7);
  run.context.files.submit_line.clear();
  // This hook knows no arrays: accounting is waited for, at most some seconds.
  b.hand_over(7, "epilog");
  assert_int_equal(b.round()->put_off, 1);
  b.hand_over(7, "epilogctld", R"(,"array_job_id":5,"array_task_id":2)");
  b.now += std::chrono::seconds(1);
  assert_int_equal(b.round()->put_off, 0);
  assert_int_equal(b.judged, 1);
  assert_string_equal(b.last_job.c_str(), "5_2");
  b.add_job(7).context.job_id = "5_2";
  b.hand_over(7, "jobcomp");
  assert_int_equal(b.round()->put_off, 0);
  assert_int_equal(b.judged, 1);
  // Old Slurm has no submit lines at all.
  b.add_job(8).context.files.submit_line.clear();
  b.hand_over(8, "epilog");
  b.now += std::chrono::seconds(10);
  assert_int_equal(b.round()->put_off, 0);
  assert_int_equal(b.judged, 2);
}

void off_is_heard_where_the_hook_cannot_tell_it(void**) {
  Bench b;
  b.add_job(7).context.files.submit_line.clear();
  b.hand_over(7, "jobcomp");
  assert_int_equal(b.round()->put_off, 1);
  b.now += std::chrono::seconds(1);
  b.add_job(7).context.files.submit_line = "sbatch --attribution=off x.sh";
  assert_int_equal(b.round()->put_off, 0);
  assert_int_equal(b.judged, 0);
  assert_int_equal(b.count("done"), 1);
}

void off_counts_whoever_has_heard_it(void**) {
  Bench b;
  b.add_job(7);
  b.hand_over(7, "epilogctld", R"(,"attribution":"off")");
  b.hand_over(7, "jobcomp");
  b.add_job(8).context.files.submit_line = "sbatch --attribution off x.sh";
  b.hand_over(8, "jobcomp");
  assert_int_equal(b.round()->put_off, 0);
  assert_int_equal(b.judged, 0);
  b.hand_over(7, "jobcomp");
  assert_int_equal(b.round()->put_off, 0);
  assert_int_equal(b.judged, 0);
}

void two_attempts_of_one_job_are_two_contexts(void**) {
  Bench b;
  b.add_job(7);
  b.hand_over(7, "epilog");
  assert_true(b.round().has_value());
  b.add_job(7).context.submit_time = at("2026-05-01T11:30:00Z");
  b.hand_over(7, "epilogctld");
  assert_true(b.round().has_value());
  assert_int_equal(b.judged, 2);
}

void what_is_old_is_pruned_and_what_is_not_ours_stays(void**) {
  Bench b;
  b.add_job(7);
  b.hand_over(7, "epilog");
  assert_true(b.round().has_value());
  b.put(".x.tmp", "");
  b.set_age(b.folder + "/new/.x.tmp", std::chrono::hours(2));
  b.put(".y.tmp", "");
  const Time real = std::chrono::floor<Duration>(std::chrono::system_clock::now());
  assert_int_equal(tidy_queue(b.folder, b.now, real - std::chrono::hours(1)), 1);
  assert_true(exists(b.folder + "/new/.y.tmp"));
  assert_int_equal(b.count("done", ""), 2);
  assert_int_equal(tidy_queue(b.folder, b.now, real + std::chrono::hours(1)), 2);
  assert_int_equal(b.count("done", ""), 0);
}

// Dies by SIGKILL in the middle; its claims are taken up again by whoever comes next.
void a_killed_runners_work_is_done_once_by_the_next(void**) {
  constexpr int kRounds = 25;
  constexpr std::uint32_t kJobs = 40;
  Bench b;
  const std::string book = b.folder + "/book";
  b.settings.retry_first = Duration{0};
  for (std::uint32_t id = 1; id <= kJobs; ++id) {
    b.add_job(id);
    for (const char* hook : {"epilog", "epilogctld", "jobcomp"}) b.hand_over(id, hook);
  }
  b.store.reset();
  std::srand(7);
  // A line for each verdict; its end is as a database's commit, once for each trigger id.
  const auto work = [&](QueueStore& store, useconds_t pause) {
    QueueWorld world;
    world.look = [&](const SlurmQuestion& question) { return b.look(question); };
    world.judge = [&](QueueTask* task) {
      ::usleep(pause);
      ContextSummary summary;
      summary.status = ContextStatus::attributed;
      const std::string line = task->trigger_id + "\n";
      const Fd fd(::open(book.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
      const auto before = read_file(book, 1 << 20);
      const bool is_there = before && before->find(line) != std::string::npos;
      if (!is_there && ::write(fd.get(), line.data(), line.size()) < 0) std::abort();
      return summary;
    };
    world.now = [] { return std::chrono::floor<Duration>(std::chrono::system_clock::now()); };
    world.must_stop = [] { return false; };
    QueueWorker worker(store, b.settings, b.policy, world);
    while (true) {
      const auto round = worker.round();
      if (!round || round->claimed == 0) break;
    }
  };
  for (int i = 0; i < kRounds; ++i) {
    // Two at once, of which both are killed.
    pid_t pids[2];
    for (pid_t& pid : pids) {
      pid = ::fork();
      if (pid != 0) continue;
      auto store = QueueStore::open(b.folder);
      if (store) work(**store, 300);
      ::_exit(0);
    }
    ::usleep(static_cast<useconds_t>(1000 + std::rand() % 12000));
    for (const pid_t pid : pids) {
      ::kill(pid, SIGKILL);
      ::waitpid(pid, nullptr, 0);
    }
  }
  b.reopen();
  for (int i = 0; i < 100 && b.count("done") < 3 * kJobs; ++i) {
    work(*b.store, 0);
    ::usleep(50'000);
  }
  assert_int_equal(b.count("done"), 3 * kJobs);
  assert_int_equal(b.count("done", ".context"), kJobs);
  assert_int_equal(b.count("new") + b.count("dead") + b.count("conflicted"), 0);
  const auto text = read_file(book, 1 << 20);
  assert_true(text.has_value());
  std::multiset<std::string> lines;
  std::size_t begin = 0;
  for (std::size_t end = text->find('\n'); end != std::string::npos;
       end = text->find('\n', begin)) {
    lines.insert(text->substr(begin, end - begin));
    begin = end + 1;
  }
  assert_int_equal(lines.size(), kJobs);
  assert_int_equal(std::set<std::string>(lines.begin(), lines.end()).size(), kJobs);
  // Only ours stays, as soon as the next round has cleared up; one that died while it made its
  // folder has left a hidden one.
  std::size_t runners = 0;
  for (int i = 0; i < 100 && runners != 1; ++i) {
    work(*b.store, 0);
    runners = 0;
    const auto names = list_folder(b.folder + "/claimed");
    for (const std::string& name : *names) runners += name.front() != '.' ? 1 : 0;
    ::usleep(20'000);
  }
  assert_int_equal(runners, 1);
}

void a_queue_that_cannot_be_written_is_an_error_with_its_name(void**) {
  const auto opened = QueueStore::open("/proc/nvab-queue");
  assert_false(opened.has_value());
  assert_non_null(std::strstr(opened.error().message.c_str(), "/proc/nvab-queue"));
}

void a_runner_that_ends_gives_back_what_it_holds(void**) {
  Bench b;
  b.hand_over(7, "epilog");
  assert_int_equal(b.store->claim(10, b.now)->size(), 1);
  assert_int_equal(b.count("new"), 0);
  b.store.reset();
  assert_int_equal(b.count("new"), 1);
  assert_int_equal(list_folder(b.folder + "/claimed")->size(), 0);
}

}  // namespace

int main() {
  log_start("test", LogLevel::off, LogFormat::text);
  const CMUnitTest tests[] = {
      cmocka_unit_test(three_hooks_and_two_nodes_make_one_verdict),
      cmocka_unit_test(five_hundred_entries_cost_one_call),
      cmocka_unit_test(what_is_no_entry_goes_to_dead_with_a_sentence),
      cmocka_unit_test(an_outage_of_accounting_costs_no_try),
      cmocka_unit_test(the_lag_of_accounting_is_waited_out_with_growing_pauses),
      cmocka_unit_test(after_the_last_try_an_entry_is_dead_until_a_person_requeues_it),
      cmocka_unit_test(requeueing_what_is_done_judges_it_once_more),
      cmocka_unit_test(only_outputs_that_failed_are_tried_again),
      cmocka_unit_test(a_held_session_waits_in_conflicted),
      cmocka_unit_test(policy_leaves_out_and_a_later_wish_brings_back),
      cmocka_unit_test(a_task_of_an_array_is_one_context_before_and_after_accounting_knows_it),
      cmocka_unit_test(off_is_heard_where_the_hook_cannot_tell_it),
      cmocka_unit_test(off_counts_whoever_has_heard_it),
      cmocka_unit_test(two_attempts_of_one_job_are_two_contexts),
      cmocka_unit_test(what_is_old_is_pruned_and_what_is_not_ours_stays),
      cmocka_unit_test(a_killed_runners_work_is_done_once_by_the_next),
      cmocka_unit_test(a_queue_that_cannot_be_written_is_an_error_with_its_name),
      cmocka_unit_test(a_runner_that_ends_gives_back_what_it_holds),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
