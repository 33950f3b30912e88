// SPDX-License-Identifier: Apache-2.0
// All connections of the service, so that none of them can keep others out: those that only sit
// there are closed when room is needed, and requests that trickle in are ended.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace nvab {

struct ConnectionLimits {
  std::size_t connections = 0;   // of all clients
  std::size_t per_client = 0;    // of one network address that is not this machine's; 0: no limit
  std::chrono::seconds idle{0};  // waiting for a request, or for the rest of its head
  std::chrono::seconds request{0};  // for a body to arrive, and for an answer to be taken
};

// One connection. Its phase says whose turn it is, and since when.
class Connection {
 public:
  // waiting: for the head of a request. receiving: its body. working: ours to answer. sending: the
  // client's to read. expired: taken away by the table, nobody else may use it.
  enum class Phase : int { waiting, receiving, working, sending, expired };
  enum class Fate { welcome, too_many, too_many_of_client };

  Fate fate() const { return fate_; }
  const std::string& client() const { return client_; }
  // False when the table has taken the connection away; it is closing then.
  bool move(Phase from, Phase to);
  Phase phase() const { return phase_.load(std::memory_order_acquire); }

 private:
  friend class ConnectionTable;
  int fd_ = -1;
  bool is_plain_ = true;  // bytes may be written to it as they are
  bool is_counted_per_client_ = false;
  Fate fate_ = Fate::welcome;
  std::string client_;
  std::atomic<Phase> phase_{Phase::waiting};
  std::atomic<std::int64_t> since_{0};  // steady clock, milliseconds
  std::list<std::unique_ptr<Connection>>::iterator place_;
};

// For any thread.
class ConnectionTable {
 public:
  explicit ConnectionTable(ConnectionLimits limits) : limits_(limits) {}

  // Whether a connection of `client` is worth accepting at all: false for one far past its limit.
  bool may_accept(const std::string& client, bool is_remote) const;
  // `fd` stays open until close(). The result is valid until then. Past the limit, the connection
  // that has been waiting longest is closed to make room; if all are busy, the new one's fate says
  // what to answer.
  Connection* open(int fd, std::string client, bool is_remote, bool is_plain);
  // Before the descriptor is closed.
  void close(Connection* connection);

  // Ends what has overstayed; to be called about once a second. `timeout_answer` is written as it
  // is to a client whose body did not arrive in time.
  void expire(const std::string& timeout_answer);
  // Ends every connection that waits; those at work go on.
  void close_waiting();

  std::size_t size() const;
  std::size_t busy() const;  // receiving, working or sending
  struct Counts {
    std::uint64_t opened = 0, evicted = 0, refused = 0, timed_out = 0;
  };
  Counts counts() const;

 private:
  void take_away(Connection& connection);
  void make_room();

  const ConnectionLimits limits_;
  mutable std::mutex mutex_;
  std::list<std::unique_ptr<Connection>> all_;  // oldest first
  std::map<std::string, std::size_t> by_client_;
  std::size_t expired_ = 0;  // of all_: closing
  Counts counts_;
};

}  // namespace nvab
