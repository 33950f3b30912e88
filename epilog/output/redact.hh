// SPDX-License-Identifier: Apache-2.0
// Other names for users, hosts, addresses and paths, the same one everywhere. First all text is
// learned, then names are given in the order of the old ones (what sorts, sorts alike), then text
// is rewritten. Pure.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "common/base/json.hh"

namespace nvab {

class Redactor {
 public:
  // A name that stands for a host ("n2", "n2.hpc.example.org") or a user. Names that everybody has
  // (localhost, root) are no secret and stay.
  void learn_host(std::string_view name);
  void learn_user(std::string_view name);
  // Finds addresses and path components in a text.
  void learn(std::string_view text);
  void learn(const Json& json);  // in all texts of a document

  // Gives the new names; after it, apply() may be called and learn() may not.
  void seal();

  std::string apply(std::string_view text) const;
  // All texts of a document; member names only where they are hosts (`gpus` of a job).
  Json apply(const Json& json) const;

 private:
  enum class Pass { learn, apply };
  std::string scan(std::string_view text, Pass pass) const;
  std::string word(std::string_view token) const;
  std::string address(std::string_view token) const;
  std::string hostlist(std::string_view token) const;
  std::string path(std::string_view token, Pass pass) const;
  std::string component(std::string_view part, Pass pass) const;

  std::map<std::string, std::string> hosts_, users_, domains_;
  // Learned while scanning, which rewrites nothing then.
  mutable std::map<std::string, std::string> words_, addresses_;
};

}  // namespace nvab
