// SPDX-License-Identifier: Apache-2.0
// See parallel.hh.
#include "epilog/parallel.hh"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>
#include <utility>

namespace nvab {
namespace {

class SharedOutput final : public Output {
 public:
  struct Shared {
    std::mutex mutex;
    std::unique_ptr<Output> output;
  };
  explicit SharedOutput(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}

  bool wants(const AttributionResult& result) const override {
    const std::lock_guard lock(shared_->mutex);
    return shared_->output->wants(result);
  }
  Result<void> write(const AttributionResult& result) override {
    const std::lock_guard lock(shared_->mutex);
    return shared_->output->write(result);
  }

 private:
  std::shared_ptr<Shared> shared_;
};

}  // namespace

void in_parallel(std::size_t items, std::size_t threads,
                 const std::function<void(std::size_t item, std::size_t thread)>& work) {
  std::atomic<std::size_t> next{0};
  const auto take_all = [&](std::size_t thread) {
    for (std::size_t item = next++; item < items; item = next++) work(item, thread);
  };
  std::vector<std::thread> others;
  for (std::size_t i = 1; i < std::min(items, threads); ++i) others.emplace_back(take_all, i);
  take_all(0);
  for (std::thread& other : others) other.join();
}

std::vector<std::vector<NamedOutput>> share_outputs(std::vector<NamedOutput> outputs,
                                                    std::size_t count) {
  std::vector<std::vector<NamedOutput>> all(count);
  for (NamedOutput& named : outputs) {
    const auto shared = std::make_shared<SharedOutput::Shared>();
    shared->output = std::move(named.output);
    for (auto& list : all) list.push_back({named.name, std::make_unique<SharedOutput>(shared)});
  }
  return all;
}

}  // namespace nvab
