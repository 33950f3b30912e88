// SPDX-License-Identifier: Apache-2.0
// Who is where: the job's nodes under all their names, the GPUs of each node under all their names,
// and the ranks. Built from every source that knows some of it; asked by everything that blames.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "common/engine/event.hh"
#include "common/model/context.hh"
#include "common/model/observation.hh"
#include "common/model/verdict.hh"

namespace nvab {

// "0000:61:00.0" for "61:00", "00000000:61:00.0", NCCL's busId "61000"; empty when it is none.
std::string canonical_pci(std::string_view text);

class Placement {
 public:
  explicit Placement(const ExecutionContext& context);

  // The job's node that this name stands for (short name, FQDN, other case, address, the name of
  // its BMC or of one of its fabric interfaces); empty when it is none of the job's.
  std::string node(std::string_view name) const;
  // The node of a job of one node; empty for others.
  std::string only_node() const { return context_.nodes.size() == 1 ? context_.nodes[0] : ""; }

  // Learning. Facts that contradict earlier ones do not replace them: order must not matter, so the
  // callers feed facts in a fixed order.
  void learn_address(std::string_view address, std::string_view node);
  void learn_gpu(const std::string& node, std::optional<int> index, std::string_view pci,
                 std::string_view uuid);
  void learn_rank(int rank, const std::string& node, std::optional<int> local_rank,
                  std::optional<int> gpu, std::string_view pci);
  void learn_job_gpu(const std::string& node, std::optional<int> index, std::string_view pci,
                     std::string_view uuid);
  // A MIG instance (its GPU instance id) of a GPU that the job was given.
  void learn_job_mig(const std::string& node, std::string_view pci, std::string_view instance);
  // Ranks that nothing named: blocks of equal size in node order, as launchers place by default.
  void fill_default_layout();

  // Everything known about a GPU of which something is known.
  GpuRef gpu(const std::string& node, std::optional<int> index, std::string_view pci,
             std::string_view uuid) const;
  std::optional<std::string> node_of_rank(int rank) const;
  // Of a Slurm task, by blocks in node order; nothing where tasks do not divide evenly.
  std::optional<std::string> node_of_task(int task) const;
  // `assumed`: only the usual layout says so.
  std::optional<int> rank_of_gpu(const GpuRef& gpu, bool* assumed = nullptr) const;
  std::optional<GpuRef> gpu_of_rank(int rank) const;
  std::optional<int> rank_of_local(const std::string& node, int local_rank) const;
  std::size_t rank_count() const { return ranks_.size(); }
  std::vector<int> ranks_on(const std::string& node) const;
  // Whether the job was given this GPU: nothing where its GPUs on the node are not all known.
  std::optional<bool> owns(const GpuRef& gpu) const;
  // The same for a MIG instance: nothing where none of the job's on that GPU is known.
  std::optional<bool> owns_mig(const GpuRef& gpu, std::string_view instance) const;
  // Of a Pod ("namespace/name" or the name): the job's node that it ran on, and whether it is one
  // of the job's; nothing where the job's Pods (its steps) are not known.
  std::optional<std::string> node_of_pod(std::string_view pod) const;
  std::optional<bool> owns_pod(std::string_view pod) const;

 private:
  const Step* step_of_pod(std::string_view pod) const;
  struct Rank {
    std::string node;
    std::optional<int> local_rank, gpu;
    std::string pci;
    bool assumed = false;
  };
  const ExecutionContext& context_;
  std::map<std::string, std::string, std::less<>> names_;      // any spelling -> node
  std::map<std::string, std::string, std::less<>> addresses_;  // IP -> node
  std::map<std::string, std::vector<GpuRef>> gpus_;            // node -> its GPUs
  std::map<std::string, std::vector<GpuRef>> job_gpus_;        // node -> those the job was given
  std::map<std::string, std::set<long long>> job_migs_;        // node/pci -> instances
  std::map<int, Rank> ranks_;
  std::map<std::string, std::vector<int>> ranks_by_node_;
};

}  // namespace nvab
