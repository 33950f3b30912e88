// SPDX-License-Identifier: Apache-2.0
// Marks for what lies outside the job: in time, on other nodes and GPUs, of other jobs, and for
// what is only quoted or part of being ended.
#include <algorithm>

#include "common/base/text.hh"
#include "common/engine/filter/filters.hh"

namespace nvab {
namespace {

// Prologs and health checks run before the start that accounting shows; everything else before it
// belongs to somebody else.
constexpr Duration kBeforeStart = std::chrono::seconds(30);
constexpr Duration kLaunchBeforeStart = std::chrono::minutes(10);
// Logs trail the end a little; a reboot or a repair that follows the job is not why it ended.
constexpr Duration kAfterEnd = std::chrono::seconds(60);
// The controller notices a lost node late, and the node's own witnesses (BMC, boot) speak later
// still.
constexpr Duration kAfterNodeFailure = std::chrono::minutes(30);

bool is_launch_side(const Event& event) {
  return event.rule->id.starts_with("sched.") || event.rule->id.starts_with("container.") ||
         event.rule->id.starts_with("k8s.");
}

bool outside_window(const Analysis& a, const Event& event) {
  if (!event.time || event.time_quality == TimeQuality::none) return false;
  const ExecutionContext& c = a.context;
  if (c.start_time) {
    const Duration margin = is_launch_side(event) ? kLaunchBeforeStart : kBeforeStart;
    // The time of an uptime stamp is the latest that it can have been: before is before.
    if (*event.time < *c.start_time - margin) return true;
  }
  if (!c.end_time || event.time_quality == TimeQuality::uptime) return false;
  const bool late_witness = a.is_state("NODE_FAIL") || event.rule->role == Role::confirmation;
  return *event.time > *c.end_time + (late_witness ? kAfterNodeFailure : kAfterEnd);
}

// Witnesses that speak about the job or about everybody, wherever they stand.
bool speaks_for_all(const Event& event) {
  const OutcomeRow* outcome = find_outcome(event.rule->outcome);
  if (outcome == nullptr) return event.rule->role != Role::root;
  switch (outcome->sub_domain) {
    case SubDomain::storage:
    case SubDomain::network_fabric:
      return !outcome->blames_node || event.rule->blames == Blame::peer;
    case SubDomain::scheduler:
    case SubDomain::external_service:
    case SubDomain::time_limit:
    case SubDomain::user_cancel:
      return true;
    default:
      return false;
  }
}

bool other_job(const Analysis& a, const Event& event) {
  const std::string_view job = event.capture("job");
  if (job.empty() || a.context.job_id.empty()) return false;
  return !a.context.is_called(job);
}

bool other_pod(const Analysis& a, const Event& event) {
  const std::string_view pod = event.capture("pod");
  return !pod.empty() && !a.placement.owns_pod(pod).value_or(true);
}

bool other_user(const Analysis& a, const Event& event) {
  const auto uid = parse_int(event.capture("uid"));
  return uid && a.context.uid && *uid != *a.context.uid && *uid != 0 &&
         event.capture("requester").empty();
}

bool other_place(const Analysis& a, const Event& event) {
  if (a.context.nodes.empty() || event.source == Source::scheduler) return false;
  const bool has_subject = !event.capture("node").empty();
  if (has_subject) return event.place.node.empty() && event.place.peers.empty();
  // A program's peer may be an address that nothing maps to a node; it is the job's all the same.
  const bool names_others = !event.capture("peer").empty() || !event.capture("nodes").empty();
  if (names_others && event.source != Source::applog) {
    return event.place.peers.empty() && event.place.node.empty();
  }
  const bool foreign = !event.place.observer.empty() && event.place.node.empty();
  return foreign && event.source != Source::applog && event.capture("job").empty() &&
         !speaks_for_all(event);
}

bool is_storage_trouble(const Event& event) {
  const OutcomeRow* outcome = find_outcome(event.rule->outcome);
  return outcome != nullptr && outcome->sub_domain == SubDomain::storage;
}

// What a host outside of the job says of a file system may be a client's trouble of its own:
// without any of the job's nodes or programs in trouble with files, it says nothing of the job.
void mark_storage_of_others(Analysis& a) {
  const auto is_own = [](const Event& event) {
    return event.source == Source::applog || !event.place.node.empty() ||
           event.place.observer.empty() || !event.place.peers.empty();
  };
  bool own_trouble = false;
  for (const Event& event : a.events)
    own_trouble |= event.counts() && is_storage_trouble(event) && is_own(event);
  for (Event& event : a.events) {
    if (!own_trouble && event.counts() && is_storage_trouble(event) && !is_own(event))
      event.mark = Mark::not_this_job;
  }
}

bool other_gpu(const Analysis& a, const Event& event) {
  if (event.source == Source::applog) return false;
  const Place& place = event.place;
  if (place.node.empty() || (!place.gpu && place.pci.empty() && place.uuid.empty())) return false;
  const GpuRef gpu{place.node, place.gpu, place.pci, place.uuid};
  if (!place.mig.empty()) {
    const auto owned = a.placement.owns_mig(gpu, place.mig);
    if (owned) return !*owned;
  }
  const auto owned = a.placement.owns(gpu);
  return owned && !*owned;
}

// What tells a job to end, as rules name it.
bool is_order_to_end(const Event& event) {
  const std::string& outcome = event.rule->outcome;
  return outcome == "preempted" || outcome == "admin_cancel" || outcome == "user_cancel" ||
         outcome == "requeued" || outcome == "time_limit";
}

}  // namespace

void mark_outside_window(Analysis& a) {
  for (Event& event : a.events) {
    if (event.counts() && outside_window(a, event)) event.mark = Mark::outside_window;
  }
}

void mark_not_this_job(Analysis& a) {
  for (Event& event : a.events) {
    if (!event.counts()) continue;
    if (other_job(a, event) || other_pod(a, event) || other_user(a, event) ||
        other_place(a, event) || other_gpu(a, event)) {
      event.mark = Mark::not_this_job;
    }
  }
  mark_storage_of_others(a);
}

void mark_quoted(Analysis& a) {
  constexpr std::string_view kQuoting[] = {"+ ", "echo ", "grep ", "$ ", "# "};
  for (Event& event : a.events) {
    if (!event.counts() || event.source != Source::applog) continue;
    for (const std::string_view opening : kQuoting) {
      if (event.text.starts_with(opening)) event.mark = Mark::quoted;
    }
  }
}

void mark_teardown(Analysis& a) {
  const bool ended_from_outside = a.is_state("CANCELLED") || a.is_state("PREEMPTED") ||
                                  a.is_state("REQUEUED") || a.is_state("TIMEOUT") ||
                                  a.is_state("DEADLINE");
  if (!ended_from_outside) return;
  const Event* order = nullptr;
  for (const Event& event : a.events) {
    if (event.counts() && is_order_to_end(event) && event.source != Source::scheduler &&
        event.time) {
      order = &event;
      break;
    }
  }
  // A line that takes its time from the one before it may be much later: of a job that hung, the
  // last line before "CANCELLED AT ..." is its last progress.
  const bool dated = order != nullptr && order->time_quality == TimeQuality::exact;
  a.told_to_end = a.context.end_time;
  if (dated || (order != nullptr && !a.told_to_end)) a.told_to_end = order->time;
  if (!a.told_to_end) return;
  for (Event& event : a.events) {
    const bool symptom = event.rule->role == Role::root || event.rule->role == Role::cascade;
    if (!event.counts() || !symptom || is_order_to_end(event)) continue;
    if (event.source == Source::scheduler || event.source == Source::task_exits) continue;
    const bool same_stream = order != nullptr && order->origin.stream == event.origin.stream;
    const bool after = same_stream ? surely_after(event, *order)
                                   : event.time && *event.time >= *a.told_to_end - kClockSlack;
    if (after) event.mark = Mark::teardown;
  }
}

}  // namespace nvab
