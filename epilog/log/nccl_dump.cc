// SPDX-License-Identifier: Apache-2.0
// What PyTorch 2.4 to 2.9 write: `pg_config` names the process groups, `pg_status` counts by the
// group's number in that process, and only the entries tie the two together.
#include "epilog/log/nccl_dump.hh"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "common/base/hostlist.hh"
#include "common/base/text.hh"
#include "epilog/log/pickle.hh"

namespace nvab {
namespace {

// More ranks than any job has, in one group.
constexpr std::size_t kMaxGroupRanks = 200'000;
constexpr std::size_t kMaxSizes = 64;

std::optional<Time> time_of(const Json& nanoseconds) {
  const auto value = nanoseconds.as_int();
  if (!value || *value <= 0) return std::nullopt;
  return Time(Duration(*value / 1000));
}

std::string text_of(const Json& value) {
  if (auto text = value.as_string()) return *text;
  if (auto number = value.as_int()) return std::to_string(*number);
  return {};
}

// "[0, 1, 2]" as PyTorch writes it, or a list of numbers.
std::vector<int> ranks_of(const Json& value) {
  std::vector<int> ranks;
  const auto add = [&](std::optional<long long> rank) {
    if (rank && *rank >= 0 && *rank <= std::numeric_limits<int>::max() &&
        ranks.size() < kMaxGroupRanks) {
      ranks.push_back(static_cast<int>(*rank));
    }
  };
  if (value.is_array()) {
    for (const Json& rank : value.elements()) add(rank.as_int());
  } else if (const auto text = value.as_string()) {
    std::string_view list = trim(*text);
    if (list.starts_with('[')) list.remove_prefix(1);
    if (list.ends_with(']')) list.remove_suffix(1);
    for (const std::string_view rank : split(list, ',')) add(parse_int(trim(rank)));
  }
  return ranks;
}

std::vector<FlightDump::Group> groups_of(const Json& config) {
  std::vector<FlightDump::Group> groups;
  config.each([&](std::string_view key, const Json& value) {
    FlightDump::Group group;
    group.id = value.has("name") ? text_of(value.get("name")) : std::string(key);
    group.description = text_of(value.get("desc"));
    group.ranks = ranks_of(value.get("ranks"));
    groups.push_back(std::move(group));
  });
  std::sort(groups.begin(), groups.end(),
            [](const auto& a, const auto& b) { return host_less(a.id, b.id); });
  return groups;
}

CollectiveRecord record_of(const Json& entry) {
  CollectiveRecord record;
  const Json group = entry.get("process_group");
  record.process_group = text_of(group.at(0));
  record.description = text_of(group.at(1));
  record.op = text_of(entry.get("profiling_name"));
  record.state = text_of(entry.get("state"));
  record.is_p2p = entry.get("is_p2p").as_bool().value_or(false);
  const auto sequence =
      entry.get(record.is_p2p ? "p2p_seq_id" : "collective_seq_id").as_int().value_or(0);
  record.sequence = sequence < 0 ? 0 : static_cast<std::uint64_t>(sequence);
  for (const Json& sizes : entry.get("input_sizes").elements()) {
    for (const Json& size : sizes.elements()) {
      const auto value = size.as_int();
      if (value && *value >= 0 && record.sizes.size() < kMaxSizes) {
        record.sizes.push_back(static_cast<std::uint64_t>(*value));
      }
    }
  }
  record.dtype = text_of(entry.get("input_dtypes").at(0));
  record.created = time_of(entry.get("time_created_ns"));
  record.started = time_of(entry.get("time_discovered_started_ns"));
  record.completed = time_of(entry.get("time_discovered_completed_ns"));
  return record;
}

// Which group a process means by its number: what the entries say; where a process knows as many
// groups as the configuration has, numbers and names stand in the same order (both are given in
// the order of creation), unless an entry contradicts.
std::map<std::string, std::string> names_by_number(const std::vector<FlightDump::Group>& groups,
                                                   const Json& status, const Json& entries) {
  std::map<std::string, std::string> said;
  const std::size_t count = entries.size();
  for (std::size_t i = 0; i < count; ++i) {
    const Json entry = entries.at(i);
    const std::string name = text_of(entry.get("process_group").at(0));
    if (!name.empty()) said[text_of(entry.get("pg_id"))] = name;
  }
  if (status.size() != groups.size()) return said;
  std::vector<std::string> numbers;
  status.each([&](std::string_view key, const Json&) { numbers.emplace_back(key); });
  std::sort(numbers.begin(), numbers.end(), host_less);
  std::map<std::string, std::string> paired;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const auto found = said.find(numbers[i]);
    if (found != said.end() && found->second != groups[i].id) return said;
    paired[numbers[i]] = groups[i].id;
  }
  return paired;
}

void add_status(const Json& status, const std::map<std::string, std::string>& names,
                std::vector<FlightDump::Group>* groups) {
  std::map<std::string_view, FlightDump::Group*> by_name;
  for (FlightDump::Group& group : *groups) by_name[group.id] = &group;
  status.each([&](std::string_view key, const Json& value) {
    const auto name = names.find(std::string(key));
    if (name == names.end()) return;
    const auto found = by_name.find(name->second);
    if (found == by_name.end()) return;
    FlightDump::Group& group = *found->second;
    group.last_enqueued = value.get("last_enqueued_collective").as_int().value_or(-1);
    group.last_started = value.get("last_started_collective").as_int().value_or(-1);
    group.last_completed = value.get("last_completed_collective").as_int().value_or(-1);
  });
}

Result<Json> parse_either(std::string_view bytes) {
  if (bytes.starts_with('\x80')) return parse_pickle(bytes);
  const std::string_view text = trim(bytes.substr(0, 64));
  if (text.starts_with('{')) return Json::parse(bytes);
  return fail(Error::Code::unsupported, "neither a pickle nor a JSON object");
}

Json entry_to_json(const CollectiveRecord& record, std::size_t number) {
  const auto nanoseconds = [](const std::optional<Time>& time) {
    return time ? Json::of(static_cast<std::int64_t>(time->time_since_epoch().count()) * 1000)
                : Json();
  };
  Json entry = Json::object();
  entry.set("pg_id", Json::of(static_cast<std::int64_t>(number)));
  Json group = Json::array();
  group.push(Json::of(record.process_group)).push(Json::of(record.description));
  entry.set("process_group", std::move(group));
  entry.set(record.is_p2p ? "p2p_seq_id" : "collective_seq_id",
            Json::of(static_cast<std::int64_t>(record.sequence)));
  entry.set("profiling_name", Json::of(record.op));
  Json sizes = Json::array();
  for (const std::uint64_t size : record.sizes)
    sizes.push(Json::of(static_cast<std::int64_t>(size)));
  entry.set("input_sizes", Json::array().push(std::move(sizes)));
  entry.set("input_dtypes", Json::array().push(Json::of(record.dtype)));
  entry.set("time_created_ns", nanoseconds(record.created));
  entry.set("time_discovered_started_ns", nanoseconds(record.started));
  entry.set("time_discovered_completed_ns", nanoseconds(record.completed));
  entry.set("state", Json::of(record.state));
  entry.set("is_p2p", Json::of(record.is_p2p));
  return entry;
}

}  // namespace

