// SPDX-License-Identifier: Apache-2.0
// See demo.hh.
#include "service/web/demo.hh"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <random>

#include "common/model/result_store.hh"

namespace nvab {
namespace {

constexpr Duration kMonth = std::chrono::hours(24 * 30);
constexpr int kNodes = 96;
constexpr int kGpusPerNode = 8;

enum class Place { nowhere, node, gpu };

// What jobs of this cluster end by, and how often.
struct Ending {
  int weight;
  TerminalState state;
  SubDomain sub_domain;
  const char* cause;
  const char* rule;
  const char* title;
  const char* line;
  Place place;
  double confidence;
};
using T = TerminalState;
using S = SubDomain;
constexpr Ending kEndings[] = {
    {620, T::completed, S::none, "", "", "", "training finished", Place::nowhere, 0.98},
    {90, T::failed, S::user_code, "python_exception", "python.exception",
     "The program raised an exception",
     "RuntimeError: mat1 and mat2 shapes cannot be multiplied (128x512 and 256x64)", Place::nowhere,
     0.9},
    {45, T::failed, S::gpu_oom, "cuda_oom", "torch.cuda_oom",
     "The GPU had not enough memory for the model",
     "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB", Place::nowhere,
     0.92},
    {30, T::timeout, S::time_limit, "time_limit_progressing", "sched.fact.timeout",
     "The time limit was reached in good progress", "step 81200/120000 loss 1.97", Place::nowhere,
     0.95},
    {40, T::cancelled, S::user_cancel, "cancelled_by_owner", "sched.fact.cancelled",
     "Its owner cancelled it", "CANCELLED by its owner", Place::nowhere, 0.97},
    {18, T::failed, S::user_config, "missing_file", "python.file_not_found",
     "A file that the program names is not there",
     "FileNotFoundError: [Errno 2] No such file or directory: 'data/train.bin'", Place::nowhere,
     0.9},
    {16, T::out_of_memory, S::host_memory, "cgroup_oom", "kernel.oom.cgroup",
     "The job used more memory than it asked for",
     "Memory cgroup out of memory: Killed process 48211 (python3)", Place::nowhere, 0.94},
    {14, T::failed, S::gpu_hardware, "xid_79_fell_off_bus", "gpu.xid.79",
     "GPU fell off the PCIe bus", "NVRM: Xid (PCI:0000:61:00): 79, GPU has fallen off the bus.",
     Place::gpu, 0.97},
    {10, T::failed, S::gpu_memory, "xid_48_dbe", "gpu.xid.48",
     "Uncorrectable memory error of a GPU",
     "NVRM: Xid (PCI:0000:41:00): 48, An uncorrectable double bit error (DBE) has been detected",
     Place::gpu, 0.93},
    {8, T::failed, S::nvlink, "nvlink_fault", "gpu.xid.74", "An NVLink of a GPU failed",
     "NVRM: Xid (PCI:0000:c1:00): 74, NVLink: fatal error detected on link 4", Place::gpu, 0.86},
    {7, T::node_failure, S::host_hardware, "machine_check", "hw.mce",
     "The processor reported a hardware error",
     "mce: [Hardware Error]: Machine check events logged", Place::node, 0.88},
    {9, T::failed, S::storage, "nfs_stalled", "fs.nfs.not_responding",
     "The file server did not answer", "nfs: server store1 not responding, still trying",
     Place::nowhere, 0.8},
    {7, T::preempted, S::scheduler, "preempted", "sched.fact.preempted",
     "A job of higher priority took its place", "PREEMPTED", Place::nowhere, 0.97},
    {22, T::failed, S::unknown, "", "", "", "exited with code 1", Place::nowhere, 0.2},
};
// One switch takes several jobs with it.
constexpr Ending kSwitch = {0,
                            T::failed,
                            S::network_fabric,
                            "leaf_switch_down",
                            "fabric.switch.down",
                            "A leaf switch went down",
                            "mlx5_core 0000:1a:00.0 ibp26s0: Link DOWN",
                            Place::node,
                            0.91};

constexpr std::array kUsers = {"ada",    "grace",    "linus",  "barbara",
                               "edsger", "margaret", "donald", "frances"};
constexpr std::array kAccounts = {"nlp",     "vision", "climate", "nlp",
                                  "physics", "vision", "climate", "bio"};
constexpr std::array kNames = {"pretrain-7b", "finetune",         "diffusion-xl", "wrf-hourly",
                               "eval",        "<b>bold</b> name", "md-run",       "sweep"};

class Month {
 public:
  Month(ResultStore& store, const DemoOptions& options)
      : store_(store), options_(options), random_(options.seed) {}
  Result<void> write();

 private:
  int pick(int below) { return static_cast<int>(random_() % static_cast<std::uint32_t>(below)); }
  const Ending& pick_ending();
  AttributionResult make(int index, Time end, const Ending& ending, int first_node, int nodes);
  void blame(const Ending& ending, AttributionResult* result);
  Result<void> add(int index, Time end, const Ending& ending, int first_node, int nodes);

