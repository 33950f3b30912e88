// SPDX-License-Identifier: Apache-2.0
// The grammars of multi-line messages, as small state machines over lines.
#include "common/engine/extract/block_kinds.hh"

#include <algorithm>
#include <array>
#include <iterator>

#include "common/engine/extract/head_parts.hh"

namespace nvab {
namespace {

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

template <typename List>
bool starts_with_any(std::string_view text, const List& list) {
  return std::any_of(std::begin(list), std::end(list),
                     [&](std::string_view prefix) { return text.starts_with(prefix); });
}

template <typename List>
bool has_any(std::string_view text, const List& list) {
  return std::any_of(std::begin(list), std::end(list),
                     [&](std::string_view part) { return has(text, part); });
}

constexpr std::string_view kTraceback = "raceback (most recent call last):";
// The line before a traceback says that it ended a thread only, or nothing at all.
constexpr std::string_view kInThread = "Exception in thread ";
constexpr std::string_view kIgnored = "Exception ignored ";

// Open MPI writes 74.
constexpr std::string_view kDashes = "------------------------------------------------------------";
// GROMACS writes 55, and between them "Program:     gmx mdrun, version 2024.1".
constexpr std::size_t kShortRule = 55;
constexpr std::string_view kGromacs = "Program:     gmx";
bool is_gromacs_error(std::string_view text) { return text.starts_with(kGromacs); }

struct Opener {
  std::string_view literal;
  BlockKind kind;
  bool kernel_only;
};
constexpr Opener kOpeners[] = {
    {kTraceback, BlockKind::traceback, false},
    {kInThread, BlockKind::traceback, false},
    {kIgnored, BlockKind::traceback, false},
    {"Root Cause (first observed failure)", BlockKind::elastic, false},
    {"terminate called ", BlockKind::native_error, false},
    {"terminated with exception: ", BlockKind::native_error, false},
    {"Exception raised from ", BlockKind::native_error, false},
    {"*** Process received signal ***", BlockKind::mpi_signal, false},
    {" error stack:", BlockKind::mpi_stack, false},
    {"BAD TERMINATION OF ONE", BlockKind::mpi_stack, false},
    {kDashes, BlockKind::banner, false},
    {kGromacs, BlockKind::banner, false},
    {"HDF5-DIAG: Error detected", BlockKind::hdf5, false},
    {"forrtl: ", BlockKind::fortran, false},
    {"Program received signal SIG", BlockKind::fortran, false},
    {"Error termination. Backtrace:", BlockKind::fortran, false},
    {"*** Error in `", BlockKind::fortran, false},
    {"*** Check failure stack trace: ***", BlockKind::stack_trace, false},
    {"; stack trace: ***", BlockKind::stack_trace, false},
    {"Fatal Python error: ", BlockKind::stack_trace, false},
    {"invoked oom-killer", BlockKind::kernel_oom, true},
    {"[ cut here ]", BlockKind::kernel_trace, true},
    {"blocked for more than ", BlockKind::kernel_trace, true},
    {"BUG: soft lockup", BlockKind::kernel_trace, true},
    {"BUG: unable to handle", BlockKind::kernel_trace, true},
    {"BUG: kernel NULL pointer", BlockKind::kernel_trace, true},
    {"general protection fault", BlockKind::kernel_trace, true},
    {"Kernel panic - not syncing", BlockKind::kernel_trace, true},
    {"self-detected stall", BlockKind::kernel_trace, true},
    {"detected stalls on CPUs", BlockKind::kernel_trace, true},
    {"hard LOCKUP", BlockKind::kernel_trace, true},
    {"Unable to handle kernel", BlockKind::kernel_trace, true},
};

// Parts of a container's line, and the journal's way to write a message that is no plain text: an
// array of numbers.
constexpr std::string_view kDisguises[] = {" stdout P ", " stderr P ", "\"MESSAGE\":["};

constexpr auto make_literals() {
  std::array<std::string_view, std::size(kOpeners) + std::size(kDisguises)> literals{};
  for (std::size_t i = 0; i < std::size(kOpeners); ++i) literals[i] = kOpeners[i].literal;
  for (std::size_t i = 0; i < std::size(kDisguises); ++i) {
    literals[std::size(kOpeners) + i] = kDisguises[i];
  }
  return literals;
}
constexpr auto kLiterals = make_literals();

// ---- Python ------------------------------------------------------------------------------------

// "ValueError", "torch.OutOfMemoryError: text", "my_pkg.Error(3): x".
bool is_exception_line(std::string_view text) {
  if (text.empty() || (!is_letter(text[0]) && text[0] != '_')) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (is_letter(c) || is_digit(c) || c == '_' || c == '.' || c == '(' || c == ')') continue;
    return c == ':' && (i + 1 == text.size() || text[i + 1] == ' ' || text[i + 1] == '\t');
  }
  return true;
}

constexpr std::string_view kChains[] = {"During handling of the above exception",
                                        "The above exception was the direct cause"};

// Lines that libraries print behind the first line of an exception's text.
constexpr std::string_view kMessageTails[] = {"nccl",
                                              "Last error",
                                              "CUDA kernel errors",
                                              "For debugging consider",
                                              "Compile with `",
                                              "Device-side",
                                              "Search for `",
                                              "Exception raised from",
                                              "frame #",
                                              "Call stack",
                                              "Suggest",
                                              "Hint",
                                              "hint:",
                                              "Note:",
                                              "Error message",
                                              "Attempting to",
                                              "BufferAssignment",
                                              "Largest program",
                                              "Peak buffers",
                                              "CUDA error",
                                              "CUDA call was",
                                              "If reserved",
                                              "Original",
                                              "Triggered ",
                                              "To execute this flag",
                                              "The above",
                                              "Traceback",
                                              "Caused by",
                                              "  "};

constexpr int kMaxTail = 16;  // lines of an exception's text behind its first
enum TracebackPhase { kFrames, kTail, kChain, kLastError, kReportHead, kReportBody, kHeader };

// Java names the thread in quotes, and no traceback follows.
bool is_traceback_header(std::string_view text) {
  return text.starts_with(kIgnored) ||
         (text.starts_with(kInThread) && text.ends_with(':') && !has(text, "\""));
}

void enter(BlockState* state, int phase) {
  state->phase = phase;
  state->count = 0;
}

BlockStep frames_step(BlockState* state, const BlockText& line) {
  const std::string_view text = line.text;
  if (text.empty() || text[0] == ' ' || text[0] == '\t' || text[0] == '|' || text[0] == '+')
    return BlockStep::take;
  if (has(text, kTraceback)) return BlockStep::take;
  if (!is_exception_line(text)) return BlockStep::foreign;
  enter(state, kTail);
  if (has(text, "ChildFailedError")) enter(state, kReportHead);
  return BlockStep::take;
}

BlockStep tail_step(BlockState* state, const BlockText& line) {
  const std::string_view text = line.text;
  ++state->count;
  if (has(text, kTraceback)) {
    // Another one, unless it says that it belongs here.
    if (!text.starts_with("Original ") && state->phase != kChain) return BlockStep::close;
    enter(state, kFrames);
    return BlockStep::take;
  }
  if (starts_with_any(text, kChains)) {
    enter(state, kChain);
    return BlockStep::take;
  }
  if (text.empty()) return state->count <= kMaxTail ? BlockStep::take : BlockStep::close;
  if (state->phase == kLastError) {
    enter(state, kTail);
    return BlockStep::take;
  }
  if (text.starts_with("Last error")) {
    enter(state, kLastError);
    return BlockStep::take;
  }
  if (text.starts_with("frame #")) return BlockStep::take;
  if (state->count > kMaxTail) return BlockStep::close;
  if (starts_with_any(text, kMessageTails)) return BlockStep::take;
  // Behind a label nobody else writes in between.
  return line.is_labelled && state->phase != kChain ? BlockStep::take : BlockStep::close;
}

bool is_double_line(std::string_view text) {
  return text.starts_with("==========") && !has(text, " ");
}

// torchrun's report: from the exception to the second line of '='.
BlockStep report_step(BlockState* state, const BlockText& line) {
  constexpr int kMaxHead = 3, kMaxBody = 300;
  ++state->count;
  if (state->phase == kReportBody) {
    if (is_double_line(line.text)) return BlockStep::take_and_close;
    return state->count > kMaxBody ? BlockStep::close : BlockStep::take;
  }
  if (is_double_line(line.text)) {
    enter(state, kReportBody);
    return BlockStep::take;
  }
  return state->count > kMaxHead ? BlockStep::close : BlockStep::take;
}

BlockStep traceback_step(BlockState* state, const BlockText& line) {
  const bool speaks_anew = line.has_stamp && !state->first_has_stamp;
  if (speaks_anew) return state->phase == kFrames ? BlockStep::foreign : BlockStep::close;
  if (state->phase == kHeader) {
    if (!has(line.text, kTraceback)) return BlockStep::close;
    enter(state, kFrames);
    return BlockStep::take;
  }
  if (state->phase == kFrames) return frames_step(state, line);
  if (state->phase >= kReportHead) return report_step(state, line);
  return tail_step(state, line);
}

BlockStep elastic_step(BlockState*, const BlockText& line) {
  const std::string_view text = line.text;
  if (is_double_line(text)) return BlockStep::take_and_close;
  const bool item = text.starts_with('[') || text.starts_with(' ') || text.starts_with("----");
  return item && !line.has_stamp ? BlockStep::take : BlockStep::close;
}

// ---- native code
// ---------------------------------------------------------------------------------

BlockStep native_step(BlockState* state, const BlockText& line) {
  if (line.has_stamp && !state->first_has_stamp) return BlockStep::close;
  // The opener's own stamp does not make those of other messages part of it.
  if (line.has_stamp && !line.text.starts_with("frame #") &&
      !starts_with_any(line.text, kMessageTails)) {
    return BlockStep::close;
  }
  if (has(line.text, kTraceback)) return BlockStep::close;
  return tail_step(state, line);
}

BlockStep mpi_signal_step(BlockState*, const BlockText& line) {
  return has(line.text, "*** End of error message ***") ? BlockStep::take_and_close
                                                        : BlockStep::take;
}

BlockStep mpi_stack_step(BlockState*, const BlockText& line) {
  const std::string_view text = line.text;
  const std::size_t paren = text.find('(');
  const std::size_t colon = text.find(": ");
  // Hydra's last two lines, behind its box of '='.
  if (text.starts_with("YOUR APPLICATION TERMINATED WITH") ||
      text.starts_with("This typically refers to a problem with your application"))
    return BlockStep::take;
  const bool call = paren != std::string_view::npos && colon != std::string_view::npos &&
                    paren < colon && text.substr(0, paren).find(' ') == std::string_view::npos;
  return (call || text.starts_with('=')) && !line.has_stamp ? BlockStep::take : BlockStep::close;
}

// "  #000: H5F.c line 532 in H5Fopen(): ...", "    major: File accessibility".
BlockStep hdf5_step(BlockState*, const BlockText& line) {
  constexpr std::string_view kParts[] = {"  #", "    major:", "    minor:"};
  return starts_with_any(line.text, kParts) ? BlockStep::take : BlockStep::close;
}

BlockStep banner_step(BlockState* state, const BlockText& line) {
  constexpr int kMaxBanner = 30;
  if (is_rule_line(line.text)) return BlockStep::take_and_close;
  if (line.has_stamp && !state->first_has_stamp) return BlockStep::foreign;
  return ++state->count > kMaxBanner ? BlockStep::close : BlockStep::take;
}

BlockStep fortran_step(BlockState*, const BlockText& line) {
  constexpr std::string_view kParts[] = {
      "Image ", "Stack trace terminated", "Backtrace", "Error termination",
      "#",      "======= Backtrace",      "At line ",  "Could not print"};
  const std::string_view text = line.text;
  if (text.empty() || starts_with_any(text, kParts)) return BlockStep::take;
  const bool frame = has(text, "  0000") || has(text, "[0x") || has(text, "(+0x");
  return frame && !line.has_stamp ? BlockStep::take : BlockStep::close;
}

BlockStep stack_step(BlockState*, const BlockText& line) {
  constexpr std::string_view kParts[] = {"    @",     "PC: @",          "  @",
                                         "  File ",   "  ...",          "Current thread ",
                                         "Thread 0x", "Python runtime", "Extension modules:",
                                         "@ "};
  const bool part = line.text.empty() || starts_with_any(line.text, kParts);
  return part && (!line.has_stamp || has(line.text, "@ ")) ? BlockStep::take : BlockStep::close;
}

// ---- kernel
// --------------------------------------------------------------------------------------

constexpr std::string_view kTraceParts[] = {" ",
                                            "Call Trace",
                                            "Call trace",
                                            "<TASK>",
                                            "</TASK>",
                                            "RIP:",
                                            "RSP:",
                                            "RAX:",
                                            "RDX:",
                                            "RBP:",
                                            "R08:",
                                            "R10:",
                                            "R13:",
                                            "FS:",
                                            "CS:",
                                            "CR2:",
                                            "DR0:",
                                            "Code:",
                                            "CPU:",
                                            "Hardware name:",
                                            "Workqueue:",
                                            "Modules linked",
                                            "task:",
                                            "---[",
                                            "Kernel Offset",
                                            "PKRU:",
                                            "?",
                                            "\"echo 0",
                                            "pc :",
                                            "lr :",
                                            "sp :",
                                            "x2",
                                            "x1",
                                            "pstate:",
                                            "Sending NMI",
                                            "NMI backtrace",
                                            "Rebooting in",
                                            "#PF",
                                            "PGD ",
                                            "Oops",
                                            "Not tainted",
                                            "rcu: ",
                                            "\t",
                                            "(t=",
                                            "ret_from_fork",
                                            "do_",
                                            "kthread",
                                            "entry_",
                                            "__",
                                            "irq event",
                                            "Kernel panic"};

BlockStep kernel_trace_step(BlockState*, const BlockText& line) {
  if (!line.is_kernel) return BlockStep::foreign;
  if (line.text.starts_with("---[ end")) return BlockStep::take_and_close;
  return line.text.empty() || starts_with_any(line.text, kTraceParts) ? BlockStep::take
                                                                      : BlockStep::close;
}

BlockStep kernel_oom_step(BlockState*, const BlockText& line) {
  constexpr std::string_view kOomWords[] = {"oom", "memory", "Memory", "Killed process",
                                            "Call Trace"};
  if (!line.is_kernel) return BlockStep::foreign;
  if (has(line.text, "invoked oom-killer")) return BlockStep::close;
  // An unrelated message of the kernel that some rule wants is not hidden in the dump.
  if (line.is_candidate && !has_any(line.text, kOomWords)) return BlockStep::foreign;
  return has(line.text, "Killed process") ? BlockStep::take_and_close : BlockStep::take;
}

}  // namespace

