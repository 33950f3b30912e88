// SPDX-License-Identifier: Apache-2.0
// See node_events.hh.
#include "epilog/eca/node_events.hh"

#include <algorithm>
#include <set>

#include "common/base/hostlist.hh"
#include "common/base/text.hh"
#include "epilog/eca/sacct_rows.hh"

namespace nvab {
namespace {

// A health check drains a node some time before or after the job that it spoiled.
constexpr Duration kBefore = std::chrono::minutes(10);
constexpr Duration kAfter = std::chrono::minutes(10);
// A longer list of nodes would not fit an argument vector; then all nodes are asked for.
constexpr std::size_t kMaxNodesArgument = 60'000;

std::string slurm_time(Time time) {
  // sacctmgr runs with TZ=UTC and takes no zone: "2026-03-01T10:00:00".
  return format_rfc3339(std::chrono::floor<std::chrono::seconds>(time)).substr(0, 19);
}

// Whether the node was alive when the job ended, because it told how the job's script ended.
bool outlived(const std::string& node, const ExecutionContext& context) {
  if (node != context.files.batch_node) return false;
  const auto is_told = [](const Step& step) {
    return step.id.ends_with(".batch") && step.exit_code.has_value();
  };
  return std::any_of(context.steps.begin(), context.steps.end(), is_told);
}

bool is_near(const NodeEvent& event, const ExecutionContext& context) {
  const std::optional<Time> begin = context.start_time ? context.start_time : context.submit_time;
  if (event.end && begin && *event.end < *begin) return false;
  const bool is_later = event.start && context.end_time && *event.start > *context.end_time;
  if (is_later && outlived(event.node, context)) return false;
  // One that was there long before: the node was given to the job all the same.
  if (event.start && begin && *event.start < *begin - kBefore) return false;
  return !event.start || !context.end_time || *event.start <= *context.end_time + kAfter;
}

}  // namespace

std::vector<ClusterNodeEvent> parse_node_events(std::string_view output) {
  std::vector<ClusterNodeEvent> events;
  for (const std::string_view line : split(output, '\n')) {
    std::string_view rest = line;
    std::vector<std::string_view> fields;
    while (fields.size() < 5 && rest.find('|') != std::string_view::npos) {
      fields.push_back(rest.substr(0, rest.find('|')));
      rest.remove_prefix(rest.find('|') + 1);
    }
    if (fields.size() < 5 || fields[4].empty()) continue;
    ClusterNodeEvent event;
    event.cluster = sanitize(fields[0]);
    event.event.start = parse_slurm_time(fields[1]);
    event.event.end = parse_slurm_time(fields[2]);
    event.event.state = sanitize(fields[3]);
    event.event.node = sanitize(fields[4]);
    event.event.reason = sanitize(excerpt(rest, 400));
    events.push_back(std::move(event));
  }
  return events;
}

std::vector<std::string> node_event_options(const std::vector<const ExecutionContext*>& contexts) {
  std::set<std::string> nodes;
  std::optional<Time> begin, end;
  for (const ExecutionContext* context : contexts) {
    nodes.insert(context->nodes.begin(), context->nodes.end());
    const auto from = context->start_time ? context->start_time : context->submit_time;
    if (from && (!begin || *from < *begin)) begin = from;
    if (context->end_time && (!end || *end < *context->end_time)) end = context->end_time;
  }
  std::vector<std::string> options;
  const std::vector<std::string> list(nodes.begin(), nodes.end());
  const std::string folded = fold_hostlist(list);
  if (!folded.empty() && folded.size() <= kMaxNodesArgument) options.push_back("nodes=" + folded);
  if (begin) options.push_back("start=" + slurm_time(*begin - kBefore));
  if (end) options.push_back("end=" + slurm_time(*end + kAfter));
  options.emplace_back("format=Cluster,TimeStart,TimeEnd,State,NodeName,Reason");
  return options;
}

void add_node_events(const std::vector<ClusterNodeEvent>& events, ExecutionContext* context) {
  for (const ClusterNodeEvent& event : events) {
    const bool is_ours = event.cluster == context->cluster && context->has_node(event.event.node);
    if (is_ours && is_near(event.event, *context)) context->node_events.push_back(event.event);
  }
}

bool wants_node_events(const ExecutionContext& context) {
  if (context.nodes.empty() || context.is_running()) return false;
  constexpr std::string_view kOwnEnds[] = {"COMPLETED", "TIMEOUT", "DEADLINE",
                                           "CANCELLED", "REVOKED", "OUT_OF_MEMORY"};
  return std::find(std::begin(kOwnEnds), std::end(kOwnEnds), context.base_state()) ==
         std::end(kOwnEnds);
}

}  // namespace nvab
