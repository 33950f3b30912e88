// SPDX-License-Identifier: Apache-2.0
// Which files a job's programs wrote their output to: by the task record, which saw them opened;
// else by what the job was submitted with; else by Slurm's default name.
#pragma once

#include <string>
#include <vector>

#include "common/model/context.hh"
#include "epilog/log/source_files.hh"
#include "epilog/log/task_table.hh"

namespace nvab {

struct JobFileSearch {
  const ExecutionContext& context;
  std::vector<TaskStream> streams;  // of the task record
  std::string boot_id;              // of this machine
};

struct JobFilesFound {
  // Those that are there; `skipped` are those that should be, or that another job wrote to as well.
  SourceFiles source;
  std::string nowhere;  // where there are none: why, a sentence
};

// Looks at the files and may read the job's script: to be called with the owner's rights.
JobFilesFound find_job_files(const JobFileSearch& search);

// Where the script's standard output went (or, of a job without one, that of its first task),
// whether or not the file is there: an absolute path, or nothing where it was no file. To be called
// with the owner's rights, too.
std::string standard_output_of(const JobFileSearch& search);

// Whether the number stands in the path as a whole, be it padded with zeros. Pure.
bool has_number(std::string_view path, long long number);

}  // namespace nvab