std::span<const std::string_view> block_openers() { return kLiterals; }

bool is_rule_line(std::string_view text) {
  return text.size() >= kShortRule && text.find_first_not_of('-') == std::string_view::npos;
}

std::optional<BlockState> opened_block(const BlockText& line) {
  if (line.is_partial) {
    BlockState state;
    state.kind = BlockKind::partial;
    return state;
  }
  for (const Opener& opener : kOpeners) {
    if (opener.kernel_only && !line.is_kernel) continue;
    if (!has(line.text, opener.literal)) continue;
    if (opener.kind == BlockKind::banner && !is_rule_line(line.text) &&
        !is_gromacs_error(line.text)) {
      continue;
    }
    const bool is_header = opener.literal == kInThread || opener.literal == kIgnored;
    if (is_header && !is_traceback_header(line.text)) continue;
    BlockState state;
    state.kind = opener.kind;
    state.first_has_stamp = line.has_stamp;
    if (opener.kind == BlockKind::native_error) state.phase = kTail;
    if (is_header) state.phase = kHeader;
    return state;
  }
  return std::nullopt;
}

BlockStep next_step(BlockState* state, const BlockText& line) {
  switch (state->kind) {
    case BlockKind::traceback:
      return traceback_step(state, line);
    case BlockKind::elastic:
      return elastic_step(state, line);
    case BlockKind::native_error:
      return native_step(state, line);
    case BlockKind::mpi_signal:
      return mpi_signal_step(state, line);
    case BlockKind::mpi_stack:
      return mpi_stack_step(state, line);
    case BlockKind::banner:
      return banner_step(state, line);
    case BlockKind::hdf5:
      return hdf5_step(state, line);
    case BlockKind::fortran:
      return fortran_step(state, line);
    case BlockKind::stack_trace:
      return stack_step(state, line);
    case BlockKind::kernel_trace:
      return kernel_trace_step(state, line);
    case BlockKind::kernel_oom:
      return kernel_oom_step(state, line);
    case BlockKind::partial:
      return line.is_partial ? BlockStep::take : BlockStep::take_and_close;
  }
  return BlockStep::close;
}

}  // namespace nvab
