// SPDX-License-Identifier: Apache-2.0
// Names of nodes and GPUs, and where ranks run.
#include "common/engine/place/placement.hh"

#include <algorithm>
#include <cctype>
#include <cstdio>

#include "common/base/text.hh"

namespace nvab {
namespace {

std::string_view short_name(std::string_view name) {
  // An address is not a name with a domain.
  const bool address = name.find_first_not_of("0123456789.") == std::string_view::npos;
  return address ? name : name.substr(0, name.find('.'));
}

// What sites put around a node's name for its BMC, its other interfaces and its serial console.
constexpr std::string_view kPrefixes[] = {"bmc-", "ipmi-", "ilo-", "idrac-", "bmc", "sp-", "mgmt-"};
constexpr std::string_view kSuffixes[] = {"-bmc",  "-ipmi", "-ilo",  "-idrac", "-mgmt", "-ib",
                                          "-ib0",  "-ib1",  "-hsn0", "-hsn1",  "-hsn",  "-opa",
                                          "-eth0", "-data", "-sp",   "bmc",    "-bmc0", "-con"};

bool is_hex(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isxdigit(c); });
}

std::string format_pci(unsigned long domain, unsigned long bus, unsigned long device,
                       unsigned long function) {
  char text[32];
  std::snprintf(text, sizeof text, "%04lx:%02lx:%02lx.%lx", domain & 0xffff, bus & 0xff,
                device & 0x1f, function & 0x7);
  return text;
}

bool same_gpu(const GpuRef& a, const GpuRef& b) {
  return (!a.pci.empty() && a.pci == b.pci) || (!a.uuid.empty() && a.uuid == b.uuid) ||
         (a.index && a.index == b.index && (a.pci.empty() || b.pci.empty() || a.pci == b.pci) &&
          (a.uuid.empty() || b.uuid.empty() || a.uuid == b.uuid));
}

void merge_gpu(std::vector<GpuRef>* gpus, GpuRef known) {
  for (GpuRef& gpu : *gpus) {
    if (!same_gpu(gpu, known)) continue;
    if (!gpu.index) gpu.index = known.index;
    if (gpu.pci.empty()) gpu.pci = known.pci;
    if (gpu.uuid.empty()) gpu.uuid = known.uuid;
    return;
  }
  gpus->push_back(std::move(known));
}

const GpuRef* find_gpu(const std::map<std::string, std::vector<GpuRef>>& gpus,
                       const GpuRef& wanted) {
  const auto found = gpus.find(wanted.node);
  if (found == gpus.end()) return nullptr;
  for (const GpuRef& gpu : found->second) {
    if (same_gpu(gpu, wanted)) return &gpu;
  }
  return nullptr;
}

}  // namespace

std::string canonical_pci(std::string_view text) {
  const std::vector<std::string_view> parts = split(text, ':');
  if (parts.size() == 1) {  // NCCL: domain<<20 | bus<<12 | device<<4 | function, in hex
    if (!is_hex(text) || text.size() < 4 || text.size() > 12) return {};
    const unsigned long long id = std::strtoull(std::string(text).c_str(), nullptr, 16);
    return format_pci(id >> 20, id >> 12, id >> 4, id);
  }
  if (parts.size() > 3) return {};
  const std::string_view domain = parts.size() == 3 ? parts[0] : std::string_view("0");
  const std::string_view bus = parts[parts.size() - 2];
  const std::vector<std::string_view> last = split(parts.back(), '.');
  const std::string_view function = last.size() > 1 && !last[1].empty() ? last[1] : "0";
  if (!is_hex(domain) || !is_hex(bus) || !is_hex(last[0]) || !is_hex(function)) return {};
  const auto hex = [](std::string_view digits) {
    return std::strtoul(std::string(digits).c_str(), nullptr, 16);
  };
  return format_pci(hex(domain), hex(bus), hex(last[0]), hex(function));
}

Placement::Placement(const ExecutionContext& context) : context_(context) {
  for (const std::string& node : context.nodes) {
    names_.emplace(lower(node), node);
    names_.emplace(lower(short_name(node)), node);
  }
  for (const auto& [node, indices] : context.gpus) {
    for (const int index : indices) learn_job_gpu(this->node(node), index, {}, {});
  }
}

