// SPDX-License-Identifier: Apache-2.0
// Task records (common/wire/task_record.h): a bundle's task_exits.ndjson, or a spool of them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "epilog/collector.hh"
#include "epilog/host.hh"

namespace nvab {

struct TaskExitsOptions {
  std::string connector = "log.task_exits";
  std::vector<std::string> paths;  // files, folders and patterns
};

std::unique_ptr<Collector> make_task_exits(TaskExitsOptions options, Host& host);

}  // namespace nvab
