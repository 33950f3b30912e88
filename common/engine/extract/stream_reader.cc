// SPDX-License-Identifier: Apache-2.0
// From bytes to entries. Most bytes are only searched for literals; lines are parsed where stage
// one, a sample or an open block wants them.
#include "common/engine/extract/stream_reader.hh"

#include <algorithm>
#include <deque>
#include <optional>
#include <string>
#include <utility>

#include "common/base/text.hh"
#include "common/engine/extract/block_collector.hh"
#include "common/engine/extract/journal_export.hh"
#include "common/engine/extract/line_scan.hh"
#include "common/engine/extract/stream_clock.hh"

namespace nvab {
namespace {

// Bytes kept of what was read: the sampled tail, and what lines look back at.
constexpr std::size_t kHistory = kSampledTail + 2 * kMaxLine;
// Lines that are tried at a place where a stamp is wanted.
constexpr int kStampTries = 8;
// Of a line, when only its stamp is wanted.
constexpr std::size_t kHeadBytes = 400;

bool is_sampled(std::uint64_t offset) {
  if (offset < kSampledHead) return true;
  const std::uint64_t stride = offset < kNarrowPart ? kNarrowStride : kWideStride;
  return offset % stride >= stride - kSampledLines;
}

// The first offset at or behind `offset` that is sampled.
std::uint64_t next_sampled(std::uint64_t offset) {
  if (is_sampled(offset)) return offset;
  const std::uint64_t stride = offset < kNarrowPart ? kNarrowStride : kWideStride;
  return (offset / stride + 1) * stride - kSampledLines;
}

// glog writes "file.cc:12] text"; blocks want the text.
std::string_view without_source(std::string_view message, const LineHead& head) {
  if (head.severity.empty() || head.stamp != StampKind::yearless) return message;
  const std::size_t close = message.find("] ");
  const std::size_t space = message.find(' ');
  constexpr std::size_t kLongest = 160;
  if (close == std::string_view::npos || close > kLongest || space < close) return message;
  return message.substr(close + 2);
}

void append_number(std::string* out, char name, std::optional<int> number) {
  if (!number) return;
  *out += name;
  *out += std::to_string(*number);
}

}  // namespace

struct StreamReader::Impl {
  Impl(const Ruleset& ruleset, StreamInfo info, Sink to, bool all)
      : rules(ruleset),
        stream(std::move(info)),
        sink(std::move(to)),
        select_all(all),
        clock(stream),
        blocks([this](LogEntry&& entry) { emit_block(std::move(entry)); }) {
    if (stream.is_journal_export) journal.emplace(stream.source);
  }

  // A line that is being handled.
  struct Line {
    std::uint64_t offset = 0, number = 0;
    LineHead head;
    BlockText text;
    std::optional<Time> time;  // of its own stamp
    std::string writer, rank;
  };

  const Ruleset& rules;
  const StreamInfo stream;
  Sink sink;
  const bool select_all;
  StreamClock clock;
  BlockCollector blocks;
  std::optional<JournalExport> journal;

  std::string carry;               // the line that is not complete yet, its first kMaxLine bytes
  std::uint64_t carry_length = 0;  // all of it
  std::string history;             // the last bytes read, whole lines, up to `offset`
  std::uint64_t offset = 0;        // of the next byte
  std::uint64_t newlines = 0;      // before `offset`
  std::uint64_t next_stamp = 0;    // where a stamp is wanted
  int stamp_tries = 0;
  std::uint64_t next_expiry = 0;
  TextWindow window;        // while a piece is being read
  std::size_t counted = 0;  // of the piece: newlines counted so far
  std::uint64_t counted_lines = 0;
  std::size_t replaced = 0;
  std::uint64_t skipped = 0;
  std::string long_line;  // the last overlong one, its beginning
  std::string storage;    // of the line's parsed text
  // Of lines that a server dated: when those from an offset on were received, and what is known of
  // all of them.
  struct Receipt {
    std::uint64_t offset = 0;
    Time time{};
  };
  std::deque<Receipt> receipts;  // those of `history` and of what is being read
  std::optional<Time> first_received, last_received, gap_start, gap_end;

