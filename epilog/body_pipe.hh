// SPDX-License-Identifier: Apache-2.0
// The body of an answer while it arrives: one thread receives, another reads, and what lies between
// them is bounded.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>

#include "epilog/http_backend.hh"

namespace nvab {

class BodyPipe {
 public:
  // Waits until there is room; false: the reader wants no more.
  bool write(std::string_view piece);
  // The next bytes, valid until the next call; empty at the end.
  std::string_view read();
  void close_writer();
  void close_reader();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string waiting_, taken_;
  bool has_ended_ = false, is_unwanted_ = false;
};

// Sends `request` and has the body of a 2xx answer read by `read`, in the calling thread, while
// another one receives it. `read` is called once at most, when the first bytes are there, and gets
// what gives the next piece (empty at the end); it need not read to the end. The answer, or what
// kept it from being whole, as of HttpBackend::send().
Result<HttpAnswer> stream_body(
    HttpBackend& backend, HttpRequest request, Deadline deadline,
    const std::function<void(const std::function<std::string_view()>& next)>& read);

}  // namespace nvab
