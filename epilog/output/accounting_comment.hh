// SPDX-License-Identifier: Apache-2.0
// The verdict in a comment of Slurm's accounting, beside what other tools wrote there:
//   JS1:H4sIAAAA…;NVAB1:state=failed,sub=gpu_hardware,cause=xid_79_fell_off_bus,confidence=97,…
// Parts are separated by ';'. Ours is known by its name, whatever its case: sacctmgr of many
// versions writes everything in lower case. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "common/base/result.hh"
#include "common/model/result.hh"

namespace nvab {

// Our part, at most: others need the field, too.
inline constexpr std::size_t kMaxCommentPart = 400;
// The field, at most. The database holds 65,535 bytes, and one argument of a program 131,072.
inline constexpr std::size_t kMaxComment = 60'000;

// "NVAB1:state=failed,…": names and values of letters, digits and "._-[]+", with commas only
// between them and inside brackets; what is not known is left out.
std::string comment_part(const AttributionResult& result);

// `comment` with our part in it, in the place of the one that was there; of several only one stays.
std::string merge_comment(std::string_view comment, std::string_view part);

// Our part as it stands there; empty: there is none.
std::string_view own_part(std::string_view comment);
// Everything else.
std::string foreign_part(std::string_view comment);

// Whether sacctmgr would write the foreign part as it is. Quotes it never does; capital letters
// only where it keeps the case. Errors: unsupported, with what is wrong.
Result<void> is_writable(std::string_view foreign, bool keeps_case);
bool has_capitals(std::string_view text);

}  // namespace nvab
