// SPDX-License-Identifier: Apache-2.0
// The workload schema both ways.
#include "common/model/context.hh"

#include <algorithm>
#include <limits>

#include "common/base/hostlist.hh"
#include "common/base/text.hh"
#include "common/model/json_fields.hh"

namespace nvab {
namespace {

// Scheduler words of a job that may still change. COMPLETING: its processes are gone, but the final
// word is not spoken.
constexpr std::string_view kRunningStates[] = {
    "RUNNING",   "PENDING",   "SUSPENDED", "COMPLETING",   "CONFIGURING", "RESIZING",
    "SIGNALING", "STAGE_OUT", "STOPPED",   "REQUEUE_HOLD", "REQUEUE_FED", "SPECIAL_EXIT"};

Json exit_or_null(const std::optional<ExitCode>& exit) {
  return exit ? Json::of(to_string(*exit)) : Json();
}

std::optional<ExitCode> read_exit(JsonFields& in, std::string_view key) {
  const std::string given = in.text_or_number(key);
  if (given.empty()) return std::nullopt;
  const auto exit = parse_exit_code(given);
  if (!exit) {
    in.complain(key, "has the value '" + excerpt(sanitize(given), 40) +
                         "', which is no exit code such as 1:0");
  }
  return exit;
}

// Bundles say `start`, the API says `start_time`.
std::optional<Time> read_time(JsonFields& in, std::string_view name, std::string_view other) {
  const auto second = in.time(other);
  const auto first = in.time(name);
  return first ? first : second;
}

// A list whose elements may be hostlist expressions, or one such expression.
std::vector<std::string> read_nodes(JsonFields& in, std::string_view key) {
  std::vector<std::string> nodes;
  const Json given = in.any(key);
  std::vector<std::string> parts = strings_of(given);
  if (const auto text = given.as_string()) parts.push_back(*text);
  const bool is_list = given.is_array() && parts.size() == given.size();
  if (!given.is_null() && !given.is_string() && !is_list) in.complain(key, "wants a list of texts");
  for (const std::string& part : parts) {
    if (part == "None assigned" || part == "(null)") continue;  // Slurm's words for no nodes
    auto hosts = expand_hostlist(part);
    if (!hosts) {
      in.complain(key, "holds no names of nodes: " + hosts.error().message);
      return {};
    }
    if (nodes.size() + hosts->size() > kMaxHosts) {
      in.complain(key, "names too many nodes");
      return {};
    }
    nodes.insert(nodes.end(), std::make_move_iterator(hosts->begin()),
                 std::make_move_iterator(hosts->end()));
  }
  sort_hosts(nodes);
  return nodes;
}

std::map<std::string, std::vector<int>> read_gpus(JsonFields in, const Json& object) {
  std::map<std::string, std::vector<int>> gpus;
  object.each([&](std::string_view node, const Json&) { gpus[std::string(node)] = in.ints(node); });
  return gpus;
}

Step read_step(JsonFields in) {
  Step step;
  step.id = in.text_or_number("id");
  step.name = in.text("name");
  step.state = in.text("state");
  step.exit_code = read_exit(in, "exit_code");
  step.derived_exit_code = read_exit(in, "derived_exit_code");
  step.start = read_time(in, "start", "start_time");
  step.end = read_time(in, "end", "end_time");
  step.nodes = read_nodes(in, "nodes");
  step.reason = in.text("reason");
  return step;
}

Json to_json(const Step& step) {
  Json out = Json::object();
  out.set("id", Json::of(step.id));
  out.set("name", text_or_null(step.name));
  out.set("state", text_or_null(step.state));
  out.set("exit_code", exit_or_null(step.exit_code));
  out.set("derived_exit_code", exit_or_null(step.derived_exit_code));
  out.set("start", json_or_null(step.start));
  out.set("end", json_or_null(step.end));
  out.set("nodes", json_strings(step.nodes));
  out.set("reason", text_or_null(step.reason));
  return out;
}

NodeEvent read_node_event(JsonFields in) {
  NodeEvent event;
  event.node = in.text("node");
  event.start = read_time(in, "start", "start_time");
  event.end = read_time(in, "end", "end_time");
  event.state = in.text("state");
  event.reason = in.text("reason");
  return event;
}

Json to_json(const NodeEvent& event) {
  Json out = Json::object();
  out.set("node", Json::of(event.node));
  out.set("start", json_or_null(event.start));
  out.set("end", json_or_null(event.end));
  out.set("state", text_or_null(event.state));
  out.set("reason", text_or_null(event.reason));
  return out;
}

Json gpus_to_json(const std::map<std::string, std::vector<int>>& gpus) {
  Json out = Json::object();
  for (const auto& [node, indices] : gpus) out.set(node, json_ints(indices));
  return out;
}

}  // namespace

std::optional<ExitCode> parse_exit_code(std::string_view text) {
  const auto field = [](std::string_view digits) -> std::optional<int> {
    const auto number = parse_int(digits);
    if (!number || *number < 0 || *number > std::numeric_limits<int>::max()) return std::nullopt;
    return static_cast<int>(*number);
  };
  const std::size_t colon = text.find(':');
  const auto code = field(text.substr(0, colon));
  const auto signal = colon == std::string_view::npos ? 0 : field(text.substr(colon + 1));
  if (!code || !signal) return std::nullopt;
  return ExitCode{*code, *signal};
}

std::string to_string(ExitCode exit) {
  return std::to_string(exit.code) + ":" + std::to_string(exit.signal);
}

std::string ExecutionContext::key() const {
  const std::optional<Time> since = submit_time ? submit_time : start_time;
  return cluster + "/" + job_id + "/" + (since ? format_rfc3339(*since) : "");
}

bool ExecutionContext::is_called(std::string_view id) const {
  id = id.substr(0, id.find_first_of(".["));
  const std::string_view own = std::string_view(job_id).substr(0, job_id.find_first_of(".["));
  if (id == own || std::find(other_ids.begin(), other_ids.end(), id) != other_ids.end()) {
    return true;
  }
  const std::size_t part = id.find_first_of("_+"), own_part = own.find_first_of("_+");
  if (id.substr(0, part) != own.substr(0, own_part)) return false;
  // Two tasks of one array; or its bare id, which is also the raw id of one task: not of ours where
  // ours is known.
  const bool is_whole = part == std::string_view::npos;
  if (own_part != std::string_view::npos) return is_whole && other_ids.empty();
  return true;
}

bool ExecutionContext::has_node(std::string_view node) const {
  return std::binary_search(nodes.begin(), nodes.end(), node, host_less);
}

bool ExecutionContext::is_running() const {
  return std::find(std::begin(kRunningStates), std::end(kRunningStates), base_state()) !=
         std::end(kRunningStates);
}

std::string_view ExecutionContext::base_state() const {
  // sacct also cuts long words and says so: "CANCELLED+".
  return std::string_view(state).substr(0, state.find_first_of(" +"));
}

Result<ExecutionContext> context_from_json(const Json& workload) {
  Error error;
  JsonFields in(workload, "", error);
  ExecutionContext context;
  context.scheduler = in.text("scheduler");
  context.cluster = in.text("cluster");
  context.job_id = in.text_or_number("job_id");
  context.attempt = in.small("attempt").value_or(0);
  context.name = in.text("name");
  context.user = in.text("user");
  context.account = in.text("account");
  context.partition = in.text("partition");
  context.state = in.text("state");
  context.exit_code = read_exit(in, "exit_code");
  context.derived_exit_code = read_exit(in, "derived_exit_code");
  context.reason = in.text("reason");
  context.submit_time = in.time("submit_time");
  context.start_time = read_time(in, "start_time", "start");
  context.end_time = read_time(in, "end_time", "end");
  context.time_limit_s = in.integer("time_limit_s", 0);
  context.nodes = read_nodes(in, "nodes");
  context.ntasks = in.small("ntasks");
  context.gpus_per_node = in.small("gpus_per_node");
  context.gpus = read_gpus(in.member("gpus"), in.object("gpus"));
  context.uid = in.integer("uid", 0);
  context.req_mem = in.text_or_number("req_mem");
  context.cancelled_by = in.text_or_number("cancelled_by");
  context.steps = in.items("steps", read_step);
  context.node_events = in.items("node_events", read_node_event);
  context.other_ids = strings_of(in.list("other_ids"));
  context.extra = in.unknown();
  if (workload.is_null()) in.complain("", "wants an object");
  if (in.failed()) return fail("reading the workload", std::move(error));
  return context;
}

Json to_json(const ExecutionContext& context) {
  Json out = Json::object();
  out.set("scheduler", text_or_null(context.scheduler));
  out.set("cluster", text_or_null(context.cluster));
  out.set("job_id", text_or_null(context.job_id));
  out.set("attempt", Json::of(context.attempt));
  out.set("name", text_or_null(context.name));
  out.set("user", text_or_null(context.user));
  out.set("account", text_or_null(context.account));
  out.set("partition", text_or_null(context.partition));
  out.set("state", text_or_null(context.state));
  out.set("exit_code", exit_or_null(context.exit_code));
  out.set("derived_exit_code", exit_or_null(context.derived_exit_code));
  out.set("reason", text_or_null(context.reason));
  out.set("submit_time", json_or_null(context.submit_time));
  out.set("start_time", json_or_null(context.start_time));
  out.set("end_time", json_or_null(context.end_time));
  out.set("time_limit_s", json_or_null(context.time_limit_s));
  out.set("nodes", json_strings(context.nodes));
  out.set("ntasks", json_or_null(context.ntasks));
  out.set("gpus_per_node", json_or_null(context.gpus_per_node));
  out.set("gpus", gpus_to_json(context.gpus));
  out.set("uid", json_or_null(context.uid));
  out.set("req_mem", text_or_null(context.req_mem));
  out.set("cancelled_by", text_or_null(context.cancelled_by));
  out.set("steps", json_list(context.steps, to_json));
  out.set("node_events", json_list(context.node_events, to_json));
  if (!context.other_ids.empty()) out.set("other_ids", json_strings(context.other_ids));
  context.extra.each([&](std::string_view key, const Json& value) {
    if (!out.has(key)) out.set(key, value);
  });
  return out;
}

}  // namespace nvab
