// SPDX-License-Identifier: Apache-2.0
// Filters mark events, they never delete them: a marked one may still testify.
#pragma once

#include "common/engine/analysis.hh"

namespace nvab {

void read_progress(Analysis& analysis);  // fills Analysis::progress from progress events
void mark_quoted(Analysis& analysis);    // command lines, advice, echoes
void mark_outside_window(Analysis& analysis);
void mark_not_this_job(Analysis& analysis);  // other nodes, GPUs, jobs
void mark_teardown(Analysis& analysis);      // sets told_to_end; what follows it is part of ending
void mark_recovered(Analysis& analysis);     // the job went on for a while after it

}  // namespace nvab
