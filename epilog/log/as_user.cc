// SPDX-License-Identifier: Apache-2.0
// See as_user.hh. The child answers in frames over a pipe: a length of four bytes, a kind of one,
// and JSON: 'O' for an observation, and 'R' for the outcome at the end.
#include "epilog/log/as_user.hh"

#include <errno.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <vector>

#include "common/base/file.hh"

namespace nvab {
namespace {

constexpr std::size_t kHeader = 5;
// Far above what a batch holds as JSON (kMaxObservationBytes of text, each byte escaped).
constexpr std::size_t kMaxFrame = 32 * 1024 * 1024;
// Of one file, a child that sends without end is stopped here.
constexpr std::size_t kMaxFrames = 1'000'000;
// How long a killed child may take to go.
constexpr int kKillGraceMs = 2000;

// ---- the child
// ------------------------------------------------------------------------------------

bool write_all(int fd, const char* bytes, std::size_t size) {
  while (size > 0) {
    const ssize_t put = ::write(fd, bytes, size);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    bytes += put;
    size -= static_cast<std::size_t>(put);
  }
  return true;
}

bool send_frame(int fd, char kind, const std::string& json) {
  const auto size = static_cast<std::uint32_t>(json.size());
  std::string frame(kHeader, '\0');
  std::memcpy(frame.data(), &size, sizeof size);
  frame[4] = kind;
  frame += json;
  return write_all(fd, frame.data(), frame.size());
}

class FrameSink final : public ObservationSink {
 public:
  explicit FrameSink(int fd) : fd_(fd) {}
  void deliver(Observation&& observation) override {
    // Where nobody reads any more there is no reason to go on.
    if (!send_frame(fd_, 'O', to_json(observation).dump())) ::_exit(1);
  }

 private:
  int fd_;
};

Json outcome_json(const CollectOutcome& outcome) {
  Json json = Json::object();
  json.set("status", Json::of(to_string(outcome.status)));
  json.set("reason", Json::of(outcome.reason));
  json.set("details", outcome.details);
  return json;
}

// What the child needs nothing of: our descriptors, our handlers, cores, privileges of programs.
void shed(int keep) {
  for (int number = 1; number < NSIG; ++number) {
    if (number != SIGPIPE) ::signal(number, SIG_DFL);
  }
  ::signal(SIGPIPE, SIG_IGN);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  for (int fd = 0; fd < 3; ++fd) {
    const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null >= 0 && null != fd) ::dup2(null, fd);
    if (null > 2) ::close(null);
  }
  if (keep > 3) ::close_range(3, static_cast<unsigned>(keep) - 1, 0);
  ::close_range(static_cast<unsigned>(keep) + 1, ~0U, 0);
  if (::chdir("/") != 0) ::_exit(1);
  const rlimit none_at_all = {0, 0};
  ::setrlimit(RLIMIT_CORE, &none_at_all);
}

// noexcept: what flew further would go on as a second parent.
[[noreturn]] void run_child(const UserIds& user, int fd, pid_t parent,
                            const std::function<CollectOutcome(ObservationSink&)>& work) noexcept {
  shed(fd);
  CollectOutcome outcome;
  if (const std::string trouble = become_user(user); !trouble.empty()) {
    outcome.status = ConnectorStatus::denied;
    outcome.reason = fmt::format("becoming uid {}: {}", user.uid, trouble);
  } else {
    // After the change of user, which resets these. The user must not look into this process: it
    // was root's, and still holds what root had read.
    ::prctl(PR_SET_DUMPABLE, 0);
    ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);
    FrameSink sink(fd);
    outcome = work(sink);
  }
  ::_exit(send_frame(fd, 'R', outcome_json(outcome).dump()) ? 0 : 1);
}

// ---- the parent
// -----------------------------------------------------------------------------------

Result<CollectOutcome> read_outcome(const Json& json) {
  CollectOutcome outcome;
  const auto status = connector_status_from(json.get("status").as_string().value_or(""));
  if (!status) return fail(Error::Code::malformed, "the reading child sent no outcome");
  outcome.status = *status;
  outcome.reason = json.get("reason").as_string().value_or("");
  outcome.details = json.get("details");
  return outcome;
}

class Child {
 public:
  Child(pid_t pid, Fd pipe) : pid_(pid), pipe_(std::move(pipe)) {}
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() { end(); }

  Result<CollectOutcome> listen(Deadline deadline, ObservationSink& sink);

 private:
  // The frame at the front of the buffer; nothing until it is whole.
  Result<std::optional<CollectOutcome>> take_frame(ObservationSink& sink);
  Result<bool> fill(Deadline deadline);
  void end();

  pid_t pid_;
  Fd pipe_;
  std::string buffer_;
  std::size_t frames_ = 0;
};

