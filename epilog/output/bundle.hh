// SPDX-License-Identifier: Apache-2.0
// Saves what was collected about a context as an evidence bundle (--save-bundle), which
// `nvab-run --replay` judges alike.
#pragma once

#include <memory>
#include <string>

#include "epilog/host.hh"
#include "epilog/pipeline.hh"

namespace nvab {

struct BundleOptions {
  std::string folder;  // must not exist, or be empty
  bool redact = false;
  bool all_lines = false;  // for the record in bundle.json
};

// Of several contexts each gets a folder of its own below `folder`, called after its job. What was
// redacted is judged again: when the verdict is not the same under the new names, write() says so
// in a warning. Errors of writing come from write().
std::unique_ptr<EvidenceKeeper> make_bundle(BundleOptions options, Host& host);

}  // namespace nvab
