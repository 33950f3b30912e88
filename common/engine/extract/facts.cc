// SPDX-License-Identifier: Apache-2.0
// Facts as lines: what the scheduler and the task record say, in the words that rules match.
#include <fmt/core.h>

#include <algorithm>

#include <cctype>

#include "common/base/text.hh"
#include "common/engine/extract/extractor.hh"

namespace nvab {
namespace {

// Who ended it, in one word: the owner, an administrator (another uid), or none known.
std::string_view requester(const ExecutionContext& c) {
  const std::string_view who = trim(c.cancelled_by);
  if (who.empty() || who == "none") return "none";
  const std::string_view name = who.substr(0, who.find(' '));
  if (!c.user.empty() && name == c.user) return "owner";
  if (c.uid && parse_int(name) == c.uid) return "owner";
  if (c.uid && who.find(fmt::format("(uid {})", *c.uid)) != std::string_view::npos) return "owner";
  // A bare number that cannot be compared is somebody, but root is never the owner.
  const bool number = name.find_first_not_of("0123456789") == std::string_view::npos;
  if (number && !c.uid && name != "0") return "owner";
  return "admin";
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? '\'' : c;
  return out + '"';
}

std::string exit_text(const std::optional<ExitCode>& exit) {
  return exit ? to_string(*exit) : std::string("?");
}

LogEntry fact(std::string message, std::optional<Time> time, std::uint64_t line) {
  LogEntry entry;
  entry.timestamp = time;
  entry.time_quality = time ? TimeQuality::exact : TimeQuality::none;
  entry.trust = Trust::system;
  entry.origin = {"scheduler", line, 0};
  entry.message = sanitize(message);
  // A fact is one line: what a user chose (the names of job and steps) must not begin another.
  std::replace(entry.message.begin(), entry.message.end(), '\n', ' ');
  return entry;
}

std::string job_fact(const ExecutionContext& c) {
  std::string text =
      fmt::format("job state={} exit={} derived={} reason={} cancelled_by={} name={} nodes={}",
                  c.base_state(), exit_text(c.exit_code), exit_text(c.derived_exit_code),
                  quoted(c.reason), requester(c), quoted(c.name), c.nodes.size());
  if (c.start_time && c.end_time) {
    text += fmt::format(" elapsed_s={}", (*c.end_time - *c.start_time).count() / 1'000'000);
  }
  if (c.time_limit_s) text += fmt::format(" limit_s={}", *c.time_limit_s);
  return text;
}

}  // namespace

std::vector<LogEntry> scheduler_facts(const ExecutionContext& c) {
  std::vector<LogEntry> facts;
  facts.push_back(fact(job_fact(c), c.end_time, 1));
  for (const Step& step : c.steps) {
    std::string text = fmt::format("step {} name={} state={} exit={} nodes={} reason={}", step.id,
                                   quoted(step.name), step.state, exit_text(step.exit_code),
                                   join(step.nodes, ","), quoted(step.reason));
    facts.push_back(fact(std::move(text), step.end, facts.size() + 1));
  }
  for (const NodeEvent& event : c.node_events) {
    std::string text =
        fmt::format("node {} state={} reason={}", event.node, event.state, quoted(event.reason));
    facts.push_back(fact(std::move(text), event.start, facts.size() + 1));
  }
  return facts;
}

bool is_script(const TaskExit& task) {
  return task.step.ends_with("batch") || task.step.ends_with("interactive");
}

std::vector<LogEntry> task_facts(const TaskExit& task) {
  if (!task.end || !task.task) return {};
  const std::string who = is_script(task) ? "script" : fmt::format("task {}", *task.task);
  LogEntry entry =
      fact(fmt::format("{} node={} step={} exit={} signal={} core={} oom_kills={}", who, task.node,
                       task.step, task.exit_code.value_or(0), task.signal.value_or(0),
                       task.core_dumped ? 1 : 0, task.oom_kills.value_or(0)),
           task.end, 0);
  entry.node = task.node;
  if (!is_script(task)) entry.task = entry.rank = task.task;
  entry.trust = task.trust;
  entry.origin = {"task_exits/" + task.node + '/' + task.step,
                  static_cast<std::uint64_t>(*task.task) + 1, 0};
  return {std::move(entry)};
}

}  // namespace nvab
