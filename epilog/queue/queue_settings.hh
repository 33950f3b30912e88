// SPDX-License-Identifier: Apache-2.0
// The section [queue]: where the queue is, how patient its runner is, what is kept how long.
#pragma once

#include <string>

#include "common/base/settings.hh"

namespace nvab {

extern const ComponentSpec queue_spec;

struct QueueSettings {
  std::string path;
  // A job that accounting does not know the end of yet is tried again after retry_first, then after
  // twice that, and so on up to retry_longest; after `retries` such tries its entry is dead.
  int retries = 14;
  Duration retry_first = std::chrono::milliseconds(250);
  Duration retry_longest = std::chrono::minutes(5);
  Duration gather{0};               // --watch: how long hand-overs of one job may come apart
  Duration poll{0};                 // --watch: how often to look even if nothing seems to come
  Duration keep{0}, keep_spool{0};  // done entries, task records; 0: for ever
  Duration sweep_every{0}, sweep_back{0};  // --watch: 0 for never; how far back the first one looks
  std::string node_share;                  // where --node copies evidence to
  Duration node_patience{0};  // how long after a job --node waits for its session at a service

  static QueueSettings from(const ComponentSettings& settings);
};

}  // namespace nvab
