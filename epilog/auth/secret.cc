// SPDX-License-Identifier: Apache-2.0
// See secret.hh. Messages name the file, never what is in it.
#include "epilog/auth/secret.hh"

#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "common/base/file.hh"
#include "common/base/text.hh"

namespace nvab {
namespace {

// What an HTTP header can carry without breaking out of it.
bool is_one_line(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 0x20 && byte != 0x7F;
  });
}

}  // namespace

Result<Secret> Secret::open(const ComponentSettings& settings, std::string_view name) {
  const std::string file_param = std::string(name) + "_file";
  Secret secret;
  secret.path_ = settings.text(file_param);
  secret.value_ = trim(settings.text(name));
  const std::string self = settings.full_name();
  if (settings.is_set(name) && settings.value(name).surface != Surface::environment) {
    return fail(Error::Code::malformed, settings.value(name).origin + ": " + self + " " +
                                            std::string(name) +
                                            " is a secret; put it in a file and set " + file_param +
                                            ", or in the environment");
  }
  if (secret.path_.empty() == secret.value_.empty()) {
    return fail(Error::Code::malformed, self + " wants " + file_param + ", or " +
                                            std::string(name) + " in the environment" +
                                            (secret.path_.empty() ? "" : ", not both"));
  }
  if (secret.path_.empty() && !is_one_line(secret.value_)) {
    return fail(Error::Code::malformed,
                self + " " + std::string(name) + ": wants one line of text");
  }
  return secret;
}

Secret::Version Secret::version_of(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return {};
  constexpr std::int64_t kNano = 1'000'000'000;
  // The change time moves also where a writer puts the time of modification back.
  return {status.st_dev, status.st_ino, status.st_size,
          status.st_ctim.tv_sec * kNano + status.st_ctim.tv_nsec};
}

Result<std::string> Secret::read_now() const {
  auto text = read_file(path_, kMaxSecret);
  if (!text) return fail("reading a secret", text.error());
  std::string secret(trim(*text));
  if (secret.empty())
    return fail(Error::Code::malformed, "reading a secret: " + path_ + " is empty");
  if (!is_one_line(secret)) {
    return fail(Error::Code::malformed, "reading a secret: " + path_ + " wants one line of text");
  }
  return secret;
}

Result<std::string> Secret::read() {
  if (path_.empty()) return value_;
  const Version now = version_of(path_);
  if (now == version_ && !value_.empty()) return value_;
  auto secret = read_now();
  if (!secret && value_.empty()) return secret;
  if (!secret) return value_;
  value_ = std::move(*secret);
  version_ = now;
  return value_;
}

}  // namespace nvab
