// SPDX-License-Identifier: Apache-2.0
// See line_pull.hh.
#include "epilog/log/line_pull.hh"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace nvab {
namespace {

constexpr std::size_t kBlock = 64 * 1024;

}  // namespace

bool LinePull::fill() {
  if (is_at_end_) return false;
  buffer_.resize(kBlock);
  at_ = 0;
  ssize_t got = 0;
  do {
    got = ::read(file_.get(), buffer_.data(), buffer_.size());
  } while (got < 0 && errno == EINTR);
  has_failed_ = got < 0;
  is_at_end_ = got <= 0;
  buffer_.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  return !is_at_end_;
}

std::optional<std::string_view> LinePull::next() {
  line_.clear();
  bool any = false;
  for (;;) {
    if (at_ >= buffer_.size() && !fill()) {
      if (!any) return std::nullopt;
      return line_;
    }
    any = true;
    const std::size_t end = buffer_.find('\n', at_);
    const std::size_t stop = std::min(end, buffer_.size());
    const std::size_t room = max_line_ - std::min(max_line_, line_.size());
    line_.append(buffer_, at_, std::min(stop - at_, room));
    at_ = stop + 1;
    if (end != std::string::npos) return line_;
    at_ = buffer_.size();
  }
}

}  // namespace nvab
