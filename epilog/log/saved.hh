// SPDX-License-Identifier: Apache-2.0
// The log streams that --save-bundle wrote: entries and coverage exactly as they were collected.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "epilog/collector.hh"
#include "epilog/host.hh"

namespace nvab {

// The file names of the streams of `source` that the bundle's index holds; empty: it has none.
std::vector<std::string> saved_streams(const std::string& folder, Source source);

std::unique_ptr<Collector> make_saved_logs(std::string folder, Source source, Host& host);

}  // namespace nvab
