// SPDX-License-Identifier: Apache-2.0
// See body_pipe.hh.
#include "epilog/body_pipe.hh"

#include <thread>
#include <utility>

namespace nvab {
namespace {

// What may wait between the two: enough that neither waits for the other at each packet.
constexpr std::size_t kMaxWaiting = 256UL * 1024;

// The receiving thread: ends when the reader does, however that is left.
class Receiver {
 public:
  Receiver(BodyPipe& pipe, std::function<void()> receive)
      : pipe_(pipe), thread_([&pipe, receive = std::move(receive)] {
          receive();
          pipe.close_writer();
        }) {}
  ~Receiver() { join(); }
  Receiver(const Receiver&) = delete;
  Receiver& operator=(const Receiver&) = delete;
  void join() {
    pipe_.close_reader();
    if (thread_.joinable()) thread_.join();
  }

 private:
  BodyPipe& pipe_;
  std::thread thread_;
};

}  // namespace

bool BodyPipe::write(std::string_view piece) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return is_unwanted_ || waiting_.size() < kMaxWaiting; });
  if (is_unwanted_) return false;
  waiting_.append(piece);
  changed_.notify_all();
  return true;
}

std::string_view BodyPipe::read() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return has_ended_ || !waiting_.empty(); });
  taken_.clear();
  std::swap(taken_, waiting_);
  changed_.notify_all();
  return taken_;
}

void BodyPipe::close_writer() {
  const std::lock_guard lock(mutex_);
  has_ended_ = true;
  changed_.notify_all();
}

void BodyPipe::close_reader() {
  const std::lock_guard lock(mutex_);
  is_unwanted_ = true;
  changed_.notify_all();
}

Result<HttpAnswer> stream_body(
    HttpBackend& backend, HttpRequest request, Deadline deadline,
    const std::function<void(const std::function<std::string_view()>& next)>& read) {
  BodyPipe pipe;
  Result<HttpAnswer> answer;
  request.on_body = [&pipe](std::string_view piece) { return pipe.write(piece); };
  Receiver receiver(pipe, [&] { answer = backend.send(std::move(request), deadline); });
  std::string_view first = pipe.read();
  if (!first.empty()) {
    read([&]() -> std::string_view {
      return first.empty() ? pipe.read() : std::exchange(first, {});
    });
  }
  receiver.join();
  return answer;
}

}  // namespace nvab
