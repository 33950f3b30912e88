// SPDX-License-Identifier: Apache-2.0
// Expected trouble as a value: a kind that code may branch on and a sentence for the person who
// reads it (what was being done, to what, what happened, what to do).
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

namespace nvab {

struct Error {
  enum class Code {
    not_found,    // the thing is not there
    permission,   // it is there and we may not have it
    malformed,    // what came is not what the format says
    timeout,      // the deadline passed first
    unavailable,  // the other side is not answering, or a limit was reached
    unsupported,  // valid, but this version or this build cannot do it
    conflict,     // somebody else holds it
    internal,     // a library refused for a reason of ours
  };
  Code code = Code::internal;
  std::string message;
};

template <typename T>
using Result = tl::expected<T, Error>;

// `return fail(Error::Code::malformed, "…")` in any function that returns a Result.
inline tl::unexpected<Error> fail(Error::Code code, std::string message) {
  return tl::unexpected<Error>(Error{code, std::move(message)});
}

// Adds what this layer was doing in front of what went wrong below it.
inline tl::unexpected<Error> fail(std::string_view doing, Error cause) {
  cause.message = std::string(doing) + ": " + cause.message;
  return tl::unexpected<Error>(std::move(cause));
}

// The Error for an errno value, e.g. from_errno(errno, "opening /x"). Read errno on the line after
// the call that set it.
Error from_errno(int error_number, std::string_view doing);

// "not_found", "permission", …: the same word in logs and JSON.
std::string_view to_string(Error::Code code);

}  // namespace nvab
