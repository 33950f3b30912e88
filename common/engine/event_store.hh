// SPDX-License-Identifier: Apache-2.0
// The events kept of everything ingested: bounded a kind and place, whatever the logs' size, and
// the same whatever the order of arrival.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_set>
#include <vector>

#include "common/engine/event.hh"

namespace nvab {

// Of like events (same rule, place and stream) the earliest and the latest are kept and the rest
// counted: the first says when it began, the last whether the job recovered from it, a few between
// whether a unit failed again and again.
inline constexpr std::size_t kKeepEarliest = 4;
inline constexpr std::size_t kKeepLatest = 2;
// Of progress, a sample over the whole run in addition: the pace at the end is compared with that
// at the beginning. Chosen by a hash of each line's identity, so that the order of arrival cannot
// matter.
inline constexpr std::size_t kKeepSampled = 24;
// Distinct groups kept; past it new groups are only counted. 80,000 ranks with a few kinds each
// fit.
inline constexpr std::size_t kMaxGroups = 600'000;

class EventStore {
 public:
  // Takes an event; false when its entry (stream and offset, or content) was already taken by the
  // same rule.
  bool add(Event event);
  // All kept events in event_less order, folded counts on the first of each group.
  std::vector<Event> events() const;
  std::uint64_t dropped() const { return dropped_; }
  std::size_t size() const { return groups_.size(); }

 private:
  struct Group {
    std::vector<Event> earliest, latest;     // both sorted by event_less
    std::map<std::uint64_t, Event> sampled;  // by hash, the smallest; progress only
    std::uint32_t count = 0;
  };
  std::map<std::string, Group> groups_;
  std::unordered_set<std::uint64_t> seen_;
  std::uint64_t dropped_ = 0;
};

}  // namespace nvab
