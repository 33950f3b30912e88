// SPDX-License-Identifier: Apache-2.0
// Multi-line messages: how each kind begins, goes on and ends. Pure; for the stream reader.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace nvab {

enum class BlockKind {
  traceback,     // Python, also chained and exception groups, with the text of the exception
  elastic,       // torchrun's report from "Root Cause" on
  native_error,  // C++ exceptions: what(), NCCL's lines, frames
  mpi_signal,    // Open MPI's dump of a signal
  mpi_stack,     // MPICH's error stack
  banner,        // Open MPI's help text between dashes
  hdf5,          // HDF5's error stack
  fortran,       // Intel and GNU Fortran, glibc
  stack_trace,   // absl's and Python's own dump of a crash
  kernel_trace,  // oops, hung task, lockup
  kernel_oom,    // everything from "invoked oom-killer" to the kill
  partial,       // one line that a container runtime cut into several
};

// One line as blocks see it.
struct BlockText {
  std::string_view text;      // without any head, also without glog's "file:line] "
  bool has_stamp = false;     // a time of its own
  bool is_kernel = false;     // written by the kernel
  bool is_candidate = false;  // holds a literal of some rule
  bool is_progress = false;   // no candidate, but a sampled sign of life
  bool is_labelled = false;   // a launcher says which rank or task wrote it
  bool is_partial = false;    // goes on in the writer's next line, without a line break
};

// Where a block that is being read stands.
struct BlockState {
  BlockKind kind = BlockKind::traceback;
  bool first_has_stamp = false;  // the opening line had a time of its own
  int phase = 0;                 // meaning depends on the kind
  int count = 0;                 // lines in that phase
};

enum class BlockStep {
  foreign,         // not part of it; somebody wrote in between
  take,            // part of it
  take_and_close,  // its last line
  close,           // it ended before this line
};

// Literals that open a block, or that say that the rules' own do not stand in the raw line as they
// do in its message: the first stage must see them whatever the rules want.
std::span<const std::string_view> block_openers();

// The block that this line opens, if it opens one.
std::optional<BlockState> opened_block(const BlockText& line);
// What the next line of the same writer is to an open block.
BlockStep next_step(BlockState* state, const BlockText& line);

// A line of dashes, as before and behind a banner.
bool is_rule_line(std::string_view text);

}  // namespace nvab
