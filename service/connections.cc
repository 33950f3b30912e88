// SPDX-License-Identifier: Apache-2.0
// See connections.hh. A descriptor is only shut down here, under the table's lock and before its
// owner closes it; the owner's thread sees the end of the stream and cleans up.
#include "service/connections.hh"

#include <sys/socket.h>

#include <vector>

namespace nvab {
namespace {

// One client may hold this many times its limit while it is being told so; past it, it is dropped.
constexpr std::size_t kToldFactor = 2;

std::int64_t now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

bool is_busy(Connection::Phase phase) {
  return phase == Connection::Phase::receiving || phase == Connection::Phase::working ||
         phase == Connection::Phase::sending;
}

}  // namespace

bool Connection::move(Phase from, Phase to) {
  // First the time: who sees the new phase must not see the old one's age.
  since_.store(now_ms(), std::memory_order_relaxed);
  return phase_.compare_exchange_strong(from, to, std::memory_order_acq_rel);
}

bool ConnectionTable::may_accept(const std::string& client, bool is_remote) const {
  if (!is_remote || limits_.per_client == 0) return true;
  const std::lock_guard lock(mutex_);
  const auto found = by_client_.find(client);
  return found == by_client_.end() || found->second < limits_.per_client * kToldFactor;
}

Connection* ConnectionTable::open(int fd, std::string client, bool is_remote, bool is_plain) {
  auto made = std::make_unique<Connection>();
  made->fd_ = fd;
  made->is_plain_ = is_plain;
  made->client_ = std::move(client);
  made->since_ = now_ms();
  const std::lock_guard lock(mutex_);
  ++counts_.opened;
  if (is_remote && limits_.per_client > 0) {
    made->is_counted_per_client_ = true;
    if (++by_client_[made->client_] > limits_.per_client) {
      made->fate_ = Connection::Fate::too_many_of_client;
    }
  }
  if (all_.size() - expired_ >= limits_.connections) make_room();
  if (all_.size() - expired_ >= limits_.connections) made->fate_ = Connection::Fate::too_many;
  if (made->fate_ != Connection::Fate::welcome) ++counts_.refused;
  all_.push_back(std::move(made));
  all_.back()->place_ = std::prev(all_.end());
  return all_.back().get();
}

void ConnectionTable::close(Connection* connection) {
  const std::lock_guard lock(mutex_);
  if (connection->phase() == Connection::Phase::expired) --expired_;
  if (connection->is_counted_per_client_) {
    const auto found = by_client_.find(connection->client_);
    if (--found->second == 0) by_client_.erase(found);
  }
  all_.erase(connection->place_);
}

void ConnectionTable::take_away(Connection& connection) {
  ++expired_;
  ::shutdown(connection.fd_, SHUT_RDWR);
}

void ConnectionTable::make_room() {
  Connection* oldest = nullptr;
  for (const auto& each : all_) {
    if (each->phase() != Connection::Phase::waiting) continue;
    if (oldest == nullptr || each->since_ < oldest->since_) oldest = each.get();
  }
  if (oldest == nullptr) return;
  if (!oldest->move(Connection::Phase::waiting, Connection::Phase::expired)) return;
  ++counts_.evicted;
  take_away(*oldest);
}

void ConnectionTable::expire(const std::string& timeout_answer) {
  const std::lock_guard lock(mutex_);
  const std::int64_t now = now_ms();
  const auto too_old = [&](const Connection& c, std::chrono::seconds limit) {
    return now - c.since_ > std::chrono::milliseconds(limit).count();
  };
  for (const auto& each : all_) {
    Connection& c = *each;
    const Connection::Phase phase = c.phase();
    const bool is_slow =
        phase == Connection::Phase::receiving || phase == Connection::Phase::sending;
    if (!(phase == Connection::Phase::waiting && too_old(c, limits_.idle)) &&
        !(is_slow && too_old(c, limits_.request))) {
      continue;
    }
    if (!c.move(phase, Connection::Phase::expired)) continue;
    ++counts_.timed_out;
    // Nobody else writes while a body is being received.
    if (phase == Connection::Phase::receiving && c.is_plain_) {
      static_cast<void>(
          ::send(c.fd_, timeout_answer.data(), timeout_answer.size(), MSG_DONTWAIT | MSG_NOSIGNAL));
    }
    take_away(c);
  }
}

void ConnectionTable::close_waiting() {
  const std::lock_guard lock(mutex_);
  for (const auto& each : all_) {
    if (each->move(Connection::Phase::waiting, Connection::Phase::expired)) take_away(*each);
  }
}

std::size_t ConnectionTable::size() const {
  const std::lock_guard lock(mutex_);
  return all_.size();
}

std::size_t ConnectionTable::busy() const {
  const std::lock_guard lock(mutex_);
  std::size_t busy = 0;
  for (const auto& each : all_) busy += is_busy(each->phase()) ? 1 : 0;
  return busy;
}

ConnectionTable::Counts ConnectionTable::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

}  // namespace nvab
