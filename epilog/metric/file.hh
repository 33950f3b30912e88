// SPDX-License-Identifier: Apache-2.0
// Metrics in files: metrics.json of a bundle, plain or packed.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "epilog/collector.hh"
#include "epilog/host.hh"

namespace nvab {

struct MetricFileOptions {
  std::string connector = "metric.file";
  std::vector<std::string> paths;
};

std::unique_ptr<Collector> make_metric_file(MetricFileOptions options, Host& host);

}  // namespace nvab
