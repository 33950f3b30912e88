// SPDX-License-Identifier: Apache-2.0
// Paths of trees that a syslog server writes, as its own templates spell them:
//
//   /var/log/remote/%HOSTNAME%/%$YEAR%-%$MONTH%-%$DAY%.log
//
// Only what is of the job's nodes and time is looked at, folder by folder: other hosts' folders are
// never opened.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.hh"
#include "common/model/context.hh"
#include "epilog/log/source_files.hh"

namespace nvab {

// Whether the path has properties in it: %HOSTNAME% and the like, {node} or {job}.
bool is_path_template(std::string_view path);

struct TemplatePath {
  std::string path;
  std::string node;  // of the job; empty where the template names none
};
struct TemplatePaths {
  std::vector<TemplatePath> paths;  // sorted
  std::vector<SkippedFile> skipped;
};

// What lies there for the job. Properties: hostname and fromhost (also {node}) must be a node of
// the job, with any domain; {job} one of its ids; $year, $month and $day (also of timegenerated and
// timereported, by position) must fit its window, give or take a day for the zone; any other stands
// for anything. Names may hold * ? and [sets] besides. Errors: malformed (a property without end).
Result<TemplatePaths> expand_path_template(std::string_view path, const ExecutionContext& context);

}  // namespace nvab
