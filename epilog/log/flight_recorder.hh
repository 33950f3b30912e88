// SPDX-License-Identifier: Apache-2.0
// Folders of NCCL flight-recorder dumps, one file a rank.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "epilog/collector.hh"
#include "epilog/host.hh"

namespace nvab {

struct FlightRecorderOptions {
  std::string connector = "log.flight_recorder";
  std::vector<std::string> paths;  // files, folders and patterns
  std::string base;                // left out of stream names
};

std::unique_ptr<Collector> make_flight_recorder(FlightRecorderOptions options, Host& host);

}  // namespace nvab