// False at the end of the child's words.
Result<bool> Child::fill(Deadline deadline) {
  for (;;) {
    if (deadline.passed()) return fail(Error::Code::timeout, "the time for reading was over");
    constexpr long long kLongest = 60'000;
    const long long left = deadline.is_never() ? kLongest : deadline.left().count() / 1000 + 1;
    pollfd wait = {pipe_.get(), POLLIN, 0};
    const int ready = ::poll(&wait, 1, static_cast<int>(std::min(left, kLongest)));
    if (ready < 0 && errno != EINTR) return tl::unexpected(from_errno(errno, "waiting"));
    if (ready <= 0) continue;
    std::array<char, 65536> piece;
    const ssize_t got = ::read(pipe_.get(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return tl::unexpected(from_errno(errno, "listening to the reading child"));
    buffer_.append(piece.data(), static_cast<std::size_t>(got));
    return got > 0;
  }
}

Result<std::optional<CollectOutcome>> Child::take_frame(ObservationSink& sink) {
  if (buffer_.size() < kHeader) return std::nullopt;
  std::uint32_t size = 0;
  std::memcpy(&size, buffer_.data(), sizeof size);
  const char kind = buffer_[4];
  if (size > kMaxFrame || ++frames_ > kMaxFrames) {
    return fail(Error::Code::malformed, "the reading child sent more than it can have found");
  }
  if (buffer_.size() < kHeader + size) {
    --frames_;
    return std::nullopt;
  }
  const auto json = Json::parse(std::string_view(buffer_).substr(kHeader, size));
  buffer_.erase(0, kHeader + size);
  if (!json) return fail("the reading child", json.error());
  if (kind == 'R') return read_outcome(*json);
  auto observation = observation_from_json(*json);
  if (!observation) return fail("the reading child", observation.error());
  sink.deliver(std::move(*observation));
  return std::nullopt;
}

Result<CollectOutcome> Child::listen(Deadline deadline, ObservationSink& sink) {
  for (;;) {
    for (;;) {
      const std::size_t before = buffer_.size();
      auto outcome = take_frame(sink);
      if (!outcome) return tl::unexpected(std::move(outcome.error()));
      if (*outcome) return std::move(**outcome);
      if (buffer_.size() == before) break;
    }
    const auto more = fill(deadline);
    if (!more) return tl::unexpected(more.error());
    if (!*more) return fail(Error::Code::internal, "the reading child ended too early");
  }
}

// Takes the child's end. One that hangs in the kernel does not go and must not hold us: it is left
// to itself.
void Child::end() {
  ::kill(pid_, SIGKILL);
  for (int waited = 0; waited < kKillGraceMs; waited += 10) {
    if (::waitpid(pid_, nullptr, WNOHANG) != 0) return;
    ::usleep(10'000);
  }
}

}  // namespace

CollectOutcome collect_as(const UserIds& user, Deadline deadline, ObservationSink& sink,
                          const std::function<CollectOutcome(ObservationSink&)>& work) {
  CollectOutcome outcome;
  outcome.status = ConnectorStatus::error;
  std::array<int, 2> ends = {};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    outcome.reason = from_errno(errno, "making a pipe").message;
    return outcome;
  }
  Fd read(ends[0]), write(ends[1]);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid == 0) run_child(user, write.get(), parent, work);
  if (pid < 0) {
    outcome.reason = from_errno(errno, "starting a child to read as the user").message;
    return outcome;
  }
  write = Fd();
  Child child(pid, std::move(read));
  auto heard = child.listen(deadline, sink);
  if (heard) return std::move(*heard);
  if (heard.error().code == Error::Code::timeout) outcome.status = ConnectorStatus::timed_out;
  outcome.reason = std::move(heard.error().message);
  return outcome;
}

Result<Json> run_as(const UserIds& user, Deadline deadline,
                    const std::function<Result<Json>()>& work) {
  class Nowhere final : public ObservationSink {
    void deliver(Observation&&) override {}
  } nowhere;
  const CollectOutcome outcome = collect_as(user, deadline, nowhere, [&](ObservationSink&) {
    CollectOutcome done;
    auto value = work();
    if (value) {
      done.details = std::move(*value);
      return done;
    }
    done.status = ConnectorStatus::error;
    done.reason = std::move(value.error().message);
    done.details = Json::of(static_cast<int>(value.error().code));
    return done;
  });
  if (outcome.status == ConnectorStatus::ok) return outcome.details;
  if (outcome.status == ConnectorStatus::timed_out) {
    return fail(Error::Code::timeout, outcome.reason);
  }
  // What the child says is checked as if anybody had said it.
  const auto code = outcome.details.as_int().value_or(-1);
  const bool is_code = code >= 0 && code <= static_cast<int>(Error::Code::internal);
  return fail(is_code ? static_cast<Error::Code>(code) : Error::Code::internal, outcome.reason);
}

}  // namespace nvab
