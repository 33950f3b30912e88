// SPDX-License-Identifier: Apache-2.0
// posix_spawn, two pipes, and a pidfd in one poll loop. The program leads a process group of its
// own, so that what it started dies with it.
#include "common/base/subprocess.hh"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>

#include "common/base/file.hh"
#include "common/base/text.hh"

namespace nvab {
namespace {

constexpr std::size_t kPiece = 64 * 1024;  // the size of a pipe
constexpr char kPlainPath[] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
// How long a killed program may take to go. One that hangs in the kernel (a dead file server) does
// not go at all, and must not hold us.
constexpr Duration kKillGrace = std::chrono::seconds(2);
// After the program's end, a process that it left behind may still hold the pipes.
constexpr Duration kDrainGrace = std::chrono::milliseconds(200);

struct Pipe {
  Fd read, write;
};

Result<Pipe> make_pipe() {
  std::array<int, 2> ends = {};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return tl::unexpected(from_errno(errno, "making a pipe"));
  }
  Pipe pipe{Fd(ends[0]), Fd(ends[1])};
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  return pipe;
}

// A file in memory that holds the bytes, to be read from its beginning; nobody can change it.
Result<Fd> file_of(std::string_view bytes) {
  Fd file(::memfd_create("nvab-input", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file) return tl::unexpected(from_errno(errno, "making a file in memory"));
  while (!bytes.empty()) {
    const ssize_t put = ::write(file.get(), bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return tl::unexpected(from_errno(errno, "writing a file in memory"));
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
  ::fcntl(file.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL);
  if (::lseek(file.get(), 0, SEEK_SET) != 0) {
    return tl::unexpected(from_errno(errno, "winding back a file in memory"));
  }
  return file;
}

std::string_view name_of(std::string_view assignment) {
  return assignment.substr(0, assignment.find('='));
}

std::vector<std::string> environment_of(const Command& command) {
  const char* path = std::getenv("PATH");
  std::vector<std::string> all = {std::string("PATH=") + (path ? path : kPlainPath), "LC_ALL=C",
                                  "TZ=UTC"};
  const auto put = [&](std::string assignment) {
    const auto same = [&](const std::string& other) {
      return name_of(other) == name_of(assignment);
    };
    std::erase_if(all, same);
    all.push_back(std::move(assignment));
  };
  for (const std::string& name : command.keep) {
    if (const char* value = std::getenv(name.c_str())) put(name + "=" + value);
  }
  for (const std::string& assignment : command.environment) put(assignment);
  return all;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// What posix_spawn wants, freed again.
class SpawnPlan {
 public:
  // `input` below 0: /dev/null.
  SpawnPlan(int input, int out, int errors) {
    posix_spawn_file_actions_init(&actions_);
    if (input < 0) {
      posix_spawn_file_actions_addopen(&actions_, 0, "/dev/null", O_RDONLY, 0);
    } else {
      posix_spawn_file_actions_adddup2(&actions_, input, 0);
    }
    posix_spawn_file_actions_adddup2(&actions_, out, 1);
    posix_spawn_file_actions_adddup2(&actions_, errors, 2);
    posix_spawn_file_actions_addclosefrom_np(&actions_, 3);
    posix_spawnattr_init(&attributes_);
    posix_spawnattr_setflags(
        &attributes_, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setpgroup(&attributes_, 0);
    sigset_t signals;
    sigemptyset(&signals);
    posix_spawnattr_setsigmask(&attributes_, &signals);
    // What we ignore (SIGPIPE, say) the program would ignore too.
    sigfillset(&signals);
    posix_spawnattr_setsigdefault(&attributes_, &signals);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;
  ~SpawnPlan() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }
  int spawn(pid_t* pid, char* const* argv, char* const* environment) const {
    return ::posix_spawnp(pid, argv[0], &actions_, &attributes_, argv, environment);
  }

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

class Run {
 public:
  explicit Run(const Command& command) : command_(command) {}
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;
  ~Run() { end(); }

  Result<void> start();
  Result<CommandEnd> finish();

 private:
  Result<void> pump();
  Result<void> take_output();
  void take_errors();
  void end();

  const Command& command_;
  CommandEnd result_;
  std::size_t output_bytes_ = 0;
  pid_t pid_ = -1;
  Fd process_, output_, errors_;
};

Result<void> Run::start() {
  if (command_.argv.empty())
    return fail(Error::Code::internal, "starting a program without a name");
  auto output = make_pipe();
  if (!output) return tl::unexpected(std::move(output.error()));
  auto errors = make_pipe();
  if (!errors) return tl::unexpected(std::move(errors.error()));
  Fd input;
  if (!command_.input.empty()) {
    auto file = file_of(command_.input);
    if (!file) return tl::unexpected(std::move(file.error()));
    input = std::move(*file);
  }
  std::vector<std::string> argv = command_.argv;
  std::vector<std::string> environment = environment_of(command_);
  const SpawnPlan plan(input.get(), output->write.get(), errors->write.get());
  pid_t pid = -1;
  const int error_number =
      plan.spawn(&pid, pointers_to(argv).data(), pointers_to(environment).data());
  if (error_number != 0) {
    return tl::unexpected(from_errno(error_number, "starting " + command_.argv[0]));
  }
  pid_ = pid;
  process_ = Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  output_ = std::move(output->read);
  errors_ = std::move(errors->read);
  if (!process_) return tl::unexpected(from_errno(errno, "watching " + command_.argv[0]));
  return {};
}

Result<void> Run::take_output() {
  std::string piece(kPiece, '\0');
  const ssize_t got = ::read(output_.get(), piece.data(), piece.size());
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return {};
  if (got <= 0) {
    output_ = Fd();
    return {};
  }
  piece.resize(static_cast<std::size_t>(got));
  output_bytes_ += piece.size();
  if (output_bytes_ > command_.max_output) {
    return fail(Error::Code::unavailable, command_.argv[0] + " printed more than " +
                                              std::to_string(command_.max_output) + " bytes");
  }
  if (!command_.on_output) {
    result_.output += piece;
  } else if (!command_.on_output(piece)) {
    result_.was_stopped = true;
  }
  return {};
}

// Read to the end so that the program is not kept waiting, but only the beginning is kept.
void Run::take_errors() {
  std::array<char, 4096> piece;
  const ssize_t got = ::read(errors_.get(), piece.data(), piece.size());
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) {
    errors_ = Fd();
    return;
  }
  const std::size_t room = kMaxCommandErrors - std::min(kMaxCommandErrors, result_.errors.size());
  result_.errors.append(piece.data(), std::min(room, static_cast<std::size_t>(got)));
}

// Until the program has ended and both pipes are empty.
Result<void> Run::pump() {
  Deadline deadline = command_.deadline;
  bool has_ended = false;
  while (!result_.was_stopped && !(has_ended && !output_ && !errors_)) {
    if (deadline.passed()) {
      if (has_ended) return {};  // somebody else holds the pipes
      return fail(Error::Code::timeout, command_.argv[0] + " did not end in time");
    }
    // poll skips negative descriptors.
    std::array<pollfd, 3> waits = {{{output_.get(), POLLIN, 0},
                                    {errors_.get(), POLLIN, 0},
                                    {has_ended ? -1 : process_.get(), POLLIN, 0}}};
    constexpr long long kLongest = 60'000;  // milliseconds; the loop asks again
    const long long left = deadline.is_never() ? kLongest : deadline.left().count() / 1000 + 1;
    const int ready =
        ::poll(waits.data(), waits.size(), static_cast<int>(std::min(left, kLongest)));
    if (ready < 0 && errno != EINTR) return tl::unexpected(from_errno(errno, "waiting"));
    if (ready <= 0) continue;
    if (waits[0].revents != 0) {
      if (auto taken = take_output(); !taken) return taken;
    }
    if (waits[1].revents != 0) take_errors();
    if (waits[2].revents != 0) {
      has_ended = true;
      deadline = deadline.earlier(Deadline::after(kDrainGrace));
    }
  }
  return {};
}

// Kills what is left of the group and takes the program's end. Its number cannot be given to
// another process before that.
void Run::end() {
  if (pid_ < 0) return;
  ::kill(-pid_, SIGKILL);
  pollfd wait = {process_.get(), POLLIN, 0};
  if (process_) ::poll(&wait, 1, static_cast<int>(kKillGrace.count() / 1000));
  siginfo_t info = {};
  const bool is_taken =
      ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG) == 0 && info.si_pid != 0;
  if (is_taken && info.si_code == CLD_EXITED) result_.exit_code = info.si_status;
  if (is_taken && info.si_code != CLD_EXITED) result_.signal = info.si_status;
  pid_ = -1;
}

Result<CommandEnd> Run::finish() {
  if (auto pumped = pump(); !pumped) return tl::unexpected(std::move(pumped.error()));
  end();
  result_.errors = sanitize(result_.errors);
  return std::move(result_);
}

}  // namespace

Result<CommandEnd> run_command(const Command& command) {
  Run run(command);
  if (auto started = run.start(); !started) return tl::unexpected(std::move(started.error()));
  return run.finish();
}

Error command_failure(const Command& command, const CommandEnd& end) {
  constexpr std::size_t kMaxShown = 300;
  std::string message = command.argv.empty() ? "a program" : command.argv[0];
  message += end.signal != 0 ? " was ended by signal " + std::to_string(end.signal)
                             : " failed with exit code " + std::to_string(end.exit_code);
  std::string said(trim(excerpt(end.errors, kMaxShown)));
  std::replace(said.begin(), said.end(), '\n', ' ');
  if (!said.empty()) message += ": " + said;
  return Error{Error::Code::unavailable, std::move(message)};
}

}  // namespace nvab
