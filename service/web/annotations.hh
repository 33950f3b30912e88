// SPDX-License-Identifier: Apache-2.0
// What people say about verdicts ("this one is wrong"): in a small database of its own, never in
// the results.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "common/base/json.hh"
#include "common/base/sqlite.hh"

namespace nvab {

struct Annotation {
  long long run_id = 0;
  std::string context_key;
  std::string author;      // as they call themselves
  std::string sub_domain;  // what it should have been; empty: not said
  std::string text;
};

// For any thread.
class Annotations {
 public:
  // Creates the file where there is none.
  static Result<std::unique_ptr<Annotations>> open(const std::string& path);

  Result<void> add(const Annotation& annotation, Time now);
  // Of a context, whichever run was annotated: the newest first, as a list.
  Result<Json> of_context(const std::string& context_key);

 private:
  explicit Annotations(Db db) : db_(std::move(db)) {}
  std::mutex mutex_;
  Db db_;
};

}  // namespace nvab
