// SPDX-License-Identifier: Apache-2.0
// How people name Slurm jobs: 1234 · 1234_7 · 1234_[1-9,20] · 1234+1 · 1234.0 · 1234_7.batch. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.hh"

namespace nvab {

// More than anybody asks about in one call; MaxArraySize of the largest sites is below it.
inline constexpr std::size_t kMaxAskedJobs = 100'000;
// Slurm's own bound of job ids (MAX_JOB_ID) is lower; larger numbers are its special values.
inline constexpr std::uint32_t kMaxSlurmJobId = 0xfffffff0;

struct SlurmJobId {
  std::uint32_t job = 0;                    // the array's or the het job's id where there is one
  std::optional<std::uint32_t> array_task;  // _7
  std::optional<std::uint32_t> het_offset;  // +1
  std::string step;                         // "0", "batch", "extern", "interactive"; empty: the job
  bool operator==(const SlurmJobId&) const = default;
};

// As people and sacct write it.
std::string to_string(const SlurmJobId& id);

// One such name without ranges, as sacct prints it; nothing for anything else.
std::optional<SlurmJobId> parse_job_id(std::string_view text);

// A list of names and ranges, separated by commas or blanks, each job once, in the order given.
// Errors: malformed, with the part that is wrong; more than kMaxAskedJobs.
Result<std::vector<SlurmJobId>> parse_job_ids(std::string_view text);

}  // namespace nvab
