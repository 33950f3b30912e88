// SPDX-License-Identifier: Apache-2.0
// Bounded groups of like events.
#include "common/engine/event_store.hh"

#include <algorithm>
#include <functional>

namespace nvab {
namespace {

// Line and offset of a stream grow together; without a strong mix their combinations collide.
// (The finalizer of SplitMix64.)
std::uint64_t mix(std::uint64_t seed, std::uint64_t value) {
  std::uint64_t x = seed + 0x9e3779b97f4a7c15ULL + value * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}
std::uint64_t hash(std::string_view text) { return std::hash<std::string_view>{}(text); }

// The same line delivered twice has the same identity; two equal lines of one stream do not.
std::uint64_t identity(const Event& e) {
  std::uint64_t id = mix(hash(e.rule->id), static_cast<std::uint64_t>(e.source));
  if (!e.origin.stream.empty() && (e.origin.line > 0 || e.origin.offset > 0)) {
    id = mix(id, hash(e.origin.stream));
    return mix(mix(id, e.origin.line), e.origin.offset);
  }
  id = mix(mix(id, hash(e.origin.stream)), hash(e.text));
  id = mix(id, hash(e.place.observer));
  return mix(id, e.time ? static_cast<std::uint64_t>(e.time->time_since_epoch().count()) : 0);
}

void append(std::string* key, std::string_view part) {
  key->append(part);
  key->push_back('\x1f');
}
void append(std::string* key, std::optional<int> part) {
  append(key, part ? std::to_string(*part) : std::string());
}

std::string group_key(const Event& e) {
  std::string key;
  append(&key, e.rule->id);
  append(&key, to_string(e.source));
  append(&key, e.origin.stream);
  append(&key, e.place.node);
  append(&key, e.place.observer);
  append(&key, e.place.rank);
  append(&key, e.place.task);
  append(&key, e.place.gpu);
  append(&key, e.place.pci);
  append(&key, e.place.mig);
  append(&key, e.place.nic);
  for (const std::string& peer : e.place.peers) append(&key, peer);
  for (const std::string_view name : {"job", "gpc", "tpc", "sm", "exit", "signal"}) {
    append(&key, e.capture(name));
  }
  // Who is where: each line may say something new.
  if (e.rule->role == Role::placement) append(&key, e.text);
  return key;
}

void insert_sorted(std::vector<Event>* events, Event event) {
  const auto at = std::upper_bound(events->begin(), events->end(), event, event_less);
  events->insert(at, std::move(event));
}

}  // namespace

bool EventStore::add(Event event) {
  const std::uint64_t id = identity(event);
  if (!seen_.insert(id).second) return false;
  std::string key = group_key(event);
  auto found = groups_.find(key);
  if (found == groups_.end()) {
    if (groups_.size() >= kMaxGroups) {
      ++dropped_;
      return true;
    }
    found = groups_.emplace(std::move(key), Group{}).first;
  }
  Group& group = found->second;
  ++group.count;
  if (event.rule->role == Role::progress) {
    group.sampled.emplace(id, event);
    if (group.sampled.size() > kKeepSampled) group.sampled.erase(std::prev(group.sampled.end()));
  }
  insert_sorted(&group.earliest, std::move(event));
  if (group.earliest.size() <= kKeepEarliest) return true;
  insert_sorted(&group.latest, std::move(group.earliest.back()));
  group.earliest.pop_back();
  if (group.latest.size() > kKeepLatest) group.latest.erase(group.latest.begin());
  return true;
}

std::vector<Event> EventStore::events() const {
  std::vector<Event> all;
  for (const auto& [key, group] : groups_) {
    const std::size_t first = all.size();
    all.insert(all.end(), group.earliest.begin(), group.earliest.end());
    all.insert(all.end(), group.latest.begin(), group.latest.end());
    for (const auto& [hash, sampled] : group.sampled) {
      const Event& event = sampled;  // a lambda of clang 14 cannot take a binding
      const auto same = [&](const Event& kept) {
        return kept.origin == event.origin && kept.text == event.text;
      };
      const auto begin = all.begin() + static_cast<long>(first);
      if (std::none_of(begin, all.end(), same)) all.push_back(event);
    }
    all[first].count = group.count - static_cast<std::uint32_t>(all.size() - first - 1);
    all[first].last_time =
        group.latest.empty() ? group.earliest.back().time : group.latest.back().time;
  }
  std::sort(all.begin(), all.end(), event_less);
  return all;
}

}  // namespace nvab