  ResultStore& store_;
  const DemoOptions& options_;
  std::mt19937 random_;
};

std::string node_name(int number) {
  return fmt::format("rack{}-n{:02}", number / 16 + 1, number % 16 + 1);
}

const Ending& Month::pick_ending() {
  int total = 0;
  for (const Ending& ending : kEndings) total += ending.weight;
  int at = pick(total);
  for (const Ending& ending : kEndings) {
    at -= ending.weight;
    if (at < 0) return ending;
  }
  return kEndings[0];
}

void Month::blame(const Ending& ending, AttributionResult* result) {
  Verdict& verdict = result->verdict;
  if (ending.place == Place::nowhere) return;
  const std::string& node = result->context.nodes.front();
  verdict.culprits.nodes = {node};
  verdict.advice.action = Action::requeue_exclude_nodes;
  verdict.advice.exclude_nodes = {node};
  verdict.advice.summary = fmt::format("Submit again with --exclude={}.", node);
  if (ending.place != Place::gpu) return;
  const int gpu = pick(kGpusPerNode);
  verdict.culprits.gpus = {{node, gpu, fmt::format("0000:{:02x}:00.0", 0x1a + 16 * gpu),
                            fmt::format("GPU-0000{:04}-{}", gpu, node)}};
  verdict.advice.drain = {
      {node, fmt::format("nvab:{}:gpu{}:{}", to_string(ending.sub_domain), gpu, ending.rule),
       ending.confidence}};
}

AttributionResult Month::make(int index, Time end, const Ending& ending, int first_node,
                              int nodes) {
  AttributionResult result;
  ExecutionContext& context = result.context;
  const auto who = static_cast<std::size_t>(pick(static_cast<int>(kUsers.size())));
  context.scheduler = "slurm";
  context.cluster = "larch";
  context.job_id = std::to_string(410'000 + index);
  context.user = kUsers[who];
  context.account = kAccounts[who];
  context.partition = pick(4) == 0 ? "a100" : "h100";
  context.name = kNames[static_cast<std::size_t>(pick(static_cast<int>(kNames.size())))];
  context.gpus_per_node = kGpusPerNode;
  context.end_time = end;
  context.start_time = end - std::chrono::minutes(5 + pick(600));
  context.submit_time = *context.start_time - std::chrono::minutes(1 + pick(90));
  context.state = ending.state == T::completed ? "COMPLETED" : "FAILED";
  for (int i = 0; i < nodes; ++i) context.nodes.push_back(node_name((first_node + i) % kNodes));
  result.terminal_state = ending.state;
  result.sub_domain = ending.sub_domain;
  result.domain = domain_of(ending.sub_domain);
  result.evidence_status = pick(12) == 0 ? EvidenceStatus::partial : EvidenceStatus::complete;
  Verdict& verdict = result.verdict;
  verdict.outcome = ending.sub_domain == S::none ? "completed" : ending.cause;
  verdict.root_cause = {ending.cause,
                        ending.title,
                        ending.rule,
                        ending.confidence,
                        end - std::chrono::seconds(40),
                        ending.title,
                        {{std::string("strength of ") + ending.rule, ending.confidence}}};
  verdict.advice.action = ending.state == T::completed ? Action::none_needed : Action::investigate;
  verdict.timeline.push_back({end - std::chrono::seconds(40),
                              context.nodes.front(),
                              0,
                              "root",
                              ending.rule,
                              ending.line,
                              {"syslog/" + context.nodes.front(), 812, 0},
                              {},
                              ""});
  for (int i = 1; i < nodes && ending.place != Place::nowhere; ++i) {
    verdict.timeline.push_back({end - std::chrono::seconds(30 - i % 20),
                                context.nodes[static_cast<std::size_t>(i)],
                                i * kGpusPerNode,
                                "cascade",
                                "nccl.watchdog_timeout",
                                "Watchdog caught collective operation timeout",
                                {"applog/slurm.out", static_cast<std::uint64_t>(1200 + i), 0},
                                0,
                                ""});
  }
  verdict.victims.nodes = static_cast<int>(verdict.timeline.size()) - 1;
  blame(ending, &result);
  return result;
}

Result<void> Month::add(int index, Time end, const Ending& ending, int first_node, int nodes) {
  const auto added =
      store_.add(make(index, end, ending, first_node, nodes), end + std::chrono::seconds(2));
  if (!added) return tl::unexpected(added.error());
  return {};
}

Result<void> Month::write() {
  constexpr int kSwitchJobs = 14, kLemon = 37, kLemonEvery = 400;
  const Time begin = options_.end - kMonth;
  for (int i = 0; i < options_.runs; ++i) {
    const auto share = Duration(kMonth.count() / options_.runs * i);
    const bool is_lemon = i % kLemonEvery == kLemonEvery - 1;
    const Ending& ending = is_lemon ? kEndings[7] : pick_ending();
    const int first = is_lemon ? kLemon : pick(kNodes);
    if (auto done = add(i, begin + share, ending, first, 1 << pick(4)); !done) return done;
  }
  const Time outage = options_.end - std::chrono::hours(30);
  for (int i = 0; i < kSwitchJobs; ++i) {
    const Time end = outage + std::chrono::seconds(20 * i);
    if (auto done = add(options_.runs + i, end, kSwitch, 32 + i % 16, 2); !done) return done;
  }
  return {};
}

}  // namespace

Result<void> write_demo(const std::string& path, const DemoOptions& options) {
  auto store = ResultStore::open(path);
  if (!store) return tl::unexpected(store.error());
  // Made-up runs may be lost with the power; waiting for the disk after each would take minutes.
  if (auto done = (*store)->database().execute("PRAGMA synchronous = OFF"); !done) return done;
  return Month(**store, options).write();
}

}  // namespace nvab
