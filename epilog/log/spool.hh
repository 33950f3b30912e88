// SPDX-License-Identifier: Apache-2.0
// The spool of task records (common/wire/task_record.h): which of its files are about a run.
#pragma once

#include <string>
#include <vector>

#include "common/base/deadline.hh"
#include "common/base/result.hh"
#include "common/model/context.hh"
#include "epilog/log/task_table.hh"

namespace nvab {

// Paths, sorted, of the files of this run of the job. Their names tell job, step, node and when the
// step began; runs of one job are told apart by that, since Slurm's restart counts are not to be
// trusted. Only what root, the owner of the spool (SlurmUser, where slurmd is not root's) or the
// reader can have written: others' go to `refused` (may be null), each as a sentence. Errors:
// not_found (no spool), permission.
Result<std::vector<std::string>> spool_files(const std::string& spool,
                                             const ExecutionContext& context,
                                             std::vector<std::string>* refused = nullptr);

// Which of the names in a spool those are. Pure.
std::vector<std::string> choose_spool_files(const std::vector<std::string>& names,
                                            const ExecutionContext& context);

// Where the tasks of this run of the whole job led their output; nothing where there is no spool
// that we may read.
std::vector<TaskStream> recorded_streams(const std::string& spool, const ExecutionContext& context,
                                         Deadline deadline);

// Puts a file of task records into the table, until the deadline. Errors: as for reading files;
// malformed where lines are longer than any record; timeout.
Result<void> read_task_file(const std::string& path, Deadline deadline, TaskTable* table);

}  // namespace nvab
