// SPDX-License-Identifier: Apache-2.0
// What configure decided and the program has to know: its version and its folders.
#pragma once

#include <string_view>

namespace nvab {

struct BuildInfo {
  std::string_view version;        // "0.1.0"
  std::string_view sysconf_dir;    // settings, e.g. "/usr/local/etc/nvab"
  std::string_view libexec_dir;    // hand-off program and epilog scripts
  std::string_view data_dir;       // the dashboard's page, in "web" below it
  std::string_view chart_library;  // Chart.js, as one file
  std::string_view state_dir;      // queue and database, e.g. "/var/lib/nvab"
};

// Constant data, usable from any thread. The folders need not exist.
const BuildInfo& build_info();

}  // namespace nvab
