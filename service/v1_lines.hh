// SPDX-License-Identifier: Apache-2.0
// The lines of Loki's streams as entries, by the reader that reads files: whole multi-line blocks,
// ranks and prefixes as fields. Loki knows the time of each line, so that theirs is not guessed.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/engine/ruleset.hh"
#include "common/model/observation.hh"

namespace nvab {

class V1Lines {
 public:
  struct Line {
    long long ns = 0;  // since 1970
    std::string message;
    std::string severity, facility;  // where the line brought them
  };

  // Takes lines of a stream: `stream` has its name, source-independent defaults and trust; `node`
  // and `app` are of these lines. `is_plain`: the message is all there is, with no head in front.
  void add(const LogEntry& stream, const std::string& node, const std::string& app, bool is_plain,
           Line line);
  // All lines as entries of `out`, whose source is set, with their coverage. Each line is in one
  // entry; the lines of a block are one.
  void finish(const Ruleset& rules, Observation* out);

 private:
  struct Key {
    std::string stream, node, app;
    bool is_plain = false;
    auto operator<=>(const Key&) const = default;
  };
  struct Group {
    Trust trust = Trust::user;
    std::vector<Line> lines;
  };
  static void read(const Ruleset& rules, const Key& key, Group& group, Observation* out);

  std::map<Key, Group> groups_;
};

}  // namespace nvab