std::string Placement::node(std::string_view name) const {
  if (name.empty()) return {};
  const std::string low = lower(name);
  const auto known = [&](std::string_view spelling) -> const std::string* {
    const auto found = names_.find(spelling);
    return found == names_.end() ? nullptr : &found->second;
  };
  if (const std::string* hit = known(low)) return *hit;
  if (const auto hit = addresses_.find(low); hit != addresses_.end()) return hit->second;
  const std::string_view bare = short_name(low);
  if (const std::string* hit = known(bare)) return *hit;
  for (const std::string_view prefix : kPrefixes) {
    if (bare.starts_with(prefix)) {
      if (const std::string* hit = known(bare.substr(prefix.size()))) return *hit;
    }
  }
  for (const std::string_view suffix : kSuffixes) {
    if (bare.ends_with(suffix)) {
      if (const std::string* hit = known(bare.substr(0, bare.size() - suffix.size()))) return *hit;
    }
  }
  return {};
}

void Placement::learn_address(std::string_view address, std::string_view node) {
  const std::string canonical = this->node(node);
  if (canonical.empty() || address.empty()) return;
  addresses_.emplace(lower(address), canonical);
}

void Placement::learn_gpu(const std::string& node, std::optional<int> index, std::string_view pci,
                          std::string_view uuid) {
  if (node.empty()) return;
  GpuRef gpu{node, index, canonical_pci(pci), std::string(uuid)};
  if (!gpu.index && gpu.pci.empty() && gpu.uuid.empty()) return;
  merge_gpu(&gpus_[node], std::move(gpu));
}

void Placement::learn_job_gpu(const std::string& node, std::optional<int> index,
                              std::string_view pci, std::string_view uuid) {
  if (node.empty()) return;
  learn_gpu(node, index, pci, uuid);
  merge_gpu(&job_gpus_[node], {node, index, canonical_pci(pci), std::string(uuid)});
}

void Placement::learn_job_mig(const std::string& node, std::string_view pci,
                              std::string_view instance) {
  const auto number = parse_int(instance);
  if (!node.empty() && number) job_migs_[node + '/' + canonical_pci(pci)].insert(*number);
}

std::optional<bool> Placement::owns_mig(const GpuRef& gpu, std::string_view instance) const {
  const auto found = job_migs_.find(gpu.node + '/' + gpu.pci);
  const auto number = parse_int(instance);
  if (found == job_migs_.end() || !number) return std::nullopt;
  return found->second.contains(*number);
}

void Placement::learn_rank(int rank, const std::string& node, std::optional<int> local_rank,
                           std::optional<int> gpu, std::string_view pci) {
  Rank& known = ranks_[rank];
  if (known.node.empty() && !node.empty()) {
    known.node = node;
    ranks_by_node_[node].push_back(rank);
  }
  if (known.node != node && !node.empty()) return;  // another communicator's rank of that number
  if (!known.local_rank) known.local_rank = local_rank;
  if (!known.gpu) known.gpu = gpu;
  if (known.pci.empty()) known.pci = canonical_pci(pci);
  if (!node.empty() && (gpu || !pci.empty())) learn_job_gpu(node, gpu, pci, {});
}

void Placement::fill_default_layout() {
  const std::size_t nodes = context_.nodes.size();
  if (nodes == 0) return;
  // One task a node starts one rank a GPU (torchrun); else a task is a rank.
  long total = context_.ntasks.value_or(0);
  if (context_.gpus_per_node && total <= static_cast<long>(nodes)) {
    total = static_cast<long>(nodes) * *context_.gpus_per_node;
  }
  if (total <= 0 || total % static_cast<long>(nodes) != 0 || total > 1'000'000) return;
  const long per_node = total / static_cast<long>(nodes);
  for (long rank = 0; rank < total; ++rank) {
    const auto found = ranks_.find(static_cast<int>(rank));
    if (found != ranks_.end() && !found->second.node.empty()) continue;
    Rank& assumed = ranks_[static_cast<int>(rank)];
    assumed.node = context_.nodes[static_cast<std::size_t>(rank / per_node)];
    assumed.local_rank = static_cast<int>(rank % per_node);
    assumed.assumed = true;
    ranks_by_node_[assumed.node].push_back(static_cast<int>(rank));
  }
}

GpuRef Placement::gpu(const std::string& node, std::optional<int> index, std::string_view pci,
                      std::string_view uuid) const {
  GpuRef wanted{node, index, canonical_pci(pci), std::string(uuid)};
  if (const GpuRef* known = find_gpu(gpus_, wanted)) {
    if (!wanted.index) wanted.index = known->index;
    if (wanted.pci.empty()) wanted.pci = known->pci;
    if (wanted.uuid.empty()) wanted.uuid = known->uuid;
  }
  return wanted;
}

