// SPDX-License-Identifier: Apache-2.0
// See session_store.hh. An observation is acknowledged after the journal has it, and taken in after
// that: what was acknowledged is never lost, what was not may be sent again.
#include "service/session_store.hh"

#include <algorithm>
#include <chrono>
#include <utility>

#include "common/base/decode.hh"
#include "common/base/log.hh"
#include "service/digest.hh"

namespace nvab {
namespace {

// What a journalled body may hold, whatever today's limit for new ones is.
constexpr std::size_t kMaxReplayedBody = std::size_t{2} * 1024 * 1024 * 1024;

tl::unexpected<StoreError> store_error(Problem problem, std::string detail) {
  return tl::unexpected(StoreError{problem, std::move(detail), {}});
}

tl::unexpected<StoreError> journal_error(const Error& error) {
  log_error(error.message);
  return store_error(Problem::journal_unavailable,
                     "It was not kept, so it was not taken; the service's log says why.");
}

tl::unexpected<StoreError> gone() {
  return store_error(Problem::no_such_session, "It was deleted meanwhile.");
}

Time now() { return std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now()); }

std::string token_digest(std::string_view token) {
  Sha256 digest;
  digest.update(token);
  return digest.finish();
}

std::vector<std::string> job_ids_of(const ExecutionContext& context) {
  std::vector<std::string> ids = {context.job_id};
  for (const std::string& id : context.other_ids) {
    if (id != context.job_id) ids.push_back(id);
  }
  return ids;
}

// Lets others with the same observation go on, however its handling ends.
class Begun {
 public:
  Begun(LiveSession& session, const std::string& id) : session_(session), id_(id) {}
  ~Begun() {
    if (!is_done_) session_.abandon(id_);
  }
  void done() { is_done_ = true; }

 private:
  LiveSession& session_;
  const std::string& id_;
  bool is_done_ = false;
};

}  // namespace

BodyResult<ParsedObservation> parse_observation(LiveSession& session, int version,
                                                std::string body) {
  if (version != 1) return parse_observation_v2(std::move(body));
  const LoadedRules::Lease rules(session.rules());
  return parse_observation_v1(std::move(body), *rules);
}

StoreResult<CreatedSession> SessionStore::create(NewSession session) {
  auto rules = rulesets_.find(session.ruleset);
  if (!rules) {
    return store_error(Problem::unknown_ruleset,
                       "This service has no ruleset of the name given in metadata.ruleset.");
  }
  const std::lock_guard one_at_a_time(create_mutex_);
  {
    const std::lock_guard lock(mutex_);
    if (sessions_.contains(session.id)) {
      return tl::unexpected(StoreError{Problem::session_exists,
                                       "Another client is at it; delete it first, or join it.",
                                       session.id});
    }
    if (sessions_.size() >= limits_.sessions) {
      return store_error(Problem::too_many_sessions, "Some must end before another can begin.");
    }
  }
  if (memory() >= limits_.memory) {
    return store_error(Problem::out_of_memory, "The open sessions take all that they may.");
  }
  const std::string token = random_token();
  SessionIdentity identity{session.id,      token_digest(token),
                           session.ruleset, std::move(session.metadata),
                           now(),           job_ids_of(session.context)};
  if (journal_ != nullptr) {
    const auto kept = journal_->add_session({identity.id, identity.token_digest, identity.ruleset,
                                             rules->name().digest, to_json(session.context).dump(),
                                             identity.metadata, identity.created});
    if (!kept) return journal_error(kept.error());
  }
  const RulesetName name = rules->name();
  auto live = std::make_shared<LiveSession>(std::move(identity), std::move(session.context),
                                            std::move(rules));
  memory_ += static_cast<std::int64_t>(live->counts().memory);
  insert(std::move(live));
  count([](StoreCounts& c) { ++c.created; });
  return CreatedSession{token, name};
}

void SessionStore::insert(Session session) {
  const SessionIdentity& identity = session->identity();
  const std::lock_guard lock(mutex_);
  for (const std::string& id : identity.job_ids) by_job_.emplace(id, session);
  sessions_[identity.id] = std::move(session);
}

SessionStore::Session SessionStore::find(std::string_view id) const {
  const std::lock_guard lock(mutex_);
  const auto found = sessions_.find(id);
  return found == sessions_.end() ? nullptr : found->second;
}