  void receive(Time when);
  std::optional<Time> received_at(std::uint64_t at) const;
  void feed(std::string_view bytes);
  std::size_t feed_carry(std::string_view bytes);
  void end_carry(char end);
  void read_chunk(std::string_view bytes);
  void read_piece(std::string_view piece);
  void read_long_line(std::string_view front, std::uint64_t length, char end);
  std::size_t step(std::string_view piece, std::size_t at);
  void keep(std::string_view piece);
  void want_stamp(std::string_view piece, std::size_t at);
  void handle(std::string_view piece, std::size_t begin, std::size_t end, bool known_candidate);
  bool is_second_half(std::string_view piece, std::size_t begin) const;
  Line parse(std::string_view raw, std::uint64_t at);
  std::uint64_t number_of(std::string_view piece, std::size_t begin);
  LogEntry entry_of(const Line& line);
  void emit_block(LogEntry&& entry);
  void sink_shadow(LogEntry&& entry);
  void read_tail();
  std::string last_line() const;
  StreamCoverage finish();
};

void StreamReader::Impl::feed(std::string_view bytes) {
  if (carry_length > 0) {
    bytes.remove_prefix(feed_carry(bytes));
    if (carry_length > 0) return;
  }
  const std::size_t complete = complete_length(bytes);
  read_chunk(bytes.substr(0, complete));
  carry = std::string(bytes.substr(complete, kMaxLine));
  carry_length = bytes.size() - complete;
}

// Goes on with the incomplete line; how many of the bytes belong to it.
std::size_t StreamReader::Impl::feed_carry(std::string_view bytes) {
  const std::size_t end = line_end(bytes, 0);
  carry += bytes.substr(0, std::min(end, kMaxLine - carry.size()));
  carry_length += end;
  if (end == bytes.size()) return end;
  end_carry(bytes[end]);
  return end + 1;
}

void StreamReader::Impl::end_carry(char end) {
  std::string line = std::exchange(carry, {});
  const std::uint64_t length = std::exchange(carry_length, 0);
  if (length > kMaxLine) return read_long_line(line, length, end);
  line += end;
  read_piece(line);
}

// Whole lines, of which few are overlong. Such a line holds one of these probes.
void StreamReader::Impl::read_chunk(std::string_view bytes) {
  std::size_t begin = 0;
  for (std::size_t probe = 0; probe < bytes.size(); probe += kMaxLine / 2) {
    if (probe < begin) continue;
    const std::size_t first = line_begin(bytes, probe);
    const std::size_t end = line_end(bytes, probe);
    if (end - first <= kMaxLine) continue;
    read_piece(bytes.substr(begin, first - begin));
    read_long_line(bytes.substr(first, kMaxLine), end - first, bytes[end]);
    begin = end + 1;
  }
  read_piece(bytes.substr(begin));
}

// The front of a line of `length` bytes that `end` ends. What is read next cannot look back past
// it: its rest may never have been in memory.
void StreamReader::Impl::read_long_line(std::string_view front, std::uint64_t length, char end) {
  const std::uint64_t next = offset + length + 1;
  read_piece(front);
  history.clear();
  long_line = std::string(front.substr(0, kMaxLastLine));
  offset = next;
  newlines += end == '\n' ? 1 : 0;
  skipped += length - front.size();
}

void StreamReader::Impl::read_piece(std::string_view piece) {
  if (piece.empty()) return;
  window = {history, piece, offset};
  counted = 0;
  counted_lines = 0;
  for (std::size_t at = 0; at < piece.size();) at = step(piece, at);
  newlines += counted_lines + count_newlines(piece.substr(counted));
  offset += piece.size();
  keep(piece);
  window = {};
}

// Deals with what comes first from the line at `at` on; where to go on.
std::size_t StreamReader::Impl::step(std::string_view piece, std::size_t at) {
  const std::uint64_t place = offset + at;
  if (place >= next_stamp && receipts.empty()) want_stamp(piece, at);
  if (blocks.any_open() && place >= next_expiry) {
    blocks.expire(place);
    next_expiry = (place / kLookBack + 1) * kLookBack;
  }
  if (select_all || blocks.any_open() || is_sampled(place)) {
    const std::size_t end = line_end(piece, at);
    handle(piece, at, end, false);
    return end + 1;
  }
  std::size_t limit = piece.size();
  std::uint64_t stop = next_sampled(place) - offset;
  if (receipts.empty()) stop = std::min(stop, next_stamp - offset);
  if (stop < limit) limit = std::min(limit, line_end(piece, stop - 1) + 1);
  const std::size_t found = rules.next_candidate(piece.substr(0, limit), at);
  if (found == Ruleset::npos) return limit;
  const std::size_t end = line_end(piece, found);
  handle(piece, line_begin(piece, found), end, true);
  return end + 1;
}

void StreamReader::Impl::want_stamp(std::string_view piece, std::size_t at) {
  const std::uint64_t place = offset + at;
  const std::size_t end = line_end(piece, at);
  const LineHead head =
      read_head(piece.substr(at, std::min(end - at, kHeadBytes)), stream, &storage, nullptr);
  const bool found = clock.note(head, place, window).has_value();
  const bool again = !found && ++stamp_tries < kStampTries;
  next_stamp = again ? place + 1 : (place / kStampStride + 1) * kStampStride;
  if (!again) stamp_tries = 0;
}

void StreamReader::Impl::handle(std::string_view piece, std::size_t begin, std::size_t end,
                                bool known_candidate) {
  const std::string_view raw = piece.substr(begin, end - begin);
  if (raw.empty() && !blocks.any_open() && !select_all) return;
  if (raw.empty() && is_second_half(piece, begin)) return;
  const bool candidate = (known_candidate && !rules.has_shadow()) || rules.is_candidate(raw);
  Line line = parse(raw, offset + begin);
  line.number = number_of(piece, begin);
  line.text.is_candidate = candidate;
  line.text.is_progress =
      !candidate && blocks.any_open() && is_sampled(line.offset) && rules.may_be_progress(raw);
  if (candidate || blocks.any_open()) {
    const StreamLine part{line.writer, line.rank, line.text, line.offset};
    if (blocks.take(part, [&] { return entry_of(line); })) return;
  }
  const bool wanted = select_all ||
                      (candidate && (rules.may_match(raw) || rules.may_match(line.head.message))) ||
                      (is_sampled(line.offset) && rules.may_be_progress(raw));
  if (wanted) {
    sink(entry_of(line));
  } else if (rules.has_shadow() &&
             (rules.may_match_shadow(raw) || rules.may_match_shadow(line.head.message))) {
    sink_shadow(entry_of(line));
  }
}

void StreamReader::Impl::sink_shadow(LogEntry&& entry) {
  entry.only_shadow = true;
  sink(std::move(entry));
}

// The '\n' of "\r\n" ends no line of its own.
bool StreamReader::Impl::is_second_half(std::string_view piece, std::size_t begin) const {
  if (begin >= piece.size() || piece[begin] != '\n') return false;
  const std::string_view before = begin > 0 ? piece.substr(0, begin) : window.before;
  return !before.empty() && before.back() == '\r';
}

StreamReader::Impl::Line StreamReader::Impl::parse(std::string_view raw, std::uint64_t at) {
  Line line;
  line.offset = at;
  line.head = read_head(raw, stream, &storage, &replaced);
  const auto received = received_at(at);
  line.time = received ? resolve_received(line.head, *received) : clock.note(line.head, at, window);
  const LineHead& head = line.head;
  line.text.text = without_source(head.message, head);
  line.text.has_stamp = head.stamp != StampKind::none;
  line.text.is_kernel = head.is_kernel;
  line.text.is_partial = head.is_partial;
  line.text.is_labelled = head.task || head.rank || head.local_rank;
  append_number(&line.writer, 't', head.task);
  append_number(&line.writer, 'l', head.local_rank);
  line.writer += head.node;
  append_number(&line.writer, 'p', head.pid);
  line.writer += head.container_stream;
  if (stream.source == Source::syslog)
    line.writer = std::string(head.node) + ' ' + std::string(head.app);
  append_number(&line.rank, 'r', head.rank);
  return line;
}

std::uint64_t StreamReader::Impl::number_of(std::string_view piece, std::size_t begin) {
  counted_lines += count_newlines(piece.substr(counted, begin - counted));
  counted = begin;
  return newlines + counted_lines + 1;
}

LogEntry StreamReader::Impl::entry_of(const Line& line) {
  const LineHead& head = line.head;
  LogEntry entry;
  entry.timestamp = line.time;
  const bool is_uptime = head.stamp == StampKind::uptime && receipts.empty();
  entry.time_quality = is_uptime ? TimeQuality::uptime : TimeQuality::exact;
  if (!line.time) {
    entry.timestamp = clock.inherited(line.offset, window);
    entry.time_quality = entry.timestamp ? TimeQuality::inherited : TimeQuality::none;
  }
  entry.node = head.node.empty() ? stream.node : std::string(head.node);
  entry.rank = head.rank ? head.rank : stream.rank;
  entry.task = head.task ? head.task : stream.task;
  entry.local_rank = head.local_rank ? head.local_rank : stream.local_rank;
  entry.app = head.app.empty() ? stream.app : std::string(head.app);
  entry.pid = head.pid;
  entry.severity = std::string(head.severity);
  entry.trust = stream.trust;
  entry.origin = {stream.name, line.number, line.offset};
  if (const auto failed = rank_of_repeated_traceback(head.message)) entry.rank = failed;
  entry.message = std::string(head.message);
  return entry;
}

void StreamReader::Impl::emit_block(LogEntry&& entry) {
  if (select_all || rules.may_match(entry.message)) {
    sink(std::move(entry));
  } else if (rules.has_shadow() && rules.may_match_shadow(entry.message)) {
    sink_shadow(std::move(entry));
  }
}

// Keeps the last kHistory bytes, from the beginning of a line.
void StreamReader::Impl::keep(std::string_view piece) {
  if (piece.size() >= kHistory) {
    const std::size_t cut = line_end(piece, piece.size() - kHistory) + 1;
    history.assign(piece.substr(std::min(cut, piece.size())));
    return;
  }
  history += piece;
  if (history.size() < 2 * kHistory) return;
  history.erase(0, line_end(history, history.size() - kHistory) + 1);
  const std::uint64_t kept = offset - history.size();
  while (receipts.size() > 1 && receipts[1].offset <= kept) receipts.pop_front();
}

void StreamReader::Impl::receive(Time when) {
  if (!first_received) first_received = when;
  const Duration known = gap_start ? *gap_end - *gap_start : kShortestGap;
  if (last_received && when - *last_received > known) {
    gap_start = last_received;
    gap_end = when;
  }
  last_received = std::max(when, last_received.value_or(when));
  if (receipts.empty() || receipts.back().time != when) receipts.push_back({offset, when});
}

std::optional<Time> StreamReader::Impl::received_at(std::uint64_t at) const {
  const auto behind = std::upper_bound(
      receipts.begin(), receipts.end(), at,
      [](std::uint64_t place, const Receipt& receipt) { return place < receipt.offset; });
  if (behind == receipts.begin()) return std::nullopt;
  return std::prev(behind)->time;
}

// The last stamp, for the silence before it, and progress near the end.
void StreamReader::Impl::read_tail() {
  window = {history, {}, offset};
  std::uint64_t at = offset;
  std::string_view raw;
  while (receipts.empty() && window.line_before(&at, &raw) && offset - at <= kSampledTail) {
    const LineHead head = read_head(raw.substr(0, kHeadBytes), stream, &storage, nullptr);
    if (head.stamp == StampKind::none) continue;
    clock.note(head, at, window);
    break;
  }
  if (select_all) return;
  at = offset - std::min<std::uint64_t>(offset, kSampledTail);
  std::uint64_t number_at = window.begin();
  std::uint64_t number = newlines - count_newlines(history) + 1;
  for (; window.line_at(&at, &raw); at += raw.size() + 1) {
    if (is_sampled(at) || !rules.may_be_progress(raw) || rules.may_match(raw)) continue;
    number += count_newlines(window.before.substr(number_at - window.begin(), at - number_at));
    number_at = at;
    Line line = parse(raw, at);
    line.number = number;
    sink(entry_of(line));
  }
}

std::string StreamReader::Impl::last_line() const {
  const TextWindow all{history, {}, offset};
  std::uint64_t at = offset;
  std::string_view raw;
  while (all.line_before(&at, &raw)) {
    const std::string clean = sanitize(raw.substr(0, 2 * kMaxLastLine));
    if (!trim(clean).empty()) return excerpt(trim(clean), kMaxLastLine);
  }
  return excerpt(sanitize(long_line), kMaxLastLine);
}

StreamCoverage StreamReader::Impl::finish() {
  if (carry_length > 0) end_carry('\n');
  blocks.finish();
  read_tail();
  StreamCoverage coverage;
  coverage.stream = stream.name;
  coverage.node = stream.node;
  coverage.rank = stream.rank;
  coverage.task = stream.task;
  coverage.first = clock.first();
  coverage.last = clock.last();
  coverage.gap_start = clock.gap_start();
  coverage.gap_end = clock.gap_end();
  if (first_received) {
    coverage.first = first_received;
    coverage.last = last_received;
    coverage.gap_start = gap_start;
    coverage.gap_end = gap_end;
  }
  coverage.lines = newlines;
  coverage.last_line = last_line();
  return coverage;
}

StreamReader::StreamReader(const Ruleset& rules, StreamInfo stream, Sink sink, bool select_all)
    : impl_(std::make_unique<Impl>(rules, std::move(stream), std::move(sink), select_all)) {}
StreamReader::~StreamReader() = default;
void StreamReader::feed(std::string_view bytes) {
  impl_->feed(impl_->journal ? impl_->journal->feed(bytes) : bytes);
}
void StreamReader::feed(std::string_view lines, Time received) {
  impl_->receive(received);
  impl_->feed(lines);
}
StreamCoverage StreamReader::finish() {
  if (impl_->journal) impl_->feed(impl_->journal->finish());
  return impl_->finish();
}
std::uint64_t StreamReader::bytes_replaced() const { return impl_->replaced; }
std::uint64_t StreamReader::bytes_skipped() const { return impl_->skipped; }

}  // namespace nvab
