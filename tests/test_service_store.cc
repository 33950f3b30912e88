// SPDX-License-Identifier: Apache-2.0
// Sessions and their journal: what is acknowledged outlives the process, many clients at once get
// what one after the other would, abandoned sessions end.
// ctest: threads timeout=300
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <thread>

#include "common/base/file.hh"
#include "common/base/text.hh"
#include "tests/support/service_fixture.hh"

using namespace nvab;
using namespace nvab::test;

namespace {

std::string folder;

int make_folder(void**) {
  char name[] = "/tmp/nvab-store-XXXXXX";
  if (::mkdtemp(name) == nullptr) return -1;
  folder = name;
  return 0;
}
int remove_folder(void**) { return std::system(("rm -rf " + folder).c_str()); }

std::string journal_path;  // for the settings of a fixture
void with_journal(ServiceSettings* settings) { settings->journal_path = journal_path; }
void new_journal(const char* name) {
  journal_path = folder + "/" + name;
  ::unlink(journal_path.c_str());
}

std::string verdict_of(Fixture& f, const std::string& id) {
  const Reply reply = f.get("/v2/attributor/" + id + "/attribution");
  return reply.status == 200 ? reply.body : reply.code;
}

void a_restart_changes_no_verdict(void**) {
  new_journal("restart.db");
  std::string id, token, before, session;
  {
    Fixture f(with_journal);
    const Reply created = f.post("/v2/attributor", sample_session("77"));
    id = created.text("attributor_id");
    token = created.text("session_token");
    const std::string at = "/v2/attributor/" + id;
    for (int i = 0; i < 3; ++i) f.post(at + "/observation", sample_observation("w1", i));
    // One that is packed in the journal.
    Json large = *Json::parse(sample_observation("w2", 9));
    large.set("padding", Json::of(std::string(100'000, 'x')));
    assert_int_equal(f.post(at + "/observation", large.dump()).status, 201);
    f.ask({.method = "PATCH", .target = at, .body = R"({"workload":{"state":"NODE_FAIL"}})"});
    before = verdict_of(f, id);
    session = f.get(at).json.get("workload").dump();
  }
  Fixture f(with_journal);
  assert_text(verdict_of(f, id), before.c_str());
  const std::string at = "/v2/attributor/" + id;
  assert_text(f.get(at).json.get("workload").dump(), session.c_str());
  assert_int_equal(f.post(at + "/observation", sample_observation("w1", 2)).status, 409);
  assert_int_equal(f.post("/v2/attributor", sample_session("77")).status, 409);
  assert_text(f.ask({.method = "DELETE", .target = at, .session_token = "x"}).code, "wrong_token");
  assert_int_equal(f.ask({.method = "DELETE", .target = at, .session_token = token}).status, 204);
}

void what_was_deleted_stays_deleted(void**) {
  new_journal("deleted.db");
  std::string kept;
  {
    Fixture f(with_journal);
    const std::string gone = f.open("1");
    f.post("/v2/attributor/" + gone + "/observation", sample_observation("w1"));
    kept = f.open("2");
    assert_int_equal(f.ask({.method = "DELETE", .target = "/v2/attributor/" + gone}).status, 204);
  }
  Fixture f(with_journal);
  assert_int_equal(f.service->store().size(), 1);
  assert_int_equal(f.get("/v2/attributor/" + kept).status, 200);
}

void v1_observations_come_back_as_they_were(void**) {
  new_journal("v1.db");
  const std::string observation =
      R"({"context":{"source":"applog","format":"raw_loki_streams"},"body":
      "[{\"stream\":{\"app\":\"a\",\"hostname\":\"w1\"},\"values\":[[\"1767610740000000000\",\"MemoryError\"]]}]"})";
  std::string id, before;
  {
    Fixture f(with_journal);
    id = f.post("/v1/attributor", R"({"workload":{"id":"5:cycle0:1"}})").text("attributor_id");
    assert_int_equal(f.post("/v1/attributor/" + id + "/observation", observation).status, 201);
    before = verdict_of(f, id);
  }
  Fixture f(with_journal);
  assert_text(verdict_of(f, id), before.c_str());
  assert_int_equal(f.post("/v1/attributor/" + id + "/observation", observation).status, 409);
}

void a_journal_belongs_to_one_service(void**) {
  new_journal("one.db");
  Fixture f(with_journal);
  f.open();
  ServiceSettings settings = test_service_settings();
  settings.journal_path = journal_path;
  const auto second = Service::create(std::move(settings));
  assert_false(second.has_value());
  assert_true(second.error().message.find("another process keeps it locked") != std::string::npos);
}

void what_is_no_journal_is_not_touched(void**) {
  new_journal("text.db");
  assert_true(write_file(journal_path, std::string(10'000, 'x')).has_value());
  ServiceSettings settings = test_service_settings();
  settings.journal_path = journal_path;
  assert_false(Service::create(settings).has_value());
  assert_true(*read_file(journal_path, 20'000) == std::string(10'000, 'x'));
  settings.journal_path = folder + "/missing/x.db";
  assert_false(Service::create(std::move(settings)).has_value());
}

void an_observation_that_cannot_be_kept_is_not_taken(void**) {
  new_journal("full.db");
  Fixture f(with_journal);
  const std::string at = "/v2/attributor/" + f.open();
  assert_int_equal(f.post(at + "/observation", sample_observation("w1")).status, 201);
  const std::string before = f.get(at + "/attribution").body;
  // No file may grow now: a full disk.
  rlimit old = {}, none = {};
  ::getrlimit(RLIMIT_FSIZE, &old);
  none.rlim_max = old.rlim_max;
  none.rlim_cur = 4096;
  ::signal(SIGXFSZ, SIG_IGN);
  ::setrlimit(RLIMIT_FSIZE, &none);
  const Reply refused = f.post(at + "/observation", sample_observation("w2", 5));
  const Reply create = f.post("/v2/attributor", sample_session("99"));
  const Reply remove = f.ask({.method = "DELETE", .target = at});
  ::setrlimit(RLIMIT_FSIZE, &old);
  assert_int_equal(refused.status, 503);
  assert_text(refused.code, "journal_unavailable");
  assert_text(create.code, "journal_unavailable");
  assert_text(remove.code, "journal_unavailable");
  assert_text(f.get(at + "/attribution").body, before.c_str());
  // Room again: the same observation is no duplicate of the one that was refused.
  assert_int_equal(f.post(at + "/observation", sample_observation("w2", 5)).status, 201);
  assert_int_equal(f.post("/v2/attributor", sample_session("99")).status, 201);
}

void abandoned_sessions_end(void**) {
  new_journal("expire.db");
  Fixture f([](ServiceSettings* s) {
    with_journal(s);
    s->store.idle = std::chrono::milliseconds(50);
  });
  f.open("1");
  const std::string used = f.open("2");
  for (int i = 0; i < 8; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    f.get("/v2/attributor/" + used + "/attribution");
  }
  f.service->store().expire();
  assert_int_equal(f.service->store().size(), 1);
  assert_int_equal(f.get("/v2/attributor/" + used).status, 200);
  assert_int_equal(f.service->store().counts().expired_idle, 1);
  std::this_thread::sleep_for(std::chrono::milliseconds(60));
  f.service->store().expire();
  assert_int_equal(f.service->store().size(), 0);
  assert_int_equal(f.service->store().memory(), 0);
}

void old_sessions_end_however_busy(void**) {
  Fixture f([](ServiceSettings* s) { s->store.age = std::chrono::milliseconds(1); });
  f.open("1");
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  f.service->store().expire();
  assert_int_equal(f.service->store().counts().expired_age, 1);
}

// What a session says of its observations, whatever order they came in.
void parallel_clients_give_the_verdict_of_one(void**) {
  new_journal("parallel.db");
  constexpr int kThreads = 8, kObservations = 40;
  std::string expected;
  {
    Fixture f;
    const std::string id = f.open();
    for (int i = 0; i < kObservations; ++i) {
      f.post("/v2/attributor/" + id + "/observation",
             sample_observation(i % 2 == 0 ? "w1" : "w2", i));
    }
    expected = verdict_of(f, id);
  }
  Fixture f(with_journal);
  std::atomic<int> created{0}, conflicts{0}, taken{0}, duplicates{0}, strange{0};
  std::string id = f.open("0");
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      ServiceCaller caller(*f.service);
      const Reply opened = caller.post("/v2/attributor", sample_session("77"));
      ++(opened.status == 201 ? created : conflicts);
      const std::string at = "/v2/attributor/" + opened.text("attributor_id");
      // Each sends everything, beginning elsewhere.
      for (int i = 0; i < kObservations; ++i) {
        const int n = (i + t * 5) % kObservations;
        const int status =
            caller.post(at + "/observation", sample_observation(n % 2 == 0 ? "w1" : "w2", n))
                .status;
        ++(status == 201 ? taken : status == 409 ? duplicates : strange);
        if (i % 7 == 0) caller.get(at + "/attribution");
        if (i % 11 == 0) caller.get("/v2/attributor");
        if (i % 13 == 0) caller.get("/metrics");
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  assert_int_equal(created, 1);
  assert_int_equal(conflicts, kThreads - 1);
  assert_int_equal(taken, kObservations);
  assert_int_equal(duplicates, kObservations * (kThreads - 1));
  assert_int_equal(strange, 0);
  id = f.post("/v2/attributor", sample_session("77")).text("attributor_id");
  assert_text(verdict_of(f, id), expected.c_str());
}

void sessions_come_and_go_while_others_use_them(void**) {
  new_journal("churn.db");
  Fixture f(with_journal);
  std::atomic<int> strange{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 6; ++t) {
    threads.emplace_back([&, t] {
      ServiceCaller caller(*f.service);
      for (int i = 0; i < 60; ++i) {
        const Reply opened = caller.post("/v2/attributor", sample_session(std::to_string(i % 3)));
        const std::string at = "/v2/attributor/" + opened.text("attributor_id");
        const int status = caller.post(at + "/observation", sample_observation("w1", i)).status;
        if (status != 201 && status != 409 && status != 404) ++strange;
        if (t % 2 == 0) caller.del(at);
        if (i % 20 == 0) f.service->store().expire();
        if (i % 25 == 0) static_cast<void>(f.service->reload());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  assert_int_equal(strange, 0);
  for (const auto& session : f.service->store().list("", 1000)) {
    assert_int_equal(
        f.ask({.method = "DELETE", .target = "/v2/attributor/" + session->identity().id}).status,
        204);
  }
  assert_int_equal(f.service->store().memory(), 0);
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(a_restart_changes_no_verdict),
      cmocka_unit_test(what_was_deleted_stays_deleted),
      cmocka_unit_test(v1_observations_come_back_as_they_were),
      cmocka_unit_test(a_journal_belongs_to_one_service),
      cmocka_unit_test(what_is_no_journal_is_not_touched),
      cmocka_unit_test(an_observation_that_cannot_be_kept_is_not_taken),
      cmocka_unit_test(abandoned_sessions_end),
      cmocka_unit_test(old_sessions_end_however_busy),
      cmocka_unit_test(parallel_clients_give_the_verdict_of_one),
      cmocka_unit_test(sessions_come_and_go_while_others_use_them),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
