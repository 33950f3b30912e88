// SPDX-License-Identifier: Apache-2.0
// See session.hh.
#include "service/session.hh"

#include <chrono>
#include <utility>

#include "service/digest.hh"

namespace nvab {
namespace {

// What is kept of a context beside its JSON: strings and their nodes in maps.
constexpr std::uint64_t kContextFactor = 3;
// An open session with nothing in it.
constexpr std::uint64_t kSessionBytes = 4096;
// A group of like events: up to six events with their excerpt and captures.
constexpr std::uint64_t kEventGroupBytes = 3000;
// A remembered entry or observation: its hash or id in a table.
constexpr std::uint64_t kEntryBytes = 48;
constexpr std::uint64_t kObservationBytes = 160;

std::int64_t now_us() {
  return std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

template <typename T>
std::uint64_t bytes_of(const std::vector<T>& values, std::uint64_t each) {
  return values.size() * each;
}

// What the engine keeps of it beside events.
std::uint64_t kept_bytes(const Extracted& extracted) {
  std::uint64_t bytes = bytes_of(extracted.events, kEntryBytes) +
                        bytes_of(extracted.samples, sizeof(MetricSample) + 256) +
                        bytes_of(extracted.task_exits, sizeof(TaskExit) + 256) +
                        bytes_of(extracted.streams, sizeof(StreamCoverage) + 768);
  for (const FlightDump& dump : extracted.dumps) {
    bytes += bytes_of(dump.entries, sizeof(CollectiveRecord) + 128) +
             bytes_of(dump.groups, sizeof(FlightDump::Group) + 128);
  }
  return bytes;
}

}  // namespace

LiveSession::LiveSession(SessionIdentity identity, ExecutionContext context,
                         std::shared_ptr<LoadedRules> rules)
    : identity_(std::move(identity)),
      rules_(std::move(rules)),
      used_us_(now_us()),
      engine_(rules_->rules(), std::move(context)) {
  counts_.memory = kSessionBytes + kContextFactor * to_json(engine_.context()).dump().size() +
                   identity_.metadata.size();
}

LiveSession::Begun LiveSession::begin(const std::string& observation_id, std::uint64_t entries,
                                      const SessionLimits& limits) {
  touch();
  std::unique_lock lock(mutex_);
  for (;;) {
    if (is_closed_) return Begun::closed;
    const auto found = observations_.find(observation_id);
    if (found == observations_.end()) break;
    if (found->second) {
      ++counts_.duplicates;
      return Begun::duplicate;
    }
    resolved_.wait(lock);
  }
  if (observations_.size() >= limits.observations || counts_.entries + entries > limits.entries) {
    return Begun::full;
  }
  observations_.emplace(observation_id, false);
  return Begun::fresh;
}

bool LiveSession::finish(const std::string& observation_id, const Observation& observation,
                         Extracted extracted, std::uint64_t bytes_replaced, std::uint64_t* memory) {
  const std::uint64_t kept = kept_bytes(extracted);
  const bool filtered_by_others = observation.coverage.prefiltered &&
                                  observation.coverage.rules_digest != rules_->name().digest;
  {
    const std::lock_guard lock(mutex_);
    if (is_closed_) return false;
    const std::uint64_t before = engine_.event_count();
    engine_.add(std::move(extracted));
    counts_.events = engine_.event_count();
    const std::uint64_t more =
        kept + kObservationBytes + (counts_.events - before) * kEventGroupBytes;
    counts_.memory += more;
    *memory += more;
    counts_.entries += observation.size();
    counts_.bytes_replaced += bytes_replaced;
    counts_.prefiltered_by_others += filtered_by_others ? 1 : 0;
    // Of others there could be any number.
    const std::string& node = observation.coverage.complete_node;
    if (!node.empty() && engine_.context().has_node(node)) complete_nodes_.insert(node);
    ++counts_.observations;
    ++counts_.observations_by_source[static_cast<std::size_t>(observation.source)];
    ++version_;
    observations_[observation_id] = true;
  }
  resolved_.notify_all();
  return true;
}

void LiveSession::abandon(const std::string& observation_id) {
  {
    const std::lock_guard lock(mutex_);
    observations_.erase(observation_id);
  }
  resolved_.notify_all();
}

std::shared_ptr<const RenderedVerdict> LiveSession::attribution(double* engine_seconds) {
  touch();
  const LoadedRules::Lease rules(*rules_);
  const std::lock_guard lock(mutex_);
  if (rendered_ && rendered_version_ == version_) return rendered_;
  const auto begin = std::chrono::steady_clock::now();
  auto rendered = std::make_shared<RenderedVerdict>();
  rendered->json = to_json(engine_.attribute(*rules)).dump();
  Sha256 digest;
  digest.update(rendered->json);
  rendered->etag = '"' + digest.finish().substr(0, 32) + '"';
  *engine_seconds +=
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  rendered_ = std::move(rendered);
  rendered_version_ = version_;
  return rendered_;
}

void LiveSession::update(ExecutionContext context) {
  touch();
  const std::lock_guard lock(mutex_);
  engine_.update(std::move(context));
  ++version_;
}

std::string LiveSession::workload() const {
  // Written under the lock: parts of the document belong to the context, and count references.
  const std::lock_guard lock(mutex_);
  return to_json(engine_.context()).dump();
}

SessionCounts LiveSession::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

std::set<std::string> LiveSession::complete_nodes() const {
  const std::lock_guard lock(mutex_);
  return complete_nodes_;
}

void LiveSession::close() {
  {
    const std::lock_guard lock(mutex_);
    is_closed_ = true;
  }
  resolved_.notify_all();
}

void LiveSession::touch() { used_us_.store(now_us(), std::memory_order_relaxed); }
Duration LiveSession::idle() const {
  return Duration(now_us() - used_us_.load(std::memory_order_relaxed));
}

}  // namespace nvab
