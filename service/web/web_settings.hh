// SPDX-License-Identifier: Apache-2.0
// The section [web]: what nvab-web(8) can be told.
#pragma once

#include <string>
#include <vector>

#include "common/base/settings.hh"
#include "service/web/web.hh"

namespace nvab {

extern const ComponentSpec web_spec;

struct WebOptions {
  std::vector<std::string> listen;
  unsigned socket_mode = 0660;
  unsigned threads = 4;
  WebSettings web;
};

// Errors: malformed, with the setting's name; and those of files that it names.
Result<WebOptions> read_web_settings(const ComponentSettings& section);

}  // namespace nvab
