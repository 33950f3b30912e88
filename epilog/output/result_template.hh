// SPDX-License-Identifier: Apache-2.0
// Texts with {placeholders} for what a result says: subjects, bodies of web hooks.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/json.hh"
#include "common/base/result.hh"
#include "common/model/result.hh"

namespace nvab {

// The placeholders, for manuals and messages: "job, name, user, …".
std::string placeholder_list();

class ResultTemplate {
 public:
  // "{word}" is a placeholder, any other brace itself. Errors: malformed (a word that is none, with
  // the nearest one).
  static Result<ResultTemplate> parse(std::string_view text);
  // The text, or what the file holds where its path is not empty.
  static Result<ResultTemplate> read(std::string_view text, const std::string& path);

  // As plain text; of what is not known, nothing.
  std::string text(const AttributionResult& result) const;
  // As JSON: inside quotes a value is an escaped text, outside a number, a quoted text or an
  // object.
  std::string json(const AttributionResult& result) const;

 private:
  struct Piece {
    std::string literal;      // in front of the value
    std::string placeholder;  // empty at the end
    bool is_quoted = false;
  };
  std::vector<Piece> pieces_;
};

}  // namespace nvab
