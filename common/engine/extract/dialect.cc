// SPDX-License-Identifier: Apache-2.0
// Puts the parts of a line's head together, and dates it with what is known of its stream.
#include "common/engine/extract/dialect.hh"

#include <cstdlib>

#include "common/engine/extract/head_parts.hh"

namespace nvab {
namespace {

// Prefixes of prefixes: srun's label, torchrun's, the program's own, a stamp, a rank again.
constexpr int kMaxLayers = 8;

void take_app_head(HeadReader* in, HeadOptions options) {
  bool at_start = true;
  bool stamped = false;
  for (int layer = 0; layer < kMaxLayers; ++layer) {
    if (take_launcher_prefix(in, at_start, options)) {
      stamped |= in->head.stamp != StampKind::none;
      continue;
    }
    if (stamped && !at_start) return;
    if (!take_app_stamp(in)) return;
    stamped = true;
    at_start = false;
  }
}

Duration distance(Time a, Time b) { return a < b ? b - a : a - b; }

// The year that puts a yearless stamp closest to the line before, or the stream's first.
std::optional<Time> resolve_year(Time nominal, const StreamInfo& stream,
                                 std::optional<Time> previous) {
  if (!previous) {
    if (!stream.year) return std::nullopt;
    return in_year(nominal, *stream.year);
  }
  const int around = year_of(*previous);
  std::optional<Time> best;
  for (int year = around - 1; year <= around + 1; ++year) {
    const auto time = in_year(nominal, year);
    if (time && (!best || distance(*time, *previous) < distance(*best, *previous))) best = time;
  }
  return best;
}

std::optional<Time> resolve_day(Duration clock, const StreamInfo& stream,
                                std::optional<Time> previous) {
  constexpr Duration kDay = std::chrono::hours(24);
  if (!previous) {
    if (!stream.day) return std::nullopt;
    return *stream.day + clock;
  }
  Time best = midnight(*previous) + clock;
  for (Time other : {best - kDay, best + kDay}) {
    if (distance(other, *previous) < distance(best, *previous)) best = other;
  }
  return best;
}

}  // namespace

LineHead parse_head(std::string_view line, Source source, HeadOptions options) {
  HeadReader in{line, {}};
  if (options.host_labels) take_host_label(&in);
  if (source == Source::syslog) {
    take_syslog_head(&in, options);
  } else if (source == Source::applog) {
    take_app_head(&in, options);
  }
  in.head.message = in.rest;
  return in.head;
}

Time resolve_received(const LineHead& head, Time received) {
  // A clock or a shipper that is further off says nothing about its lines' times.
  constexpr Duration kMaxApart = std::chrono::hours(24);
  // Zones, days and years are all made of these.
  constexpr Duration kQuarter = std::chrono::minutes(15);
  // By how much a node's clock may be ahead of the server's.
  constexpr Duration kAhead = std::chrono::minutes(1);
  if (head.stamp == StampKind::none || head.stamp == StampKind::uptime) return received;
  if (head.stamp == StampKind::zoned) {
    return distance(head.time, received) < kMaxApart ? head.time : received;
  }
  // Lines arrive after they were written, mostly at once.
  const Duration apart = received + kAhead - head.time;
  const Time nearest = head.time + kQuarter * (apart / kQuarter - (apart < Duration{0} ? 1 : 0));
  const bool is_date = head.stamp == StampKind::zoneless;
  return is_date && distance(head.time, received) >= kMaxApart ? received : nearest;
}

std::optional<Time> resolve(const LineHead& head, const StreamInfo& stream,
                            std::optional<Time> previous) {
  switch (head.stamp) {
    case StampKind::none:
      return std::nullopt;
    case StampKind::zoned:
      return head.time;
    case StampKind::zoneless:
      return head.time - stream.zone;
    case StampKind::yearless: {
      if (previous) *previous += stream.zone;
      const auto local = resolve_year(head.time, stream, previous);
      return local ? std::optional<Time>(*local - stream.zone) : std::nullopt;
    }
    case StampKind::time_of_day: {
      if (previous) *previous += stream.zone;
      const auto local = resolve_day(head.time.time_since_epoch(), stream, previous);
      return local ? std::optional<Time>(*local - stream.zone) : std::nullopt;
    }
    case StampKind::uptime:
      if (!stream.boot) return std::nullopt;
      return *stream.boot + head.time.time_since_epoch();
  }
  return std::nullopt;
}

std::optional<int> rank_of_repeated_traceback(std::string_view message) {
  constexpr std::string_view kOpening = "Traceback (most recent call last): (RANK ";
  constexpr std::size_t kDigits = 7;
  if (!message.starts_with(kOpening)) return std::nullopt;
  std::size_t length = 0;
  return leading_number(message.substr(kOpening.size()), kDigits, &length);
}

}  // namespace nvab
