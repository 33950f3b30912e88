// SPDX-License-Identifier: Apache-2.0
// The framework auth: how connectors and outputs prove who they are to a server. A component names
// its credentials by `auth = "NAME"`, the instance of an auth component: [auth.token.NAME]. What is
// secret never stands in a message, a report or the settings that are shown.
#pragma once

#include <string>

#include "common/base/http.hh"
#include "common/base/result.hh"

namespace nvab {

// For one thread.
class Credentials {
 public:
  virtual ~Credentials() = default;
  // What connections need: certificates, names. Once, before the first.
  virtual void prepare(HttpOptions* options) const { (void)options; }
  // What each request needs, as secret headers. Looks again whether a file has changed, so that
  // rotation works: call it before every try. Errors: what is wrong with the secret's source.
  virtual Result<void> authorize(HttpRequest* request) {
    (void)request;
    return {};
  }
  // `insecure = true`: they may go over plain http, where everybody on the way can read them.
  virtual bool may_go_unencrypted() const { return false; }
};

}  // namespace nvab
