// SPDX-License-Identifier: Apache-2.0
// LogQL from a template of the site: `${nodes}` and the like stand for what is known of a job. A
// value can only ever become part of a string, or of a regular expression that matches just it,
// whatever it holds.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.hh"
#include "common/model/context.hh"

namespace nvab {

// Values of the placeholders by their names; those that are lists may have any number, the others
// one or none.
using LogqlValues = std::map<std::string, std::vector<std::string>, std::less<>>;

// All that a job gives values for. `nodes` are those of the query, which may be a part of the
// job's.
LogqlValues logql_values(const ExecutionContext& context, const std::vector<std::string>& nodes);

class LogqlTemplate {
 public:
  // Errors: malformed: a string without end, a placeholder that is not known, stands outside a
  // string, or is a list in a string that is no regular expression.
  static Result<LogqlTemplate> parse(std::string_view text);

  // Errors: not_found: the job has no value for a placeholder.
  Result<std::string> render(const LogqlValues& values) const;
  bool uses(std::string_view name) const;

 private:
  // Text that is copied, or a placeholder.
  struct Piece {
    std::string text;
    bool is_name = false, is_regex = false;
  };
  class Parser;
  std::vector<Piece> pieces_;
};

// A regular expression (RE2) that matches exactly this text.
std::string regex_quote(std::string_view text);
// The inside of a LogQL string in double quotes.
std::string logql_escape(std::string_view text);

}  // namespace nvab
