// SPDX-License-Identifier: Apache-2.0
// Stamps over a stream, at the price of a few parsed lines for each 64 KiB.
#include "common/engine/extract/stream_clock.hh"

#include <algorithm>

#include "common/base/text.hh"

namespace nvab {
namespace {

constexpr int kMaxDepth = 24;
// Lines without a stamp that are looked at behind a place.
constexpr int kMaxUnstamped = 16;
// Of a raw line's front; heads are shorter.
constexpr std::size_t kMaxHead = 400;

// A number in JSON for a time is exact; what remains is as in any other line.
LineHead head_of_json(JsonLine json, const StreamInfo& stream, std::string* storage) {
  std::string fields = json.node + '\n' + json.app + '\n' + json.severity + '\n';
  const std::size_t node = json.node.size(), app = json.app.size(), severity = json.severity.size();
  *storage = std::move(fields) + json.message;
  const std::string_view all = *storage;
  HeadOptions options = stream.head;
  LineHead head = parse_head(all.substr(node + app + severity + 3), stream.source, options);
  if (node > 0) head.node = all.substr(0, node);
  if (app > 0) head.app = all.substr(node + 1, app);
  if (severity > 0) head.severity = all.substr(node + app + 2, severity);
  if (json.rank) head.rank = json.rank;
  if (json.pid) head.pid = json.pid;
  head.is_kernel |= json.is_kernel;
  if (json.time) {
    head.stamp = StampKind::zoned;
    head.time = *json.time;
  }
  return head;
}

// rsyslog writes a line break inside a message as "#012", and a tab as "#011".
std::string without_escapes(std::string text) {
  if (text.find("#012") == std::string::npos) return text;
  const auto replace = [&](std::string_view escape, char c) {
    for (std::size_t at = 0; (at = text.find(escape, at)) != std::string::npos; ++at) {
      text.replace(at, escape.size(), 1, c);
    }
  };
  replace("#012", '\n');
  replace("#011", '\t');
  return text;
}

}  // namespace

LineHead read_head(std::string_view raw, const StreamInfo& stream, std::string* storage,
                   std::size_t* replaced) {
  *storage = sanitize(raw, replaced);
  if (storage->starts_with('{')) {
    if (auto json = unwrap_json(*storage)) return head_of_json(std::move(*json), stream, storage);
  }
  if (stream.source == Source::syslog) *storage = without_escapes(std::move(*storage));
  const LineHead head = parse_head(*storage, stream.source, stream.head);
  if (head.container_stream.empty() || !head.message.starts_with('{')) return head;
  // A container's line, of a program that writes JSON.
  auto json = unwrap_json(head.message);
  if (!json) return head;
  if (!json->time) json->time = head.time;
  return head_of_json(std::move(*json), stream, storage);
}

std::optional<Time> StreamClock::note(const LineHead& head, std::uint64_t offset,
                                      const TextWindow& window) {
  if (head.stamp == StampKind::none) return std::nullopt;
  const auto time = resolve(head, stream_, last());
  if (!time) return std::nullopt;
  if (last_ && offset <= last_->offset) return time;
  const Mark mark{offset, *time};
  if (!first_) first_ = time;
  if (last_ && last_->offset >= window.begin()) search_gap(*last_, mark, 0, window);
  last_ = mark;
  return time;
}

std::optional<StreamClock::Mark> StreamClock::stamped_line(std::uint64_t from, std::uint64_t to,
                                                           Time previous,
                                                           const TextWindow& window) const {
  std::string storage;
  for (int i = 0; i < kMaxUnstamped && from < to; ++i) {
    std::string_view line;
    if (!window.line_at(&from, &line) || from >= to) return std::nullopt;
    const LineHead head = read_head(line.substr(0, kMaxHead), stream_, &storage, nullptr);
    if (head.stamp != StampKind::none) {
      if (const auto time = resolve(head, stream_, previous)) return Mark{from, *time};
    }
    from += line.size() + 1;
  }
  return std::nullopt;
}

// Silence between two stamped lines is at most their distance; it is looked for in the half that
// could hold more than what is known already.
void StreamClock::search_gap(Mark low, Mark high, int depth, const TextWindow& window) {
  const Duration apart = high.time - low.time;
  const Duration known = gap_start_ ? *gap_end_ - *gap_start_ : kShortestGap;
  if (apart <= known) return;
  if (depth < kMaxDepth) {
    const std::uint64_t middle = low.offset + (high.offset - low.offset) / 2;
    auto mark = stamped_line(middle, high.offset, low.time, window);
    if (!mark) mark = stamped_line(low.offset + 1, high.offset, low.time, window);
    if (mark && mark->offset > low.offset && mark->offset < high.offset) {
      search_gap(low, *mark, depth + 1, window);
      search_gap(*mark, high, depth + 1, window);
      return;
    }
  }
  gap_start_ = low.time;
  gap_end_ = high.time;
}

std::optional<Time> StreamClock::inherited(std::uint64_t offset, const TextWindow& window) {
  std::string storage;
  std::uint64_t at = offset;
  std::string_view line;
  while (window.line_before(&at, &line) && offset - at <= kLookBack) {
    if (last_ && last_->offset == at) return last_->time;
    if (at >= blank_begin_ && at < blank_end_) {
      at = blank_begin_;
      continue;
    }
    const LineHead head = read_head(line.substr(0, kMaxHead), stream_, &storage, nullptr);
    if (head.stamp == StampKind::none) continue;
    if (const auto time = resolve(head, stream_, last())) return time;
  }
  blank_begin_ = std::min(at, offset);
  blank_end_ = offset;
  return last();
}

}  // namespace nvab
