// SPDX-License-Identifier: Apache-2.0
// One open session: an engine about one context, and what it has been told. For any thread; bodies
// are parsed and rules matched outside its lock, by the caller.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>

#include "common/base/json.hh"
#include "common/engine/engine.hh"
#include "service/rulesets.hh"

namespace nvab {

struct SessionLimits {
  std::uint64_t observations = 0;  // of one session
  std::uint64_t entries = 0;       // of one session, all observations together
};

// What is constant about a session.
struct SessionIdentity {
  std::string id;
  std::string token_digest;  // SHA-256 of the token: the token itself is the creator's alone
  std::string ruleset;
  std::string metadata;  // JSON, as the creator gave it
  Time created{};
  std::vector<std::string> job_ids;  // what the job is called, as it was created
};

struct SessionCounts {
  std::uint64_t observations = 0, duplicates = 0, entries = 0;
  std::uint64_t bytes_replaced = 0, prefiltered_by_others = 0;
  std::array<std::uint64_t, 6> observations_by_source{};
  std::uint64_t events = 0;
  std::uint64_t memory = 0;  // an estimate, bytes
};

// A verdict as it is sent.
struct RenderedVerdict {
  std::string json, etag;
};

class LiveSession {
 public:
  LiveSession(SessionIdentity identity, ExecutionContext context,
              std::shared_ptr<LoadedRules> rules);

  const SessionIdentity& identity() const { return identity_; }
  LoadedRules& rules() const { return *rules_; }

  // Before the work on an observation begins. fresh: go on, and end with finish() or abandon();
  // others that send the same wait until then.
  enum class Begun { fresh, duplicate, full, closed };
  Begun begin(const std::string& observation_id, std::uint64_t entries,
              const SessionLimits& limits);
  // Takes the observation in. False when the session was closed meanwhile.
  // Adds to `memory` what it now takes more.
  bool finish(const std::string& observation_id, const Observation& observation,
              Extracted extracted, std::uint64_t bytes_replaced, std::uint64_t* memory);
  void abandon(const std::string& observation_id);

  // The verdict on what has been taken in; made again only when something changed.
  std::shared_ptr<const RenderedVerdict> attribution(double* engine_seconds);
  void update(ExecutionContext context);
  std::string workload() const;  // JSON

  SessionCounts counts() const;
  // Nodes of the context whose own runners have sent all that they have.
  std::set<std::string> complete_nodes() const;

  void close();  // waits for nobody; those at work will learn of it
  // On the steady clock, for expiry.
  void touch();
  Duration idle() const;

 private:
  const SessionIdentity identity_;
  // Shared with the service, which lets go of it when other rules are loaded.
  const std::shared_ptr<LoadedRules> rules_;
  std::atomic<std::int64_t> used_us_{0};

  mutable std::mutex mutex_;
  std::condition_variable resolved_;
  Engine engine_;
  std::unordered_map<std::string, bool> observations_;  // id -> taken in (else: being worked on)
  SessionCounts counts_;
  std::set<std::string> complete_nodes_;
  std::uint64_t version_ = 0, rendered_version_ = 0;
  // Shared with those who are sending it while it is replaced.
  std::shared_ptr<const RenderedVerdict> rendered_;
  bool is_closed_ = false;
};

}  // namespace nvab
