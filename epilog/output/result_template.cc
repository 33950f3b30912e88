// SPDX-License-Identifier: Apache-2.0
// See result_template.hh.
#include "epilog/output/result_template.hh"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "common/base/file.hh"
#include "common/base/hostlist.hh"
#include "common/base/text.hh"
#include "epilog/output/text_card.hh"

namespace nvab {
namespace {

using Value = Json (*)(const AttributionResult&);

struct Placeholder {
  std::string_view word;
  Value value;
};

constexpr int kCardWidth = 80;
constexpr std::size_t kMaxTemplate = 1024 * 1024;  // a person writes it

Json text_or_null(const std::string& text) { return text.empty() ? Json() : Json::of(text); }

Json drain_nodes(const AttributionResult& r) {
  std::vector<std::string> nodes;
  for (const DrainAdvice& advice : r.verdict.advice.drain) nodes.push_back(advice.node);
  return text_or_null(fold_hostlist(nodes));
}

Json exit_code(const AttributionResult& r) {
  return r.context.exit_code ? Json::of(to_string(*r.context.exit_code)) : Json();
}

constexpr Placeholder kPlaceholders[] = {
    {"account", [](const AttributionResult& r) { return text_or_null(r.context.account); }},
    {"action",
     [](const AttributionResult& r) { return Json::of(to_string(r.verdict.advice.action)); }},
    {"card",
     [](const AttributionResult& r) {
       return Json::of(text_card(r, {kCardWidth, false, false}));
     }},
    {"cause", [](const AttributionResult& r) { return text_or_null(r.verdict.root_cause.id); }},
    {"cluster", [](const AttributionResult& r) { return text_or_null(r.context.cluster); }},
    {"confidence",
     [](const AttributionResult& r) { return Json::of(r.verdict.root_cause.confidence); }},
    {"domain", [](const AttributionResult& r) { return Json::of(to_string(r.domain)); }},
    {"drain", drain_nodes},
    {"evidence", [](const AttributionResult& r) { return Json::of(to_string(r.evidence_status)); }},
    {"exclude",
     [](const AttributionResult& r) {
       return text_or_null(fold_hostlist(r.verdict.advice.exclude_nodes));
     }},
    {"exit_code", exit_code},
    {"explanation",
     [](const AttributionResult& r) { return text_or_null(r.verdict.root_cause.explanation); }},
    {"job", [](const AttributionResult& r) { return Json::of(r.context.job_id); }},
    {"name", [](const AttributionResult& r) { return text_or_null(r.context.name); }},
    {"nodes",
     [](const AttributionResult& r) {
       return text_or_null(fold_hostlist(r.verdict.culprits.nodes));
     }},
    {"partition", [](const AttributionResult& r) { return text_or_null(r.context.partition); }},
    {"rank", [](const AttributionResult& r) { return json_or_null(r.verdict.first_failing_rank); }},
    {"result", [](const AttributionResult& r) { return to_json(r); }},
    {"state", [](const AttributionResult& r) { return Json::of(to_string(r.terminal_state)); }},
    {"sub_domain", [](const AttributionResult& r) { return Json::of(to_string(r.sub_domain)); }},
    {"summary", [](const AttributionResult& r) { return text_or_null(r.verdict.advice.summary); }},
    {"title", [](const AttributionResult& r) { return text_or_null(r.verdict.root_cause.title); }},
    {"user", [](const AttributionResult& r) { return text_or_null(r.context.user); }},
};

const Placeholder* find_placeholder(std::string_view word) {
  const auto* found = std::find_if(std::begin(kPlaceholders), std::end(kPlaceholders),
                                   [&](const Placeholder& p) { return p.word == word; });
  return found == std::end(kPlaceholders) ? nullptr : found;
}

std::string plain(const Json& value) {
  if (value.is_null()) return {};
  return value.as_string().value_or(value.dump());
}

// The word of "{word}" at the beginning of the text, or nothing.
std::string_view placeholder_at(std::string_view text) {
  const std::size_t end = text.find('}');
  if (text.empty() || text.front() != '{' || end == std::string_view::npos || end < 2) return {};
  const std::string_view word = text.substr(1, end - 1);
  const bool is_word = std::all_of(word.begin(), word.end(),
                                   [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; });
  return is_word ? word : std::string_view();
}

}  // namespace

std::string placeholder_list() {
  std::string list;
  for (const Placeholder& p : kPlaceholders) {
    list += (list.empty() ? "" : ", ") + std::string(p.word);
  }
  return list;
}

Result<ResultTemplate> ResultTemplate::parse(std::string_view text) {
  ResultTemplate parsed;
  Piece piece;
  bool is_quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (const std::string_view word = placeholder_at(text.substr(i)); !word.empty()) {
      if (find_placeholder(word) == nullptr) {
        return fail(Error::Code::malformed, fmt::format("{{{}}} is no placeholder; there are {}",
                                                        word, placeholder_list()));
      }
      piece.placeholder = word;
      piece.is_quoted = is_quoted;
      parsed.pieces_.push_back(std::exchange(piece, {}));
      i += word.size() + 1;
      continue;
    }
    piece.literal += text[i];
    if (text[i] == '\\' && i + 1 < text.size()) {
      piece.literal += text[++i];
    } else if (text[i] == '"') {
      is_quoted = !is_quoted;
    }
  }
  parsed.pieces_.push_back(std::move(piece));
  return parsed;
}

Result<ResultTemplate> ResultTemplate::read(std::string_view text, const std::string& path) {
  if (path.empty()) return parse(text);
  const auto file = read_file(path, kMaxTemplate);
  if (!file) return tl::unexpected(file.error());
  return parse(*file);
}

std::string ResultTemplate::text(const AttributionResult& result) const {
  std::string filled;
  for (const Piece& piece : pieces_) {
    filled += piece.literal;
    if (piece.placeholder.empty()) continue;
    filled += plain(find_placeholder(piece.placeholder)->value(result));
  }
  return filled;
}

std::string ResultTemplate::json(const AttributionResult& result) const {
  std::string filled;
  for (const Piece& piece : pieces_) {
    filled += piece.literal;
    if (piece.placeholder.empty()) continue;
    const Json value = find_placeholder(piece.placeholder)->value(result);
    if (!piece.is_quoted) {
      filled += value.dump();
      continue;
    }
    const std::string quoted = Json::of(plain(value)).dump();
    filled += std::string_view(quoted).substr(1, quoted.size() - 2);
  }
  return filled;
}

}  // namespace nvab
