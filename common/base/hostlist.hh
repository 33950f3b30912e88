// SPDX-License-Identifier: Apache-2.0
// Slurm's hostlist expressions: "node[001-064,070],login1" and back.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.hh"

namespace nvab {

// More hosts than any cluster has; a hostile "n[0-999999999]" must not fill memory.
inline constexpr std::size_t kMaxHosts = 200'000;

// Expands commas and bracket ranges (zero padding kept, several brackets a name allowed), in the
// order given. Errors: malformed (unbalanced bracket, backward range, more than kMaxHosts).
Result<std::vector<std::string>> expand_hostlist(std::string_view expression);

// Sorted, folded into ranges as `scontrol show hostlist` prints them: what `sbatch --exclude=`
// takes.
std::string fold_hostlist(std::span<const std::string> hosts);

// Order for people and for canonical output: numbers inside names compare as numbers.
bool host_less(std::string_view a, std::string_view b);
// Sorted by host_less, each host once: the form in which node lists are kept.
void sort_hosts(std::vector<std::string>& hosts);

}  // namespace nvab
