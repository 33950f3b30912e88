// SPDX-License-Identifier: Apache-2.0
// The one file that is compiled with the version and the paths (see the Makefile).
#include "common/base/build_info.hh"

namespace nvab {

const BuildInfo& build_info() {
  static constexpr BuildInfo kBuildInfo = {
      .version = NVAB_VERSION,
      .sysconf_dir = NVAB_SYSCONFDIR,
      .libexec_dir = NVAB_LIBEXECDIR,
      .data_dir = NVAB_DATADIR,
      .chart_library = NVAB_CHARTLIBRARY,
      .state_dir = NVAB_STATEDIR,
  };
  return kBuildInfo;
}

}  // namespace nvab
