// SPDX-License-Identifier: Apache-2.0
// nvab-service beside FastAPI and uvicorn (tests/bench/fastapi_peer.py) that take the same calls
// and do nothing with them: small calls, whole sessions, large bodies, many connections, memory.
// Server on one processor, load on another, turns taken, so that what else the machine does hits
// both. SECONDS_EACH=2 and ROUNDS=3 are how long; ratios are of medians.
#include <fmt/core.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "common/base/file.hh"
#include "common/base/json.hh"
#include "common/base/text.hh"
#include "tests/support/http_load.hh"
#include "tests/support/http_socket.hh"

using namespace nvab;
using namespace nvab::test;

namespace {

constexpr int kServerCpu = 0, kLoadCpu = 1;
constexpr int kSmallEntries = 3;     // 0.8 kB
constexpr int kLargeEntries = 5600;  // 1 MB
constexpr const char* kLine =
    "node0001:40001:40333 [3] NCCL INFO Channel 03/0 : 3[3] -> 2[2] via P2P/CUMEM/read and some "
    "more text to make it as long as a usual log line is";

int from_environment(const char* name, int fallback) {
  const char* value = std::getenv(name);
  return value != nullptr ? std::atoi(value) : fallback;
}

void use_cpu(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  ::sched_setaffinity(0, sizeof(set), &set);
}

// A server of ours or theirs, in a process of its own; ends with it.
class Server {
 public:
  Server(std::string name, std::string address, const std::vector<std::string>& argv)
      : name_(std::move(name)), address_(std::move(address)) {
    std::vector<char*> pointers;
    for (const std::string& word : argv) pointers.push_back(const_cast<char*>(word.c_str()));
    pointers.push_back(nullptr);
    pid_ = ::fork();
    if (pid_ == 0) {
      use_cpu(kServerCpu);
      ::execvp(pointers[0], pointers.data());
      ::_exit(127);
    }
    wait_until_ready();
  }
  ~Server() {
    ::kill(pid_, SIGTERM);
    ::waitpid(pid_, nullptr, 0);
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  const std::string& name() const { return name_; }
  const std::string& address() const { return address_; }
  long rss_kb() const {
    const std::string status = read_file(fmt::format("/proc/{}/status", pid_), 65536).value_or("");
    const std::size_t at = status.find("VmRSS:");
    return at == std::string::npos ? 0 : std::strtol(status.c_str() + at + 6, nullptr, 10);
  }

 private:
  void wait_until_ready() {
    for (int i = 0; i < 300; ++i) {
      HttpSocket socket(address_);
      if (socket.is_open()) {
        const auto answer = socket.ask("GET", "/v2/healthz");
        if (answer && answer->status == 200) return;
      }
      ::usleep(100'000);
    }
    std::fprintf(stderr, "%s does not start\n", name_.c_str());
    std::exit(1);
  }
  std::string name_, address_;
  pid_t pid_ = -1;
};

std::string session_body(const std::string& job) {
  return fmt::format(
      R"({{"workload":{{"job_id":"{}","cluster":"c","state":"FAILED","nodes":["node0001","node0002"]}}}})",
      job);
}

// No two are the same: one that was there already would be less work.
std::string observation_body(int entries, long serial) {
  std::string body = R"({"source":"applog","entry_timeseries":[)";
  for (int i = 0; i < entries; ++i) {
    body += fmt::format(
        R"({}{{"timestamp":"2025-11-03T12:00:00.000Z","node":"node0001","message":"{} {}"}})",
        i > 0 ? "," : "", kLine, serial * entries + i);
  }
  return body + "]}";
}

std::string open_session(const Server& server, const std::string& job) {
  HttpSocket socket(server.address());
  const auto answer = socket.ask("POST", "/v2/attributor", session_body(job));
  const Json json = answer ? Json::parse(answer->body).value_or(Json()) : Json();
  return json.get("attributor_id").as_string().value_or("none");
}

struct Figures {
  double rate = 0, p99_ms = 0;
  long failures = 0;
};

long g_serial = 0;

Figures observe(const Server& server, int entries, int connections, int ms) {
  const std::string job = fmt::format("o{}", ++g_serial);
  const std::string target = "/v2/attributor/" + open_session(server, job) + "/observation";
  // The text between the first and the last entry is made once: the load must not be the limit.
  const std::string like = observation_body(entries, 7'000'000);
  const std::string mark = fmt::format("{}\"", 7'000'000L * entries);
  const std::size_t at = like.find(mark);
  LoadPlan plan;
  plan.address = server.address();
  plan.connections = connections;
  plan.time = std::chrono::milliseconds(ms);
  plan.next = [&](int) {
    std::string body = like;
    const std::string number = fmt::format("{:010}", ++g_serial);
    body.replace(at, mark.size() - 1, number);
    return http_request("POST", target, body);
  };
  const LoadResult result = run_load(plan);
  return {result.per_second(), result.percentile(0.99), result.failures};
}

// create, 3 observations, attribution, delete; the rate is of whole ones.
Figures sessions(const Server& server, int connections, int ms) {
  struct State {
    int step = 0;
    std::string id;
  };
  std::vector<State> states(static_cast<std::size_t>(connections));
  constexpr int kSteps = 6;
  LoadPlan plan;
  plan.address = server.address();
  plan.connections = connections;
  plan.time = std::chrono::milliseconds(ms);
  plan.next = [&](int i) {
    const State& s = states[static_cast<std::size_t>(i)];
    const std::string at = "/v2/attributor/" + s.id;
    if (s.step == 0) {
      return http_request("POST", "/v2/attributor", session_body(fmt::format("s{}", ++g_serial)));
    }
    if (s.step == 4) return http_request("GET", at + "/attribution");
    if (s.step == 5) return http_request("DELETE", at);
    return http_request("POST", at + "/observation", observation_body(kSmallEntries, ++g_serial));
  };
  plan.answered = [&](int i, int, std::string_view body) {
    State& s = states[static_cast<std::size_t>(i)];
    if (s.step == 0) {
      constexpr std::string_view kName = "\"attributor_id\":\"";
      const std::size_t begin = body.find(kName) + kName.size();
      s.id = body.substr(begin, body.find('"', begin) - begin);
    }
    s.step = (s.step + 1) % kSteps;
  };
  const LoadResult result = run_load(plan);
  return {result.per_second() / kSteps, result.percentile(0.99), result.failures};
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

using Measure = std::function<Figures(const Server&)>;

// Each server in turn, some rounds; a line each, with the ratio to the last one.
void compare(const std::string& what, double scale, const char* unit, int rounds,
             const std::vector<const Server*>& servers, const Measure& measure) {
  std::map<const Server*, std::vector<double>> rates, waits;
  std::map<const Server*, long> failures;
  for (int round = 0; round < rounds; ++round) {
    for (const Server* server : servers) {
      const Figures figures = measure(*server);
      rates[server].push_back(figures.rate * scale);
      waits[server].push_back(figures.p99_ms);
      failures[server] += figures.failures;
    }
  }
  const Server* peer = servers.back();
  for (const Server* server : servers) {
    std::printf("%-34s %-16s %10.1f %s  %5.1fx   p99 %8.2f ms  %5.2fx%s\n", what.c_str(),
                server->name().c_str(), median(rates[server]), unit,
                median(rates[server]) / median(rates[peer]), median(waits[server]),
                median(waits[server]) / median(waits[peer]),
                failures[server] > 0 ? fmt::format("  {} FAILED", failures[server]).c_str() : "");
    std::fflush(stdout);
  }
}

void memory_of_sessions(const Server& server) {
  constexpr int kSessions = 10'000;
  const long before = server.rss_kb();
  LoadPlan plan;
  plan.address = server.address();
  plan.connections = 32;
  plan.time = std::chrono::minutes(1);
  plan.calls = kSessions;
  plan.next = [&](int) {
    return http_request("POST", "/v2/attributor", session_body(fmt::format("m{}", ++g_serial)));
  };
  const LoadResult result = run_load(plan);
  const long more = server.rss_kb() - before;
  std::printf("%-34s %-16s %10.1f MB, %.1f kB a session\n", "10,000 open sessions",
              server.name().c_str(), static_cast<double>(more) / 1024,
              static_cast<double>(more) / static_cast<double>(std::max(1L, result.calls)));
}

void busy_connections(const Server& server, int ms) {
  constexpr int kConnections = 1024;
  const long before = server.rss_kb();
  const std::string target = "/v2/attributor/" + open_session(server, "busy") + "/observation";
  LoadPlan plan;
  plan.address = server.address();
  plan.connections = kConnections;
  plan.time = std::chrono::milliseconds(ms);
  plan.next = [&](int) {
    return http_request("POST", target, observation_body(kSmallEntries, ++g_serial));
  };
  const LoadResult result = run_load(plan);
  const long least = *std::min_element(result.of_connection.begin(), result.of_connection.end());
  std::printf(
      "%-34s %-16s %10.1f calls/s, fewest of a connection %ld, longest wait %.0f ms, %.1f kB "
      "each\n",
      "1,024 busy connections", server.name().c_str(), result.per_second(), least,
      result.longest_gap_ms, static_cast<double>(server.rss_kb() - before) / kConnections);
}

std::vector<std::string> ours(const std::string& port, const std::string& state) {
  return {std::string(std::getenv("BUILDDIR")) + "/obj/nvab-service",
          "--listen",
          "127.0.0.1:" + port,
          "--state",
          state,
          "--log-level",
          "error"};
}

}  // namespace

int main() {
  if (::system("/usr/bin/python3 -c 'import fastapi, uvicorn' 2>/dev/null") != 0) {
    std::fputs("bench_service: Debian's python3-fastapi and python3-uvicorn are missing\n", stderr);
    return 1;
  }
  ::signal(SIGPIPE, SIG_IGN);
  const int ms = 1000 * from_environment("SECONDS_EACH", 2);
  const int rounds = from_environment("ROUNDS", 3);
  std::string folder = "/tmp/nvab-bench-XXXXXX";
  if (::mkdtemp(folder.data()) == nullptr) return 1;
  use_cpu(kLoadCpu);
  {
    const std::string tests = std::string(std::getenv("SRCDIR")) + "/tests/bench";
    const Server memory("memory", "127.0.0.1:18181", ours("18181", "memory"));
    const Server journal("journal", "127.0.0.1:18182",
                         ours("18182", "sqlite:" + folder + "/journal.db"));
    const Server peer("FastAPI", "127.0.0.1:18183",
                      {"/usr/bin/python3", "-m", "uvicorn", "--app-dir", tests, "fastapi_peer:app",
                       "--port", "18183", "--no-access-log", "--log-level", "error"});
    const std::vector<const Server*> all = {&memory, &journal, &peer};
    compare("observation of 3 entries, 32 conn.", 1, "calls/s", rounds, all,
            [&](const Server& s) { return observe(s, kSmallEntries, 32, ms); });
    compare("observation of 3 entries, 1 conn.", 1, "calls/s", rounds, all,
            [&](const Server& s) { return observe(s, kSmallEntries, 1, ms); });
    compare("whole session, 32 connections", 1, "sessions/s", rounds, all,
            [&](const Server& s) { return sessions(s, 32, ms); });
    const double large_mb =
        static_cast<double>(observation_body(kLargeEntries, 7'000'000).size()) / 1e6;
    compare(fmt::format("body of {:.1f} MB, 8 connections", large_mb), large_mb, "MB/s", rounds,
            all, [&](const Server& s) { return observe(s, kLargeEntries, 8, ms); });
    for (const Server* server : {&memory, &journal}) memory_of_sessions(*server);
    for (const Server* server : all) busy_connections(*server, 2 * ms);
  }
  return ::system(("rm -rf '" + folder + "'").c_str()) == 0 ? 0 : 1;
}