Extracted SessionStore::extract_counted(LiveSession& session, const Observation& observation) {
  const auto begin = std::chrono::steady_clock::now();
  const LoadedRules::Lease rules(session.rules());
  Extracted extracted = extract(*rules, observation);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  count([&](StoreCounts& c) { c.extract_seconds += took.count(); });
  hits_.count(extracted.events);
  return extracted;
}

StoreResult<SubmittedObservation> SessionStore::submit(LiveSession& session,
                                                       ParsedObservation parsed, BodyToKeep body) {
  const Observation& observation = parsed.observation;
  SubmittedObservation submitted;
  submitted.id = fast_observation_id(observation);
  submitted.prefiltered_by_others =
      observation.coverage.prefiltered &&
      observation.coverage.rules_digest != session.rules().name().digest;
  if (memory() >= limits_.memory) {
    return store_error(Problem::out_of_memory, "The open sessions take all that they may.");
  }
  switch (session.begin(submitted.id, observation.size(), limits_.each)) {
    case LiveSession::Begun::closed:
      return gone();
    case LiveSession::Begun::full:
      return store_error(Problem::session_full,
                         "Send what matters only, or ask for a higher limit.");
    case LiveSession::Begun::duplicate:
      count([](StoreCounts& c) { ++c.duplicates; });
      submitted.is_duplicate = true;
      return submitted;
    case LiveSession::Begun::fresh:
      break;
  }
  Begun begun(session, submitted.id);
  Extracted extracted = extract_counted(session, observation);
  if (journal_ != nullptr) {
    const auto kept = journal_->add_observation(
        session.identity().id,
        {submitted.id, body.version, std::move(body.encoding), std::move(body.bytes)});
    if (!kept && kept.error().code == Error::Code::not_found) return gone();
    if (!kept) return journal_error(kept.error());
  }
  std::uint64_t more = 0;
  if (!session.finish(submitted.id, observation, std::move(extracted), parsed.bytes_replaced,
                      &more)) {
    return gone();
  }
  begun.done();
  memory_ += static_cast<std::int64_t>(more);
  count([&](StoreCounts& c) {
    ++c.accepted;
    c.entries += observation.size();
    c.bytes_replaced += parsed.bytes_replaced;
  });
  return submitted;
}

std::shared_ptr<const RenderedVerdict> SessionStore::attribution(LiveSession& session) {
  double seconds = 0;
  auto rendered = session.attribution(&seconds);
  if (seconds > 0) count([&](StoreCounts& c) { c.attribute_seconds += seconds; });
  return rendered;
}

StoreResult<void> SessionStore::update(LiveSession& session, ExecutionContext context) {
  if (journal_ != nullptr) {
    const auto kept = journal_->update_workload(session.identity().id, to_json(context).dump());
    if (!kept) return journal_error(kept.error());
  }
  session.update(std::move(context));
  return {};
}

void SessionStore::erase(LiveSession& session) {
  session.close();
  {
    const std::lock_guard lock(mutex_);
    const auto found = sessions_.find(session.identity().id);
    // Another of the same id may have been opened since.
    if (found == sessions_.end() || found->second.get() != &session) return;
    for (const std::string& id : session.identity().job_ids) {
      const auto [begin, end] = by_job_.equal_range(id);
      const auto same = std::find_if(
          begin, end, [&](const auto& entry) { return entry.second == found->second; });
      if (same != end) by_job_.erase(same);
    }
    sessions_.erase(found);
  }
  memory_ -= static_cast<std::int64_t>(session.counts().memory);
}

StoreResult<void> SessionStore::remove(LiveSession& session) {
  const auto ended = end(session);
  if (ended) count([](StoreCounts& c) { ++c.removed; });
  return ended;
}

StoreResult<void> SessionStore::end(LiveSession& session) {
  // Of two that delete the same, or of one that deletes and one that creates, one is first.
  const std::lock_guard one_at_a_time(create_mutex_);
  if (find(session.identity().id).get() != &session) return gone();
  if (journal_ != nullptr) {
    const auto done = journal_->remove_session(session.identity().id);
    if (!done) return journal_error(done.error());
  }
  erase(session);
  return {};
}

std::vector<SessionStore::Session> SessionStore::list(std::string_view after,
                                                      std::size_t limit) const {
  std::vector<Session> found;
  const std::lock_guard lock(mutex_);
  for (auto it = sessions_.upper_bound(after); it != sessions_.end() && found.size() < limit;
       ++it) {
    found.push_back(it->second);
  }
  return found;
}

