// SPDX-License-Identifier: Apache-2.0
// What an errno means to the person who reads it, and the words of the error codes.
#include "common/base/result.hh"

#include <cerrno>
#include <cstring>

namespace nvab {
namespace {

Error::Code code_of(int error_number) {
  switch (error_number) {
    case ENOENT:
    case ENOTDIR:
    case ESRCH:
      return Error::Code::not_found;
    case EACCES:
    case EPERM:
    case EROFS:
      return Error::Code::permission;
    case ETIMEDOUT:
      return Error::Code::timeout;
    case EAGAIN:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
    case ENOSPC:
    case EDQUOT:
    case EIO:
    case ESTALE:
    case ECONNREFUSED:
    case ECONNRESET:
    case EHOSTUNREACH:
    case ENETUNREACH:
      return Error::Code::unavailable;
    case ENOSYS:
    case EOPNOTSUPP:
    case EISDIR:
    case ELOOP:
    case ENXIO:
      return Error::Code::unsupported;
    case EEXIST:
    case EBUSY:
    case ETXTBSY:
    case ENOTEMPTY:
      return Error::Code::conflict;
    case EILSEQ:
    case ENAMETOOLONG:
      return Error::Code::malformed;
    default:
      return Error::Code::internal;
  }
}

}  // namespace

Error from_errno(int error_number, std::string_view doing) {
  // glibc's table of short texts: no locale, no shared buffer, so safe in any thread.
  const char* text = strerrordesc_np(error_number);
  std::string message = std::string(doing) + ": ";
  if (text != nullptr) {
    message += text;
  } else {
    message += "error number " + std::to_string(error_number);
  }
  return Error{code_of(error_number), std::move(message)};
}

std::string_view to_string(Error::Code code) {
  switch (code) {
    case Error::Code::not_found:
      return "not_found";
    case Error::Code::permission:
      return "permission";
    case Error::Code::malformed:
      return "malformed";
    case Error::Code::timeout:
      return "timeout";
    case Error::Code::unavailable:
      return "unavailable";
    case Error::Code::unsupported:
      return "unsupported";
    case Error::Code::conflict:
      return "conflict";
    case Error::Code::internal:
      return "internal";
  }
  return "internal";
}

}  // namespace nvab