std::optional<int> rank_of_dump(std::string_view file_name) {
  std::string_view stem = file_name.substr(file_name.rfind('/') + 1);
  for (const std::string_view ending : {".json", ".pkl", ".pickle"}) {
    if (stem.ends_with(ending)) {
      stem.remove_suffix(ending.size());
      break;
    }
  }
  const std::size_t underscore = stem.rfind('_');
  if (underscore == std::string_view::npos) return std::nullopt;
  const std::string_view digits = stem.substr(underscore + 1);
  if (digits.empty() || digits.find_first_not_of("0123456789") != std::string_view::npos) {
    return std::nullopt;
  }
  const auto rank = parse_int(digits);
  if (!rank || *rank > std::numeric_limits<int>::max()) return std::nullopt;
  return static_cast<int>(*rank);
}

Result<FlightDump> parse_nccl_dump(std::string_view file_name, std::string_view bytes) {
  auto root = parse_either(bytes);
  if (!root) return fail("reading the NCCL dump " + std::string(file_name), root.error());
  if (!root->is_object() || !(root->has("pg_config") || root->has("entries"))) {
    return fail(Error::Code::malformed, fmt::format("reading the NCCL dump {}: it has neither "
                                                    "pg_config nor entries",
                                                    file_name));
  }
  FlightDump dump;
  // A saved bundle keeps the name under which it was collected.
  dump.stream = root->get("stream").as_string().value_or(std::string(file_name));
  dump.rank = rank_of_dump(file_name).value_or(-1);
  dump.groups = groups_of(root->get("pg_config"));
  const Json entries = root->get("entries");
  const Json status = root->get("pg_status");
  add_status(status, names_by_number(dump.groups, status, entries), &dump.groups);
  const std::size_t count = entries.size();
  for (std::size_t i = count > kMaxDumpEntries ? count - kMaxDumpEntries : 0; i < count; ++i) {
    dump.entries.push_back(record_of(entries.at(i)));
  }
  return dump;
}

Json dump_to_json(const FlightDump& dump) {
  Json config = Json::object();
  Json status = Json::object();
  std::map<std::string, std::size_t> numbers;
  for (const FlightDump::Group& group : dump.groups) {
    Json ranks = Json::array();
    for (const int rank : group.ranks) ranks.push(Json::of(rank));
    Json item = Json::object();
    item.set("name", Json::of(group.id)).set("desc", Json::of(group.description));
    item.set("ranks", std::move(ranks));
    config.set(group.id, std::move(item));
    Json counts = Json::object();
    counts.set("last_enqueued_collective", Json::of(group.last_enqueued));
    counts.set("last_started_collective", Json::of(group.last_started));
    counts.set("last_completed_collective", Json::of(group.last_completed));
    status.set(std::to_string(numbers.size()), std::move(counts));
    numbers.emplace(group.id, numbers.size());
  }
  Json entries = Json::array();
  for (const CollectiveRecord& record : dump.entries) {
    const auto found = numbers.find(record.process_group);
    entries.push(entry_to_json(record, found == numbers.end() ? numbers.size() : found->second));
  }
  Json root = Json::object();
  root.set("version", Json::of("2.9")).set("stream", Json::of(dump.stream));
  root.set("pg_config", std::move(config)).set("pg_status", std::move(status));
  root.set("entries", std::move(entries));
  return root;
}

}  // namespace nvab
