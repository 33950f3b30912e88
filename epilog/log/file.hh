// SPDX-License-Identifier: Apache-2.0
// Log files: paths, folders and patterns, plain or packed, of any size and with any bytes in them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "epilog/collector.hh"
#include "epilog/host.hh"
#include "epilog/log/source_files.hh"

namespace nvab {

struct LogFileOptions {
  std::string connector = "log.file";  // name in reports
  Source source = Source::applog;      // applog or syslog
  std::vector<std::string> paths;
  std::optional<SourceFiles> found = {};  // instead of looking for paths: these
  std::string base;                       // left out of stream names
  bool rotated = true;  // also logrotate's older files, as far as they reach into the job
  std::string node;     // who wrote lines that name no node; empty: the file's name may say
};

std::unique_ptr<Collector> make_log_file(LogFileOptions options, Host& host);

}  // namespace nvab
