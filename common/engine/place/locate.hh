// SPDX-License-Identifier: Apache-2.0
// Who an event is about: canonical node, rank, GPU, port, peers.
#pragma once

#include "common/engine/analysis.hh"

namespace nvab {

// First pass: learns the placement from task records, placement events and captures, then fills the
// Place of every event.
void locate(Analysis& analysis);

// What the labels of a metric series say about a GPU (DCGM exporter: gpu, UUID, pci_bus_id and the
// host in Hostname or instance).
void learn_labels(const MetricSample& sample, Placement* placement);
// The node that a sample is about, as its labels name it.
std::string_view sample_node(const MetricSample& sample);

}  // namespace nvab
