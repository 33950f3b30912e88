// SPDX-License-Identifier: Apache-2.0
// See attributor_id.hh.
#include "common/model/attributor_id.hh"

#include "common/base/digest.hh"

namespace nvab {

std::string attributor_id(const ExecutionContext& context, std::string_view ruleset) {
  // A line end cannot be part of either.
  return sha256_hex(context.key() + '\n' + std::string(ruleset)).substr(0, 32);
}

}  // namespace nvab
