// SPDX-License-Identifier: Apache-2.0
// A plausible month of a cluster that does not exist, to look at the pages with and to test them
// on.
#pragma once

#include <cstdint>
#include <string>

#include "common/base/result.hh"
#include "common/base/time.hh"

namespace nvab {

struct DemoOptions {
  int runs = 4000;
  Time end;                 // the month ends here
  std::uint32_t seed = 20;  // the same seed gives the same month
};

// Writes them into the database at `path`, which is made where it is not there.
Result<void> write_demo(const std::string& path, const DemoOptions& options);

}  // namespace nvab