std::vector<SessionStore::Session> SessionStore::of_job(const std::string& job_id,
                                                        std::size_t limit) const {
  std::vector<Session> found;
  const std::lock_guard lock(mutex_);
  const auto [begin, end] = by_job_.equal_range(job_id);
  for (auto it = begin; it != end && found.size() < limit; ++it) found.push_back(it->second);
  return found;
}

void SessionStore::expire() {
  const Time today = now();
  std::vector<std::pair<Session, bool>> over;  // and whether by its age
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [id, session] : sessions_) {
      const bool is_old = today - session->identity().created >= limits_.age;
      if (is_old || session->idle() >= limits_.idle) over.emplace_back(session, is_old);
    }
  }
  for (const auto& [session, is_old] : over) {
    if (!end(*session)) continue;
    log_info("session " + session->identity().id + " has expired");
    count([by_age = is_old](StoreCounts& c) { ++(by_age ? c.expired_age : c.expired_idle); });
  }
  if (journal_ != nullptr) journal_->tidy();
}

Result<void> SessionStore::replay(const std::atomic<bool>& stop) {
  if (journal_ == nullptr) return {};
  const auto stored = journal_->sessions();
  if (!stored) return fail("reading the journal", stored.error());
  for (const JournalSession& session : *stored) {
    if (stop) return {};
    replay_session(session);
  }
  if (!stored->empty()) {
    log_info("opened " + std::to_string(size()) + " sessions again from the journal");
  }
  return {};
}

void SessionStore::replay_session(const JournalSession& stored) {
  const auto workload = Json::parse(stored.workload);
  auto context = workload ? context_from_json(*workload)
                          : Result<ExecutionContext>(tl::unexpected(workload.error()));
  auto rules = rulesets_.find(stored.ruleset);
  if (!context || !rules) {
    log_error("session " + stored.id + " stays closed: " +
              (context ? "there is no ruleset '" + stored.ruleset + "' any more"
                       : context.error().message));
    return;
  }
  if (rules->name().digest != stored.rules_digest) {
    log_warning("session " + stored.id + " goes on under other rules than it began with");
  }
  auto live = std::make_shared<LiveSession>(
      SessionIdentity{stored.id, stored.token_digest, stored.ruleset, stored.metadata,
                      stored.created, job_ids_of(*context)},
      *context, std::move(rules));
  const auto read = journal_->each_observation(stored.id, [&](JournalObservation&& observation) {
    return replay_observation(*live, std::move(observation));
  });
  if (!read) log_error("session " + stored.id + " is not complete: " + read.error().message);
  memory_ += static_cast<std::int64_t>(live->counts().memory);
  insert(std::move(live));
}

bool SessionStore::replay_observation(LiveSession& session, JournalObservation&& stored) {
  std::string body = std::move(stored.body);
  const auto complain = [&](const std::string& what) {
    log_error("session " + session.identity().id + ": observation " + stored.id +
              " of the journal cannot be read: " + what);
    return true;
  };
  if (!stored.encoding.empty()) {
    auto plain = decode_buffer(body, stored.encoding, kMaxReplayedBody);
    if (!plain) return complain(plain.error().message);
    body = std::move(*plain);
  }
  auto parsed = parse_observation(session, stored.version, std::move(body));
  if (!parsed) return complain(parsed.error().detail);
  const Observation& observation = parsed->observation;
  constexpr SessionLimits kNone{~std::uint64_t{0}, ~std::uint64_t{0}};
  // One that was written twice (a client that tried again after a failure) counts once.
  if (session.begin(stored.id, 0, kNone) != LiveSession::Begun::fresh) return true;
  Begun begun(session, stored.id);
  std::uint64_t more = 0;
  session.finish(stored.id, observation, extract_counted(session, observation),
                 parsed->bytes_replaced, &more);
  begun.done();
  count([](StoreCounts& c) { ++c.replayed; });
  return true;
}

std::size_t SessionStore::size() const {
  const std::lock_guard lock(mutex_);
  return sessions_.size();
}

StoreCounts SessionStore::counts() const {
  const std::lock_guard lock(counts_mutex_);
  return counts_;
}

}  // namespace nvab
