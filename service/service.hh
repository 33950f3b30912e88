// SPDX-License-Identifier: Apache-2.0
// The service without sockets: what is admitted, which handler answers, what is counted. Tests call
// it directly; main.cc puts httpd in front of it.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "service/access_log.hh"
#include "service/httpd.hh"
#include "service/metrics.hh"
#include "service/router.hh"
#include "service/service_settings.hh"
#include "service/session_store.hh"

namespace nvab {

class Service final : public HttpApp {
 public:
  // Loads rules and opens the journal. Errors: of those.
  static Result<std::unique_ptr<Service>> create(ServiceSettings settings);
  ~Service() override;

  // Reads the journal back, and is ready from then on. Errors: of the journal; the service should
  // not go on.
  Result<void> start();
  // Rules and access log again; on an error the old rules stay.
  Result<void> reload();
  // To be called about once a second.
  void tick();
  // No new requests from now on (503).
  void stop();

  std::optional<Response> begin(Request& head) override;
  std::size_t body_limit(const Request& head) const override;
  Response handle(Request& request) override;
  void done(const Request& request, const Exchange& exchange) override;

  const ServiceSettings& settings() const { return settings_; }
  SessionStore& store() { return *store_; }
  Rulesets& rulesets() { return *rulesets_; }
  const Router& router() const { return *router_; }
  BodyBudget& bodies() { return bodies_; }
  ConnectionTable& connections() { return connections_; }
  bool is_ready() const { return is_ready_ && !is_stopping_; }
  std::string metrics_text() const;
  const std::string& openapi() const { return openapi_; }

 private:
  explicit Service(ServiceSettings settings);
  void give_memory_back();
  std::optional<Response> refuse_state(const RouteSpec& spec) const;
  std::optional<Response> refuse_credentials(const Request& head) const;
  std::optional<Response> refuse_body(const Request& head) const;

  const ServiceSettings settings_;
  BodyBudget bodies_;
  ConnectionTable connections_;
  RuleHits hits_;
  std::unique_ptr<Rulesets> rulesets_;
  std::unique_ptr<Journal> journal_;
  std::unique_ptr<SessionStore> store_;
  std::unique_ptr<Router> router_;
  std::unique_ptr<RequestMetrics> requests_;
  std::unique_ptr<AccessLog> access_log_;
  std::string openapi_;
  std::atomic<bool> is_ready_{false}, is_stopping_{false};
  std::atomic<std::uint64_t> reloads_{0}, failed_reloads_{0};
  int ticks_ = 0;
  std::uint64_t most_memory_ = 0;  // of sessions, since memory was given back
  const Time started_;
};

}  // namespace nvab