std::optional<std::string> Placement::node_of_rank(int rank) const {
  const auto found = ranks_.find(rank);
  if (found == ranks_.end() || found->second.node.empty()) return std::nullopt;
  return found->second.node;
}

std::optional<std::string> Placement::node_of_task(int task) const {
  const int nodes = static_cast<int>(context_.nodes.size()), tasks = context_.ntasks.value_or(0);
  if (nodes == 0 || tasks <= 0 || tasks % nodes != 0 || task < 0 || task >= tasks)
    return std::nullopt;
  return context_.nodes[static_cast<std::size_t>(task / (tasks / nodes))];
}

std::optional<int> Placement::rank_of_gpu(const GpuRef& gpu, bool* is_assumed) const {
  std::optional<int> assumed;
  if (is_assumed != nullptr) *is_assumed = false;
  for (const int number : ranks_on(gpu.node)) {
    const Rank& rank = ranks_.at(number);
    if (!rank.pci.empty() && !gpu.pci.empty()) {
      if (rank.pci == gpu.pci) return number;
      continue;
    }
    if (rank.gpu && gpu.index) {
      if (rank.gpu == gpu.index) return number;
      continue;
    }
    if (rank.local_rank && gpu.index && rank.local_rank == gpu.index && !assumed) assumed = number;
  }
  if (is_assumed != nullptr) *is_assumed = assumed.has_value();
  return assumed;
}

std::optional<GpuRef> Placement::gpu_of_rank(int rank) const {
  const auto found = ranks_.find(rank);
  if (found == ranks_.end() || found->second.node.empty()) return std::nullopt;
  const Rank& known = found->second;
  if (!known.gpu && known.pci.empty()) return std::nullopt;
  return gpu(known.node, known.gpu, known.pci, {});
}

std::optional<int> Placement::rank_of_local(const std::string& node, int local_rank) const {
  for (const int number : ranks_on(node)) {
    if (ranks_.at(number).local_rank == local_rank) return number;
  }
  return std::nullopt;
}

std::vector<int> Placement::ranks_on(const std::string& node) const {
  const auto found = ranks_by_node_.find(node);
  if (found == ranks_by_node_.end()) return {};
  std::vector<int> ranks = found->second;
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

std::optional<bool> Placement::owns(const GpuRef& gpu) const {
  const auto found = job_gpus_.find(gpu.node);
  const std::size_t wanted =
      static_cast<std::size_t>(std::max(0, context_.gpus_per_node.value_or(0)));
  if (found == job_gpus_.end() || wanted == 0 || found->second.size() < wanted) return std::nullopt;
  // Comparable only where the same kind of name is known on both sides.
  bool comparable = false;
  const GpuRef full = this->gpu(gpu.node, gpu.index, gpu.pci, gpu.uuid);
  for (const GpuRef& own : found->second) {
    const GpuRef known = this->gpu(own.node, own.index, own.pci, own.uuid);
    if (same_gpu(known, full)) return true;
    comparable |= (!known.pci.empty() && !full.pci.empty()) || (known.index && full.index) ||
                  (!known.uuid.empty() && !full.uuid.empty());
  }
  if (!comparable) return std::nullopt;
  return false;
}

// Jobs and JobSets add words of their own behind the name that the workload gives.
const Step* Placement::step_of_pod(std::string_view pod) const {
  const std::string_view name = pod.substr(pod.rfind('/') + 1);
  for (const Step& step : context_.steps) {
    const std::string_view id = std::string_view(step.id).substr(step.id.rfind('/') + 1);
    const bool longer = name.size() > id.size() && name[id.size()] == '-';
    if (!id.empty() && name.starts_with(id) && (longer || name.size() == id.size())) return &step;
  }
  return nullptr;
}

std::optional<std::string> Placement::node_of_pod(std::string_view pod) const {
  const Step* step = step_of_pod(pod);
  if (step == nullptr || step->nodes.size() != 1) return std::nullopt;
  return node(step->nodes.front());
}

std::optional<bool> Placement::owns_pod(std::string_view pod) const {
  if (context_.scheduler != "kueue" || context_.steps.empty()) return std::nullopt;
  return step_of_pod(pod) != nullptr;
}

}  // namespace nvab
