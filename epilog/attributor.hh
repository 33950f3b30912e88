// SPDX-License-Identifier: Apache-2.0
// Who judges: the engine in this process, or a service. Same calls, same verdict.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/result.hh"
#include "common/engine/ruleset.hh"
#include "common/model/context.hh"
#include "common/model/observation.hh"
#include "common/model/verdict.hh"

namespace nvab {

// One open session about one context; closed by its destructor. For one thread.
class Session {
 public:
  virtual ~Session() = default;
  virtual const std::string& id() const = 0;
  enum class Submitted { accepted, duplicate };
  virtual Result<Submitted> submit(const Observation& observation) = 0;
  // On all that was submitted; may be asked again after more.
  virtual Result<Verdict> attribution() = 0;
  // Whether lines that our rules do not select must be submitted, too: it judges by other rules.
  virtual bool wants_everything() const { return false; }
  // Nodes whose own runners have said that they have sent all they have; only a service hears them.
  virtual Result<std::vector<std::string>> complete_nodes() { return std::vector<std::string>{}; }
};

// Another client has a session about the context.
struct AttributorConflict {
  std::string attributor_id;  // of that session
  Error cause;                // the HTTP error that said so, of the code conflict
};

// What opening came to: a session or a conflict.
struct OpenedSession {
  std::unique_ptr<Session> session;
  std::optional<AttributorConflict> conflict;  // where there is no session
};

class Attributor {
 public:
  virtual ~Attributor() = default;
  virtual Result<OpenedSession> open(const ExecutionContext& context) = 0;
};

// The engine in this process; never a conflict. `rules` must outlive it.
std::unique_ptr<Attributor> make_embedded_attributor(const Ruleset& rules);

}  // namespace nvab
