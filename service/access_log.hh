// SPDX-License-Identifier: Apache-2.0
// One JSON line a request. For any thread; each line is one write, so lines never mix.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "common/base/file.hh"
#include "common/base/result.hh"
#include "service/httpd.hh"

namespace nvab {

class AccessLog {
 public:
  // A path to append to, "-" for standard error, or empty for none.
  static Result<std::unique_ptr<AccessLog>> open(const std::string& path);
  void write(const Request& request, const Exchange& exchange);
  // After the file was rotated away.
  Result<void> reopen();

 private:
  std::string path_;
  std::mutex mutex_;  // for reopening
  Fd file_;
};

}  // namespace nvab
