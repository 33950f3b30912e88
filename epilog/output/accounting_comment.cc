// SPDX-License-Identifier: Apache-2.0
// See accounting_comment.hh.
#include "epilog/output/accounting_comment.hh"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "common/base/hostlist.hh"
#include "common/base/text.hh"

namespace nvab {
namespace {

constexpr std::string_view kName = "NVAB1:";
constexpr char kBorder = ';';

bool is_ours(std::string_view part) { return starts_with_nocase(trim(part), kName); }

// Host lists may hold commas in brackets; nothing of ours may hold borders, blanks or quotes.
std::string safe(std::string_view text) {
  std::string kept(text);
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("._-[],+").find(c) != std::string_view::npos;
  };
  std::replace_if(
      kept.begin(), kept.end(), [&](char c) { return !is_plain(c); }, '_');
  return kept;
}

class PartWriter {
 public:
  // Left out where it is empty or does not fit any more.
  bool add(std::string_view name, std::string_view value) {
    if (value.empty()) return true;
    const std::string field =
        fmt::format("{}{}={}", text_.size() == kName.size() ? "" : ",", name, safe(value));
    if (text_.size() + field.size() > kMaxCommentPart) return false;
    text_ += field;
    return true;
  }
  void add_nodes(std::string_view name, std::span<const std::string> nodes) {
    if (nodes.empty()) return;
    if (add(name, fold_hostlist(nodes))) return;
    add(fmt::format("{}_count", name), std::to_string(nodes.size()));
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_{kName};
};

}  // namespace

std::string comment_part(const AttributionResult& result) {
  const Verdict& verdict = result.verdict;
  PartWriter out;
  out.add("state", to_string(result.terminal_state));
  out.add("sub", to_string(result.sub_domain));
  out.add("cause", verdict.root_cause.id);
  if (!verdict.root_cause.id.empty()) {
    out.add("confidence", fmt::format("{:.0f}", std::round(verdict.root_cause.confidence * 100)));
  }
  out.add("action", to_string(verdict.advice.action));
  if (verdict.first_failing_rank) out.add("rank", std::to_string(*verdict.first_failing_rank));
  out.add("evidence", to_string(result.evidence_status));
  std::vector<std::string> drain;
  for (const DrainAdvice& advice : verdict.advice.drain) drain.push_back(advice.node);
  out.add_nodes("drain", drain);
  out.add_nodes("exclude", verdict.advice.exclude_nodes);
  return out.take();
}

std::string merge_comment(std::string_view comment, std::string_view part) {
  if (trim(comment).empty()) return std::string(part);
  std::string merged;
  bool is_in = false, is_first = true;
  for (std::string_view piece : split(comment, kBorder)) {
    if (is_ours(piece)) {
      if (is_in) continue;
      piece = part;
      is_in = true;
    }
    if (!is_first) merged += kBorder;
    is_first = false;
    merged += piece;
  }
  if (!is_in) {
    if (merged.back() != kBorder) merged += kBorder;
    merged += part;
  }
  return merged;
}

std::string_view own_part(std::string_view comment) {
  for (const std::string_view piece : split(comment, kBorder)) {
    if (is_ours(piece)) return trim(piece);
  }
  return {};
}

std::string foreign_part(std::string_view comment) {
  std::string foreign;
  for (const std::string_view piece : split(comment, kBorder)) {
    if (is_ours(piece) || piece.empty()) continue;
    if (!foreign.empty()) foreign += kBorder;
    foreign += piece;
  }
  return foreign;
}

bool has_capitals(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
}

Result<void> is_writable(std::string_view foreign, bool keeps_case) {
  if (foreign.find_first_of("'\"") != std::string_view::npos) {
    return fail(Error::Code::unsupported,
                "it holds quotes of another tool's text, which sacctmgr would turn into backticks");
  }
  if (!keeps_case && has_capitals(foreign)) {
    return fail(Error::Code::unsupported,
                "it holds capital letters of another tool's text, which this sacctmgr would turn "
                "into small ones");
  }
  if (foreign.size() + 1 + kMaxCommentPart > kMaxComment) {
    return fail(Error::Code::unsupported,
                fmt::format("another tool's text of {} bytes leaves no room", foreign.size()));
  }
  return {};
}

}  // namespace nvab
