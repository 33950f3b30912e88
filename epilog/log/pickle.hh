// SPDX-License-Identifier: Apache-2.0
// A reader for the small part of Python's pickle format that data alone needs. Opcodes that name
// classes or call anything are refused: nothing in a dump can make us do something.
#pragma once

#include <cstddef>
#include <string_view>

#include "common/base/json.hh"
#include "common/base/result.hh"

namespace nvab {

// Values in one pickle. NCCL's flight recorder keeps 2000 entries of about 60 values by default;
// this is twenty times that.
inline constexpr std::size_t kMaxPickleValues = 4'000'000;
// Open containers and pending values at once.
inline constexpr std::size_t kMaxPickleStack = 1'000'000;

// The value of a pickle of protocol 2 to 5 as JSON: tuples are arrays, keys that are numbers are
// their decimal text, bytes are text. Shared values stay shared; a value cannot hold itself.
// Errors: malformed (cut short, broken, too deep or too big), unsupported (an opcode that is not
// plain data), each with the offset.
Result<Json> parse_pickle(std::string_view bytes);

}  // namespace nvab
