// SPDX-License-Identifier: Apache-2.0
// Slurm's names of output files: what --output=%x-%j.log stands for, and where a submit line or a
// script's #SBATCH lines give one. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace nvab {

// What a pattern may name. For a batch script: step "batch", task and node number 0.
struct PatternValues {
  long long job_id = 0;  // raw
  std::optional<long long> array_job_id, array_task_id;
  std::string step = "batch";
  std::string job_name, user;
  std::string node;  // of the batch script, or of the task
  int task = 0, node_number = 0;
};

// The path that Slurm opens. As Slurm 22.05 really does it: a backslash anywhere switches expansion
// off and vanishes, numbers may be padded ("%6j"), what it does not know stays as it is. `newer`:
// as later versions, which know %b.
std::string expand_output_pattern(std::string_view pattern, const PatternValues& values,
                                  bool newer = false);

// Whether files of other jobs cannot have the same name.
bool names_the_job(std::string_view pattern);
bool names_the_task(std::string_view pattern);
bool names_the_node(std::string_view pattern);

struct OutputPatterns {
  std::string output, error;  // empty: not given
};

// From "sbatch -o x-%j.out job.sh" as accounting keeps it, its quotes lost: options up to the
// script or --wrap.
OutputPatterns patterns_of_command(std::string_view line);
// The script of such a line as it was written; empty for --wrap, or where there is none.
std::string script_of_command(std::string_view line);
// From the #SBATCH lines at the head of a script.
OutputPatterns patterns_of_script(std::string_view text);

}  // namespace nvab
