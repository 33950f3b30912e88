// SPDX-License-Identifier: Apache-2.0
// Entries of each source both ways.
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

FlightDump::Group read_group(JsonFields in) {
  FlightDump::Group group;
  group.id = in.text_or_number("id");
  group.description = in.text("description");
  group.ranks = in.ints("ranks");
  group.last_enqueued = in.integer("last_enqueued").value_or(-1);
  group.last_started = in.integer("last_started").value_or(-1);
  group.last_completed = in.integer("last_completed").value_or(-1);
  return group;
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

CollectiveRecord read_collective(JsonFields in) {
  CollectiveRecord record;
  record.process_group = in.text_or_number("process_group");
  record.description = in.text("description");
  record.op = in.text("op");
  record.state = in.text("state");
  record.sequence = in.count("sequence");
  for (const Json& size : in.list("sizes").elements()) {
    const auto number = size.as_int();
    if (!number || *number < 0) in.complain("sizes", "wants a list of counts");
    record.sizes.push_back(static_cast<std::uint64_t>(number.value_or(0)));
  }
  record.dtype = in.text("dtype");
  record.created = in.time("created");
  record.started = in.time("started");
  record.completed = in.time("completed");
  record.is_p2p = in.flag("is_p2p");
  return record;
}

// The task record says {"path": "/…", …} and {"job": 1, …}; a plain value is taken too.
std::string read_path(JsonFields& in, std::string_view key) {
  if (in.any(key).is_object()) return in.member(key).text("path");
  return in.text(key);
}

std::optional<long long> read_oom_kill(JsonFields& in) {
  if (in.any("oom_kill").is_object()) return in.member("oom_kill").integer("job", 0);
  return in.integer("oom_kill", 0);
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

Origin read_origin(JsonFields in) {
  Origin origin;
  origin.stream = in.text("stream");
  origin.line = in.count("line");
  origin.offset = in.count("offset");
  return origin;
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
  return out;
}

LogEntry read_log_entry(JsonFields in) {
  LogEntry entry;
  entry.timestamp = in.time("timestamp");
  entry.node = in.text("node");
  entry.rank = in.small("rank");
  entry.task = in.small("task");
  entry.local_rank = in.small("local_rank");
  entry.app = in.text("app");
  entry.pid = in.small("pid");
  entry.severity = in.text_or_number("severity");
  entry.facility = in.text_or_number("facility");
  const TimeQuality usual = entry.timestamp ? TimeQuality::exact : TimeQuality::none;
  entry.time_quality = in.word<TimeQuality>("time_quality", time_quality_from).value_or(usual);
  entry.trust = in.word<Trust>("trust", trust_from).value_or(Trust::user);
  entry.origin = read_origin(in.member("origin"));
  // A sender that knows no offsets may name the stream alone.
  const std::string stream = in.text("stream");
  if (entry.origin.stream.empty()) entry.origin.stream = stream;
  if (!in.has("message")) in.complain("message", "is missing");
  entry.message = in.text("message");
  return entry;
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

MetricSample read_sample(JsonFields in) {
  MetricSample sample;
  const auto time = in.time("timestamp");
  const auto value = in.number("value");
  sample.name = in.text("name");
  sample.labels = in.text_map("labels");
  sample.node = in.text("node");
  if (!time) in.complain("timestamp", "is missing");
  if (!value) in.complain("value", "is missing");
  if (sample.name.empty()) in.complain("name", "is missing");
  sample.timestamp = time.value_or(Time{});
  sample.value = value.value_or(0);
  return sample;
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

TaskExit read_task_exit(JsonFields in) {
  TaskExit exit;
  exit.node = in.text("node");
  exit.step = in.text_or_number("step_id");
  exit.task = in.small("task_id");
  exit.local_id = in.small("local_id");
  exit.node_id = in.small("node_id");
  exit.pid = in.small("pid");
  exit.restart_count = in.small("restart_count");
  exit.uid = in.integer("uid", 0);
  exit.gpu_ids = in.texts("gpu_ids");
  exit.gpu_pci = in.texts("gpu_pci");
  exit.start = in.time("start");
  exit.end = in.time("end");
  exit.exit_code = in.small("exit_code");
  exit.signal = in.small("signal");
  exit.core_dumped = in.flag("core");
  exit.oom_kills = read_oom_kill(in);
  exit.stdout_path = read_path(in, "stdout");
  exit.stderr_path = read_path(in, "stderr");
  exit.trust = in.word<Trust>("trust", trust_from).value_or(Trust::system);
  return exit;
}

Json to_json(const FlightDump& dump) {
  Json out = Json::object();
  out.set("rank", Json::of(dump.rank));
  set_text(out, "stream", dump.stream);
  out.set("groups", json_list(dump.groups, group_json));
  out.set("entries", json_list(dump.entries, collective_json));
  return out;
}

FlightDump read_dump(JsonFields in) {
  FlightDump dump;
  dump.rank = static_cast<int>(in.integer("rank", -1, 1 << 30).value_or(-1));
  dump.stream = in.text("stream");
  dump.groups = in.items("groups", read_group);
  dump.entries = in.items("entries", read_collective);
  return dump;
}

}  // namespace nvab
