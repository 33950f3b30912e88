// SPDX-License-Identifier: Apache-2.0
// See training_log.hh.
#include "tests/support/training_log.hh"

#include <fmt/format.h>

#include <iterator>
#include <random>

namespace nvab::test {
namespace {

constexpr std::size_t kPiece = 256 * 1024;

class Writer {
 public:
  explicit Writer(const TrainingLog& log) : log_(log), random_(log.seed) {}
  void run(const std::function<bool(std::string_view)>& write);

 private:
  unsigned pick(unsigned count) { return static_cast<unsigned>(random_() % count); }
  template <typename... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
    text_ += '\n';
  }
  void step_line(unsigned rank);
  void nccl_line(unsigned rank);
  void logger_line(unsigned rank);
  void rare_line(unsigned rank);
  void next_line();

  const TrainingLog& log_;
  std::mt19937_64 random_;
  std::string text_;
  std::uint64_t milliseconds_ = 0;
  unsigned step_ = 1000;
  std::string clock_;
};

void Writer::step_line(unsigned rank) {
  if (pick(3) == 0) {
    line(
        "{}:  [{}] iteration {:8}/ 2000000 | consumed samples: {:12} | elapsed time per iteration "
        "(ms): {}.{} | throughput per GPU (TFLOP/s/GPU): {}.{} | learning rate: 1.{:06}E-04 | "
        "global batch size:  2048 | lm loss: {}.{:06}E+00 | loss scale: 1.0 | grad norm: 0.{:03} | "
        "num zeros: {} | number of skipped iterations:   0 | number of nan iterations:   0 |",
        rank, clock_, step_, step_ * 2048ULL, 8000 + pick(900), pick(10), 380 + pick(60), pick(10),
        pick(1000000), 1 + pick(3), pick(1000000), pick(1000), pick(100000));
  } else {
    line("{}: {},{:03} - INFO - [rank {}] step {} loss={}.{:04} ppl={}.{:02} tokens/s={} mem={}GiB",
         rank, clock_, milliseconds_ % 1000, rank, step_, 1 + pick(3), pick(10000), 5 + pick(20),
         pick(100), 10000 + pick(5000), 60 + pick(15));
  }
  if (pick(log_.ranks) == 0) ++step_;
}

void Writer::nccl_line(unsigned rank) {
  const unsigned node = rank / 8, gpu = rank % 8, pid = 40000 + node * 17 % 9000 + gpu;
  switch (pick(40)) {
    case 0:
      return line(
          "gn{:04}:{}:{} [{}] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB/SHARP [1]mlx5_1:1/IB/SHARP "
          "[RO]; OOB bond0:10.21.{}.{}<0>",
          node, pid, pid + 300, gpu, node / 250, node % 250);
    case 1:  // a few communicators a rank, each said once or so
      return line(
          "gn{:04}:{}:{} [{}] NCCL INFO comm 0x55d{:08x} rank {} nranks {} cudaDev {} nvmlDev {} "
          "busId {:x}000 commId 0x9f16 - Init COMPLETE",
          node, pid, pid + 300, gpu, rank * 4096, rank, log_.ranks, gpu, gpu, 0x1b + gpu);
    default:
      return line(
          "gn{:04}:{}:{} [{}] NCCL INFO Channel {:02}/0 : {}[{}] -> {}[{}] [send] via "
          "NET/IB/{}/GDRDMA",
          node, pid, pid + 300 + pick(40), gpu, pick(24), rank, gpu, (rank + 8) % log_.ranks, gpu,
          gpu);
  }
}

void Writer::logger_line(unsigned rank) {
  switch (pick(5)) {
    case 0:
      return line(
          "{}: {} [rank{}] WARNING:megatron.core.dist_checkpointing: async save of "
          "iter_{:07} still in flight, {}/512 shards written, checked again in {} s, no errors "
          "so far",
          rank, clock_, rank, step_, pick(512), 1 + pick(30));
    case 1:
      return line(
          "{}: [{},{:03}] [INFO] [timer.py:264:stop] epoch=0/micro_step={}/global_step={}, "
          "RunningAvgSamplesPerSec={}.{}, MemAllocated={}.{}GB, MaxMemAllocated={}.{}GB",
          rank, clock_, milliseconds_ % 1000, step_ * 8, step_, pick(900), pick(1000000),
          50 + pick(9), pick(100), 70 + pick(9), pick(100));
    case 2:
      return line(
          "{}: [NeMo I {} nemo_model_checkpoint:{}] checkpoint callback: val_loss={}.{:04} "
          "not better than best, error rate 0.0%, skipping; failed=0 timeouts=0",
          rank, clock_, pick(900), 1 + pick(3), pick(10000));
    case 3:
      return line(
          "{}: dataloader: rank {} worker {} prefetched shard /data/c4/shard_{:05}.bin "
          "offset={} len={} in {} ms (cache hit)",
          rank, rank, pick(8), pick(99999), random_() >> 24, pick(1U << 24), pick(900));
    default:
      return line(
          "{}: wandb: Run summary: loss {}.{:05} grad_norm 0.{:04} exceptions 0 nan_count 0", rank,
          1 + pick(3), pick(100000), pick(10000));
  }
}

void Writer::rare_line(unsigned rank) {
  switch (pick(4)) {
    case 0:
      return line(
          "{}: /usr/lib/python3.12/dist-packages/torch/distributed/distributed_c10d.py:{}: "
          "UserWarning: barrier(): using the device under current context. You can specify "
          "`device_id` in `init_process_group` to mute this warning.",
          rank, 1000 + pick(4000));
    case 1:
      return line(
          "{}: (min, max) time across ranks (ms):\n{}:     forward-backward ..........: "
          "({}.{:02}, {}.{:02})",
          rank, rank, 7000 + pick(900), pick(100), 8000 + pick(900), pick(100));
    case 2:
      return line(
          "{{\"ts\": \"{}Z\", \"level\": \"info\", \"rank\": {}, \"event\": "
          "\"checkpoint_saved\", \"path\": \"/scratch/ckpt/iter_{:07}\", \"error\": null}}",
          clock_, rank, step_);
    default:
      return line("{}: ", rank);
  }
}

void Writer::next_line() {
  milliseconds_ += pick(3);
  const std::uint64_t seconds = milliseconds_ / 1000;
  clock_ = fmt::format("2026-03-{:02} {:02}:{:02}:{:02}", 1 + seconds / 86400 % 28,
                       seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
  const unsigned rank = pick(log_.ranks);
  if (!log_.failures.empty() && pick(1000000) < log_.failing_per_million) {
    return line("{}: {}", rank, log_.failures[pick(static_cast<unsigned>(log_.failures.size()))]);
  }
  const unsigned kind = pick(100);
  if (kind < 55) return step_line(rank);
  if (kind < 75) return nccl_line(rank);
  if (kind < 92) return logger_line(rank);
  rare_line(rank);
}

void Writer::run(const std::function<bool(std::string_view)>& write) {
  for (std::uint64_t written = 0; written < log_.bytes;) {
    text_.clear();
    while (text_.size() < kPiece && written + text_.size() < log_.bytes) next_line();
    written += text_.size();
    if (!write(text_)) return;
  }
}

}  // namespace

void write_training_log(const TrainingLog& log,
                        const std::function<bool(std::string_view)>& write) {
  Writer(log).run(write);
}

}  // namespace nvab::test
