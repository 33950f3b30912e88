// SPDX-License-Identifier: Apache-2.0
// Open blocks by writer. Bounded in lines, bytes and in how long a silent writer is waited for.
#include "common/engine/extract/block_collector.hh"

#include <algorithm>
#include <utility>

#include "common/engine/extract/stream_reader.hh"

namespace nvab {
namespace {

// A writer that is silent over this much of the stream has finished.
constexpr std::uint64_t kMaxSilence = 64 * 1024;
// All open blocks together; past it the oldest is closed.
constexpr std::size_t kMaxOpenBytes = 4 * 1024 * 1024;
constexpr std::size_t kMaxOpen = 4096;
// Frames of a deep recursion are left out beyond this share of a block, so that there is room for
// the last line, which says what happened; it is waited for this long.
constexpr std::size_t kMaxFrameBytes = kMaxLine * 3 / 4;
constexpr std::size_t kMaxFrameLines = kMaxBlockLines * 3 / 4;
constexpr std::size_t kMaxLeftOut = 20'000;

std::string key_of(const StreamLine& line) {
  std::string key(line.writer);
  key += '\x1f';
  key += line.rank;
  return key;
}

bool is_frame(std::string_view text) { return text.front() == ' ' || text.front() == '\t'; }

}  // namespace

BlockCollector::Blocks::iterator BlockCollector::find(const StreamLine& line) {
  const auto exact = open_.find(key_of(line));
  if (exact != open_.end() || !line.rank.empty()) return exact;
  const auto unnamed = unnamed_.find(std::string(line.writer));
  return unnamed == unnamed_.end() ? open_.end() : open_.find(unnamed->second);
}

bool BlockCollector::take(const StreamLine& line, const MakeEntry& make) {
  const auto block = find(line);
  if (block == open_.end()) return open(line, make);
  switch (next_step(&block->second.state, line.text)) {
    case BlockStep::foreign:
      return false;
    case BlockStep::take:
      // A table's rule opens a banner too, and the program goes on below the table.
      if (line.text.is_progress && block->second.state.kind == BlockKind::banner) return false;
      if (!append(&block->second, line, make)) close(block);
      return true;
    case BlockStep::take_and_close:
      append(&block->second, line, make);
      block->second.closed_well = true;
      close(block);
      return true;
    case BlockStep::close:
      close(block);
      return open(line, make);
  }
  return false;
}

bool BlockCollector::open(const StreamLine& line, const MakeEntry& make) {
  if (!line.text.is_candidate) return false;
  const auto state = opened_block(line.text);
  if (!state) return false;
  make_room();
  Block block;
  block.state = *state;
  block.entry = make();
  block.entry.message = std::string(line.text.text);
  block.lines = 1;
  block.last_offset = line.offset;
  bytes_ += block.entry.message.size();
  std::string key = key_of(line);
  if (!line.rank.empty() && line.text.has_stamp) unnamed_[std::string(line.writer)] = key;
  open_.insert_or_assign(std::move(key), std::move(block));
  return true;
}

bool BlockCollector::append(Block* block, const StreamLine& line, const MakeEntry& make) {
  block->last_offset = line.offset;
  if (block->state.kind == BlockKind::banner && line.text.is_candidate) {
    block->candidates.push_back(make());
  }
  if (line.text.text.empty()) {
    block->tail += '\n';
    return block->tail.size() < kMaxBlockLines;
  }
  std::string& message = block->entry.message;
  const std::size_t before = message.size();
  if (is_frame(line.text.text) && (before >= kMaxFrameBytes || block->lines >= kMaxFrameLines)) {
    return ++block->left_out < kMaxLeftOut;
  }
  message += std::exchange(block->tail, {});
  if (block->state.kind != BlockKind::partial) message += '\n';
  message += line.text.text;
  if (message.size() > kMaxLine) message.resize(kMaxLine);
  bytes_ += message.size() - before;
  return ++block->lines < kMaxBlockLines && message.size() < kMaxLine;
}

BlockCollector::Blocks::iterator BlockCollector::close(Blocks::iterator at) {
  Block& block = at->second;
  bytes_ -= std::min(bytes_, block.entry.message.size());
  if (block.state.kind == BlockKind::banner && !block.closed_well) {
    for (LogEntry& line : block.candidates) emit_(std::move(line));
  } else {
    emit_(std::move(block.entry));
  }
  for (auto name = unnamed_.begin(); name != unnamed_.end(); ++name) {
    if (name->second != at->first) continue;
    unnamed_.erase(name);
    break;
  }
  return open_.erase(at);
}

void BlockCollector::make_room() {
  while (bytes_ > kMaxOpenBytes || open_.size() >= kMaxOpen) {
    const auto oldest = std::min_element(
        open_.begin(), open_.end(),
        [](const auto& a, const auto& b) { return a.second.last_offset < b.second.last_offset; });
    if (oldest == open_.end()) return;
    close(oldest);
  }
}

void BlockCollector::expire(std::uint64_t offset) {
  for (auto block = open_.begin(); block != open_.end();) {
    const bool over = block->second.last_offset + kMaxSilence < offset;
    block = over ? close(block) : std::next(block);
  }
}

void BlockCollector::finish() {
  while (!open_.empty()) close(open_.begin());
}

}  // namespace nvab
