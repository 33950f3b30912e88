// SPDX-License-Identifier: Apache-2.0
// Refinement, in its sub-phases: cause (which event explains which), rank (which remaining event is
// the root), final (what only code can see), outcome, and what follows from the outcome. One file
// an idea; the order is in passes.cc.
#pragma once

#include "common/engine/analysis.hh"

namespace nvab {

// cause
void link_causes(Analysis& analysis);
void mark_ended(Analysis& analysis);  // over before the end, and nothing followed from it
// rank
void build_hypotheses(Analysis& analysis);
void rank_hypotheses(Analysis& analysis);
// final
void judge_same_unit(Analysis& analysis);
void judge_collectives(Analysis& analysis);
void judge_spread(Analysis& analysis);
void judge_silent_peer(Analysis& analysis);
void judge_after_done(Analysis& analysis);
void judge_slowdown(Analysis& analysis);
// outcome
void decide_outcome(Analysis& analysis);
// post-outcome
void find_first_rank(Analysis& analysis);
void measure_progress(Analysis& analysis);
void name_missing(Analysis& analysis);

// Shared by the above.
bool is_symptom(const Event& event);  // root or cascade that counts
// What a launcher says of a rank that ended by itself (srun's task lines, torchrun's first observed
// failure, mpirun's banners): names a rank, testifies to no cause.
bool is_launcher_word(const Event& event);
SubDomain sub_domain_of(std::string_view outcome);

}  // namespace nvab
