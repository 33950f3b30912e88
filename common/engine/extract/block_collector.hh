// SPDX-License-Identifier: Apache-2.0
// Puts multi-line messages together while several writers take turns in one stream.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/engine/extract/block_kinds.hh"
#include "common/model/observation.hh"

namespace nvab {

// A line of the stream, parsed. Views live as long as the line is being handled.
struct StreamLine {
  std::string_view writer;  // who wrote it: labels of launchers, host; empty when unknown
  std::string_view rank;    // the rank that the line names, as part of the writer
  BlockText text;
  std::uint64_t offset = 0;
};

class BlockCollector {
 public:
  using MakeEntry = std::function<LogEntry()>;
  // `emit` gets whole blocks, and single lines of what turned out to be none.
  using Emit = std::function<void(LogEntry&&)>;
  explicit BlockCollector(Emit emit) : emit_(std::move(emit)) {}

  // Whether the line became part of a block that is open, or opened one. `make` gives its entry.
  bool take(const StreamLine& line, const MakeEntry& make);
  bool any_open() const { return !open_.empty(); }
  // Closes blocks whose writer has been silent while this much of the stream went by.
  void expire(std::uint64_t offset);
  void finish();

 private:
  struct Block {
    BlockState state;
    LogEntry entry;                    // of the first line; the message grows
    std::vector<LogEntry> candidates;  // banner: lines to hand on if no end comes
    std::string tail;                  // trailing empty lines, kept only if more follows
    std::size_t lines = 0, left_out = 0;
    std::uint64_t last_offset = 0;
    bool closed_well = false;
  };
  using Blocks = std::map<std::string, Block>;

  Blocks::iterator find(const StreamLine& line);
  bool open(const StreamLine& line, const MakeEntry& make);
  // False when the block is full with it.
  bool append(Block* block, const StreamLine& line, const MakeEntry& make);
  Blocks::iterator close(Blocks::iterator block);
  void make_room();

  Emit emit_;
  Blocks open_;  // by writer and rank
  // By writer alone: the block whose first line named a rank that the next lines may leave out.
  std::map<std::string, std::string> unnamed_;
  std::size_t bytes_ = 0;
};

}  // namespace nvab
