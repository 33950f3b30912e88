// SPDX-License-Identifier: Apache-2.0
// See queue_settings.hh and nvab.conf(5).
#include "epilog/queue/queue_settings.hh"

namespace nvab {
namespace {

constexpr ParamSpec kParams[] = {
    {.name = "path",
     .type = ParamType::path,
     .fallback = "/var/spool/nvab/queue",
     .help = "Folder on a local disk to which Slurm's hooks hand jobs over"},
    {.name = "retries",
     .type = ParamType::integer,
     .fallback = "14",
     .help = "Tries after which an entry is given up",
     .low = 1,
     .high = 1000},
    {.name = "retry_seconds",
     .type = ParamType::duration,
     .fallback = "250ms",
     .help = "Time before the second try; it doubles with each"},
    {.name = "retry_max_seconds",
     .type = ParamType::duration,
     .fallback = "5m",
     .help = "Longest time between two tries"},
    {.name = "gather_seconds",
     .type = ParamType::duration,
     .fallback = "100ms",
     .help = "With --watch, time to wait for what other hooks say of the same job"},
    {.name = "poll_seconds",
     .type = ParamType::duration,
     .fallback = "30s",
     .help = "With --watch, how often to look though nothing seems to have come"},
    {.name = "keep_seconds",
     .type = ParamType::duration,
     .fallback = "14d",
     .help = "How long done entries are kept; 0 for ever"},
    {.name = "keep_tasks_seconds",
     .type = ParamType::duration,
     .fallback = "30d",
     .help = "How long task records are kept in [run] spool; 0 for ever"},
    {.name = "sweep_seconds",
     .type = ParamType::duration,
     .fallback = "0",
     .help = "With --watch, how often to look for jobs that no hook handed over; 0 for never"},
    {.name = "sweep_back_seconds",
     .type = ParamType::duration,
     .fallback = "1h",
     .help = "How far back the first --sweep looks"},
    {.name = "node_share",
     .type = ParamType::path,
     .help = "With --node, folder for the runner into which a node copies its evidence"},
    {.name = "node_patience_seconds",
     .type = ParamType::duration,
     .fallback = "15m",
     .help = "With --node and a service, how long after a job it is offered what the node has"},
};

}  // namespace

constinit const ComponentSpec queue_spec = {.framework = "queue",
                                            .name = "",
                                            .help = "The queue that --work and --watch work off",
                                            .params = kParams};

QueueSettings QueueSettings::from(const ComponentSettings& settings) {
  QueueSettings queue;
  queue.path = settings.text("path");
  queue.retries = static_cast<int>(settings.integer("retries"));
  queue.retry_first = settings.duration("retry_seconds");
  queue.retry_longest = settings.duration("retry_max_seconds");
  queue.gather = settings.duration("gather_seconds");
  queue.poll = settings.duration("poll_seconds");
  queue.keep = settings.duration("keep_seconds");
  queue.keep_spool = settings.duration("keep_tasks_seconds");
  queue.sweep_every = settings.duration("sweep_seconds");
  queue.sweep_back = settings.duration("sweep_back_seconds");
  queue.node_share = settings.text("node_share");
  queue.node_patience = settings.duration("node_patience_seconds");
  return queue;
}

}  // namespace nvab
