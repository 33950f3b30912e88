// SPDX-License-Identifier: Apache-2.0
// The default: no server, no network, the library of the service in this process.
#include <utility>

#include "common/engine/engine.hh"
#include "common/model/attributor_id.hh"
#include "epilog/attributor.hh"

namespace nvab {
namespace {

class EmbeddedSession final : public Session {
 public:
  EmbeddedSession(const Ruleset& rules, const ExecutionContext& context, std::string id)
      : engine_(rules, context), id_(std::move(id)) {}
  const std::string& id() const override { return id_; }
  Result<Submitted> submit(const Observation& observation) override {
    engine_.ingest(observation);
    return Submitted::accepted;
  }
  Result<Verdict> attribution() override { return engine_.attribute(); }

 private:
  Engine engine_;
  std::string id_;
};

class EmbeddedAttributor final : public Attributor {
 public:
  explicit EmbeddedAttributor(const Ruleset& rules) : rules_(rules) {}
  Result<OpenedSession> open(const ExecutionContext& context) override {
    OpenedSession opened;
    opened.session = std::make_unique<EmbeddedSession>(rules_, context,
                                                       attributor_id(context, rules_.name().name));
    return opened;
  }

 private:
  const Ruleset& rules_;
};

}  // namespace

std::unique_ptr<Attributor> make_embedded_attributor(const Ruleset& rules) {
  return std::make_unique<EmbeddedAttributor>(rules);
}

}  // namespace nvab
