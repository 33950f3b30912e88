// SPDX-License-Identifier: Apache-2.0
// systemd's journal as a source: this machine's, journals that other machines sent here, and what
// journalctl exported.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "epilog/collector.hh"
#include "epilog/host.hh"

namespace nvab {

struct JournaldOptions {
  std::string connector = "log.journald";
  // Journals, folders of them, exports (`journalctl -o export` and `-o json`, plain or packed);
  // empty: this machine's journal, where the job ran here.
  std::vector<std::string> paths;
  bool only_kernel = false;
  std::vector<std::string> units;  // with only_kernel: either
  std::string boot;                // an id, "current", or empty for any
  std::string cursor;              // only what stands behind it
  Duration before{0}, after{0};    // of the job
};

std::unique_ptr<Collector> make_log_journald(JournaldOptions options, Host& host);

}  // namespace nvab
