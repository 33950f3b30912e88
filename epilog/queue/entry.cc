// SPDX-License-Identifier: Apache-2.0
// See entry.hh.
#include "epilog/queue/entry.hh"

#include <algorithm>

namespace nvab {
namespace {

// More than any retry setting allows; a number from a file is not to be trusted.
constexpr long long kMaxTries = 1'000'000;

std::optional<Time> time_of(const Json& json, std::string_view key) {
  const auto text = json.get(key).as_string();
  return text ? parse_rfc3339(*text) : std::nullopt;
}

EntryHistory read_history(const Json& json) {
  EntryHistory history;
  const long long tries = json.get("tries").as_int().value_or(0);
  history.tries = static_cast<int>(std::clamp(tries, 0LL, kMaxTries));
  history.reason = json.get("reason").as_string().value_or("");
  history.not_before = time_of(json, "not_before");
  history.requeued = time_of(json, "requeued");
  history.delivered = strings_of(json.get("delivered"));
  return history;
}

Json write_history(const EntryHistory& history) {
  Json json = Json::object();
  json.set("tries", Json::of(history.tries));
  if (!history.reason.empty()) json.set("reason", Json::of(history.reason));
  if (history.not_before) json.set("not_before", Json::of(*history.not_before));
  if (history.requeued) json.set("requeued", Json::of(*history.requeued));
  if (!history.delivered.empty()) json.set("delivered", json_strings(history.delivered));
  return json;
}

}  // namespace

Result<QueueEntry> parse_entry(const std::string& id, const std::string& text) {
  auto json = Json::parse(text);
  if (!json) return fail("the file is no queue entry", std::move(json.error()));
  if (!json->is_object()) {
    return fail(Error::Code::malformed, "the file is no queue entry: it is no JSON object");
  }
  QueueEntry entry;
  entry.id = id;
  entry.history = read_history(json->get("queue"));
  entry.json = std::move(*json);
  return entry;
}

std::string format_entry(const QueueEntry& entry) {
  Json json = entry.json;
  json.set("queue", write_history(entry.history));
  return json.dump() + "\n";
}

}  // namespace nvab
