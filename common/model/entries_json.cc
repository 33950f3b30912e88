// SPDX-License-Identifier: Apache-2.0
// Entries of each source as JSON; how they are read is in observation_read.hh.
#include "common/model/entries_json.hh"

#include <cmath>

namespace nvab {
namespace {

void set_text(Json& out, std::string_view key, const std::string& text) {
  if (!text.empty()) out.set(key, Json::of(text));
}

template <typename T>
void set_some(Json& out, std::string_view key, const std::optional<T>& value) {
  if (value) out.set(key, Json::of(*value));
}

// JSON has no NaN; Prometheus writes it as a text.
Json number_json(double value) {
  if (std::isfinite(value)) return Json::of(value);
  if (std::isnan(value)) return Json::of("NaN");
  return Json::of(value > 0 ? "+Inf" : "-Inf");
}

Json group_json(const FlightDump::Group& group) {
  Json out = Json::object();
  out.set("id", Json::of(group.id));
  set_text(out, "description", group.description);
  out.set("ranks", json_ints(group.ranks));
  out.set("last_enqueued", Json::of(group.last_enqueued));
  out.set("last_started", Json::of(group.last_started));
  out.set("last_completed", Json::of(group.last_completed));
  return out;
}

Json collective_json(const CollectiveRecord& record) {
  Json out = Json::object();
  set_text(out, "process_group", record.process_group);
  set_text(out, "description", record.description);
  set_text(out, "op", record.op);
  set_text(out, "state", record.state);
  out.set("sequence", Json::of(record.sequence));
  Json sizes = Json::array();
  for (const std::uint64_t size : record.sizes) sizes.push(Json::of(size));
  out.set("sizes", std::move(sizes));
  set_text(out, "dtype", record.dtype);
  set_some(out, "created", record.created);
  set_some(out, "started", record.started);
  set_some(out, "completed", record.completed);
  if (record.is_p2p) out.set("is_p2p", Json::of(true));
  return out;
}

}  // namespace

Json to_json(const Origin& origin) {
  if (origin.stream.empty()) return {};
  Json out = Json::object();
  out.set("stream", Json::of(origin.stream));
  out.set("line", Json::of(origin.line));
  out.set("offset", Json::of(origin.offset));
  return out;
}

Json to_json(const LogEntry& entry) {
  Json out = Json::object();
  set_some(out, "timestamp", entry.timestamp);
  set_text(out, "node", entry.node);
  set_some(out, "rank", entry.rank);
  set_some(out, "task", entry.task);
  set_some(out, "local_rank", entry.local_rank);
  set_text(out, "app", entry.app);
  set_some(out, "pid", entry.pid);
  set_text(out, "severity", entry.severity);
  set_text(out, "facility", entry.facility);
  out.set("time_quality", Json::of(to_string(entry.time_quality)));
  out.set("trust", Json::of(to_string(entry.trust)));
  if (!entry.origin.stream.empty()) out.set("origin", to_json(entry.origin));
  out.set("message", Json::of(entry.message));
  if (entry.only_shadow) out.set("only_shadow", Json::of(true));
  return out;
}

Json to_json(const MetricSample& sample) {
  Json out = Json::object();
  out.set("timestamp", Json::of(sample.timestamp));
  out.set("name", Json::of(sample.name));
  Json labels = Json::object();
  for (const auto& [name, value] : sample.labels) labels.set(name, Json::of(value));
  out.set("labels", std::move(labels));
  out.set("value", number_json(sample.value));
  set_text(out, "node", sample.node);
  return out;
}

Json to_json(const TaskExit& exit) {
  Json out = Json::object();
  set_text(out, "node", exit.node);
  set_text(out, "step_id", exit.step);
  set_some(out, "task_id", exit.task);
  set_some(out, "local_id", exit.local_id);
  set_some(out, "node_id", exit.node_id);
  set_some(out, "pid", exit.pid);
  set_some(out, "restart_count", exit.restart_count);
  set_some(out, "uid", exit.uid);
  if (!exit.gpu_ids.empty()) out.set("gpu_ids", json_strings(exit.gpu_ids));
  if (!exit.gpu_pci.empty()) out.set("gpu_pci", json_strings(exit.gpu_pci));
  set_some(out, "start", exit.start);
  set_some(out, "end", exit.end);
  set_some(out, "exit_code", exit.exit_code);
  set_some(out, "signal", exit.signal);
  if (exit.core_dumped) out.set("core", Json::of(true));
  if (exit.oom_kills) out.set("oom_kill", Json::object().set("job", Json::of(*exit.oom_kills)));
  if (!exit.stdout_path.empty()) {
    out.set("stdout", Json::object().set("path", Json::of(exit.stdout_path)));
  }
  if (!exit.stderr_path.empty()) {
    out.set("stderr", Json::object().set("path", Json::of(exit.stderr_path)));
  }
  out.set("trust", Json::of(to_string(exit.trust)));
  return out;
}

Json to_json(const FlightDump& dump) {
  Json out = Json::object();
  out.set("rank", Json::of(dump.rank));
  set_text(out, "stream", dump.stream);
  out.set("groups", json_list(dump.groups, group_json));
  out.set("entries", json_list(dump.entries, collective_json));
  return out;
}

}  // namespace nvab
