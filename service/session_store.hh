// SPDX-License-Identifier: Apache-2.0
// All open sessions: who may open one, what goes into them and in which order it becomes durable,
// and when they end. For any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "service/journal.hh"
#include "service/observation_body.hh"
#include "service/session.hh"

namespace nvab {

struct StoreLimits {
  std::size_t sessions = 0;
  std::uint64_t memory = 0;  // of all sessions, by the estimate of SessionCounts
  SessionLimits each;
  Duration idle{0}, age{0};  // after which a session ends by itself
};

// Why something could not be done, as an answer.
struct StoreError {
  Problem problem = Problem::internal;
  std::string detail;
  std::string existing_id;  // of session_exists
};
template <typename T>
using StoreResult = tl::expected<T, StoreError>;

struct NewSession {
  std::string id;  // by attributor_id()
  ExecutionContext context;
  std::string ruleset;
  std::string metadata = "{}";
};
struct CreatedSession {
  std::string token;
  RulesetName ruleset;
};

// A body as the journal keeps it.
struct BodyToKeep {
  int version = 2;
  std::string encoding, bytes;
};

struct SubmittedObservation {
  std::string id;
  bool is_duplicate = false;
  bool prefiltered_by_others = false;
};

struct StoreCounts {
  std::uint64_t created = 0, removed = 0, expired_idle = 0, expired_age = 0, replayed = 0;
  std::uint64_t accepted = 0, duplicates = 0, entries = 0, bytes_replaced = 0;
  double extract_seconds = 0, attribute_seconds = 0;
};

// The body in the format of the given version, as the session's rules read it.
BodyResult<ParsedObservation> parse_observation(LiveSession& session, int version,
                                                std::string body);

class SessionStore {
 public:
  using Session = std::shared_ptr<LiveSession>;  // shared by the store and those at work on it

  // `journal` may be null: then nothing outlives the process.
  SessionStore(Rulesets& rulesets, RuleHits& hits, Journal* journal, StoreLimits limits)
      : rulesets_(rulesets), hits_(hits), journal_(journal), limits_(limits) {}

  // Opens again what the journal holds. Errors: of the journal; an observation or session that can
  // no longer be read is logged and left out. Stops early when `stop` becomes true.
  Result<void> replay(const std::atomic<bool>& stop);

  StoreResult<CreatedSession> create(NewSession session);
  Session find(std::string_view id) const;  // null: there is none
  StoreResult<SubmittedObservation> submit(LiveSession& session, ParsedObservation parsed,
                                           BodyToKeep body);
  std::shared_ptr<const RenderedVerdict> attribution(LiveSession& session);
  // The workload must still have the session's key.
  StoreResult<void> update(LiveSession& session, ExecutionContext context);
  StoreResult<void> remove(LiveSession& session);
  // Up to `limit` sessions with ids greater than `after`, by id.
  std::vector<Session> list(std::string_view after, std::size_t limit) const;
  // Those about a job of this id (as the workload has it in job_id or other_ids), of any cluster.
  std::vector<Session> of_job(const std::string& job_id, std::size_t limit) const;

  // Ends abandoned sessions; to be called every few seconds.
  void expire();

  std::size_t size() const;
  std::uint64_t memory() const {
    const std::int64_t bytes = memory_;
    return bytes > 0 ? static_cast<std::uint64_t>(bytes) : 0;
  }
  bool keeps_bodies() const { return journal_ != nullptr; }
  StoreCounts counts() const;

 private:
  void replay_session(const JournalSession& stored);
  bool replay_observation(LiveSession& session, JournalObservation&& stored);
  Extracted extract_counted(LiveSession& session, const Observation& observation);
  StoreResult<void> end(LiveSession& session);
  void erase(LiveSession& session);
  void insert(Session session);
  template <typename F>
  void count(F&& change) {
    const std::lock_guard lock(counts_mutex_);
    change(counts_);
  }

  Rulesets& rulesets_;
  RuleHits& hits_;
  Journal* journal_;
  const StoreLimits limits_;

  std::mutex create_mutex_;  // held over the commit: of two that create the same, one is first
  mutable std::mutex mutex_;
  std::map<std::string, Session, std::less<>> sessions_;
  std::multimap<std::string, Session> by_job_;  // of the same sessions
  std::atomic<std::int64_t> memory_{0};         // below 0 for moments, while a session ends
  mutable std::mutex counts_mutex_;
  StoreCounts counts_;
};

}  // namespace nvab
