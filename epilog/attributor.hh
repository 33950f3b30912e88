// SPDX-License-Identifier: Apache-2.0
// Who judges: the engine in this process, or a service. Same calls, same verdict.
#pragma once

#include <memory>
#include <string>

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
};

// What opening came to: a session, or the id of the one that somebody else holds.
struct OpenedSession {
  std::unique_ptr<Session> session;  // null: conflict
  std::string attributor_id;
  Error conflict;  // what the service answered, with code conflict; empty where there is none
};

class Attributor {
 public:
  virtual ~Attributor() = default;
  virtual Result<OpenedSession> open(const ExecutionContext& context) = 0;
};

// The engine in this process; never a conflict. `rules` must outlive it.
std::unique_ptr<Attributor> make_embedded_attributor(const Ruleset& rules);

}  // namespace nvab
