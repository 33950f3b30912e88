// SPDX-License-Identifier: Apache-2.0
// Which jobs that hooks hand over are attributed: the section [policy]. Only the runner can decide
// it, since only accounting knows how a job ended. What a user asked for by --attribution is
// untrusted text: it may ask for a verdict on the user's own job, and for none.
#pragma once

#include <string>
#include <vector>

#include "common/base/settings.hh"
#include "common/model/context.hh"

namespace nvab {

extern const ComponentSpec policy_spec;

struct Policy {
  enum class Auto { all, failures, none };
  Auto automatic = Auto::failures;
  std::vector<std::string> partitions, accounts;  // globs; empty: all
  long long min_nodes = 0, min_gpus = 0;
  Duration min_run{0};
  int sample_percent = 100;

  static Policy from(const ComponentSettings& settings);
  // Empty: the job is attributed; else why not, half a sentence. `wish` is "on", "off", "auto" or
  // empty. Sampling goes by the context's key, so that every hook and runner decides alike. Pure.
  std::string reason_against(const ExecutionContext& context, std::string_view wish) const;
};

// Whether anything of the job went wrong, as far as the scheduler knows: also a step of a job that
// completed. Jobs that were cancelled or put back count: people cancel what hangs.
bool is_failure(const ExecutionContext& context);

}  // namespace nvab
