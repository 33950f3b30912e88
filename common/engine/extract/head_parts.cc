// SPDX-License-Identifier: Apache-2.0
// Words that all dialects share: hosts, numbers, levels; and stamps as program output frames them.
#include "common/engine/extract/head_parts.hh"

#include <algorithm>

#include "common/base/text.hh"

namespace nvab {
namespace {

struct LevelWord {
  std::string_view word;
  std::string_view severity;
};
constexpr LevelWord kLevels[] = {
    {"info", "info"},   {"warning", "warning"}, {"warn", "warning"},  {"error", "err"},
    {"err", "err"},     {"debug", "debug"},     {"fatal", "crit"},    {"critical", "crit"},
    {"crit", "crit"},   {"notice", "notice"},   {"trace", "debug"},   {"panic", "emerg"},
    {"emerg", "emerg"}, {"alert", "alert"},     {"verbose", "debug"}, {"exception", "err"},
};
constexpr std::string_view kNumbered[] = {"emerg",   "alert",  "crit", "err",
                                          "warning", "notice", "info", "debug"};

std::string_view severity_of_letter(char letter) {
  switch (letter) {
    case 'I':
      return "info";
    case 'W':
      return "warning";
    case 'E':
      return "err";
    case 'F':
    case 'C':
      return "crit";
    case 'D':
    case 'V':
      return "debug";
    default:
      return "";
  }
}

// "[2025-01-22 14:08:40]", "[20:54:59]", "[Wed May 14 14:21:26 2025]", "[13:01:59 I train]".
bool take_bracketed(HeadReader* in) {
  if (!in->rest.starts_with('[')) return false;
  const std::string_view inside = in->rest.substr(1);
  const auto stamp = any_stamp(inside);
  if (!stamp || stamp->length >= inside.size()) return false;
  const char next = inside[stamp->length];
  if (next != ']' && next != ' ' && next != ',' && next != '|') return false;
  in->set_stamp(*stamp);
  in->rest = inside.substr(stamp->length);
  if (!in->take("]")) in->rest.remove_prefix(1);
  return true;
}

// `time="2025-08-06T09:49:40Z" level=info msg=…`: all of it stays, the message is in its fields.
bool see_logfmt(HeadReader* in) {
  for (std::string_view key : {"time=", "ts=", "t=", "timestamp="}) {
    if (!in->rest.starts_with(key)) continue;
    std::string_view value = in->rest.substr(key.size());
    if (value.starts_with('"')) value.remove_prefix(1);
    if (const auto stamp = any_stamp(value)) in->set_stamp(*stamp);
    return false;
  }
  return false;
}

// What stands between a stamp and the rest: " - ", " | ", ": ", ",".
void skip_separators(HeadReader* in) {
  const std::string_view before = in->rest;
  while (!in->rest.empty() &&
         std::string_view(" \t-|:,").find(in->rest.front()) != std::string_view::npos) {
    in->rest.remove_prefix(1);
  }
  // "-5.2e-3" behind the stamp is a number, "--flag" an option.
  const std::size_t taken = before.size() - in->rest.size();
  if (taken > 0 && before[taken - 1] == '-') in->rest = before.substr(taken - 1);
}

// A level behind the stamp: noted, and left in the text, where rules may look for it.
void see_level(HeadReader* in) {
  std::string_view text = in->rest;
  if (text.starts_with('[') || text.starts_with('<')) text.remove_prefix(1);
  std::size_t length = 0;
  while (length < text.size() && is_letter(text[length])) ++length;
  if (length == 1 && text.substr(1).starts_with(' ')) {
    in->head.severity = severity_of_letter(text.front());
    if (in->head.severity.empty()) return;
    in->rest = text.substr(2);  // "2025-06-21 09:00:03.402110: E external/…"
    return;
  }
  const std::string_view severity = severity_word(text.substr(0, length));
  if (!severity.empty()) in->head.severity = severity;
}

}  // namespace

bool is_host_char(char c) {
  return is_letter(c) || is_digit(c) || c == '-' || c == '.' || c == '_';
}

bool is_host_name(std::string_view word) {
  constexpr std::size_t kMaxHost = 253;  // DNS
  return !word.empty() && word.size() <= kMaxHost && (is_letter(word[0]) || is_digit(word[0])) &&
         std::all_of(word.begin(), word.end(),
                     [](char c) { return is_host_char(c) || c == ':'; }) &&
         word.back() != ':';
}

std::optional<int> leading_number(std::string_view text, std::size_t max_digits,
                                  std::size_t* length) {
  int value = 0;
  std::size_t count = 0;
  while (count < text.size() && is_digit(text[count])) {
    if (count == max_digits) return std::nullopt;
    value = value * 10 + (text[count] - '0');
    ++count;
  }
  *length = count;
  if (count == 0) return std::nullopt;
  return value;
}

std::string_view severity_word(std::string_view word) {
  if (word.size() < 3 || word.size() > 9) return "";
  const std::string low = lower(word);
  for (const LevelWord& level : kLevels) {
    if (level.word == low) return level.severity;
  }
  return "";
}

std::string_view severity_of_number(int number) {
  return number >= 0 && number <= 7 ? kNumbered[number] : std::string_view();
}

bool take_glog(HeadReader* in) {
  std::string_view text = in->rest;
  const bool bracket = text.starts_with('[');
  if (bracket) text.remove_prefix(1);
  if (text.size() < 14) return false;
  const std::string_view severity = severity_of_letter(text.front());
  if (severity.empty() || !is_digit(text[1])) return false;
  const auto stamp = glog_stamp(text.substr(1));
  if (!stamp) return false;
  in->set_stamp(*stamp);
  in->head.severity = severity;
  in->rest = text.substr(1 + stamp->length);
  in->skip_spaces();
  std::size_t length = 0;
  const auto pid = leading_number(in->rest, 9, &length);
  if (pid && in->rest.substr(length).starts_with(' ')) {
    in->head.pid = pid;
    in->rest.remove_prefix(length);
    in->skip_spaces();
  }
  return true;
}

bool take_app_stamp(HeadReader* in) {
  const std::string_view before = in->rest;
  in->skip_spaces();
  if (take_glog(in)) return true;
  bool taken = take_bracketed(in);
  if (!taken) {
    if (const auto stamp = any_stamp(in->rest)) {
      in->set_stamp(*stamp);
      in->rest.remove_prefix(stamp->length);
      taken = true;
    }
  }
  if (!taken) {
    see_logfmt(in);
    in->rest = before;
    return false;
  }
  skip_separators(in);
  see_level(in);
  return true;
}

}  // namespace nvab
