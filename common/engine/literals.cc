// SPDX-License-Identifier: Apache-2.0
// A small parser over PCRE2 patterns. Each part yields the exact texts that it stands for, where
// those are few, and sets of which one member must occur. What it does not follow ends with an
// error: a literal that is not really required would lose matches.
#include "common/engine/literals.hh"

#include <fmt/core.h>

#include <algorithm>
#include <bitset>
#include <cctype>

#include "common/base/text.hh"
#include "common/engine/literal_sets.hh"

namespace nvab {
namespace {

// Members of a class like [Cc] or [0-3] that are still worth spelling out.
constexpr std::size_t kMaxClass = 5;
constexpr int kMaxDepth = 60;  // groups in groups

class Parser {
 public:
  Parser(std::string_view pattern, bool caseless) : in_(pattern), caseless_(caseless) {}
  // Of the whole pattern; `problem` says why not when that failed.
  LiteralInfo run(std::string* problem) {
    LiteralInfo info = alternation(0);
    if (!at_end()) give_up("an unmatched ')'");
    *problem = problem_;
    return info;
  }

 private:
  LiteralInfo alternation(int depth);
  LiteralInfo concatenation(int depth);
  LiteralInfo atom(int depth);
  LiteralInfo group(int depth);
  LiteralInfo group_body(int depth);
  LiteralInfo special_group(int depth);
  LiteralInfo option_group(int depth);
  LiteralInfo lookaround(int depth, bool positive);
  LiteralInfo escape();
  LiteralInfo skip_reference();
  LiteralInfo char_class();
  void class_member(std::bitset<256>* members, bool* wide);
  int class_char(bool* wide);
  LiteralInfo char_literal(int byte) const;
  bool quantifier(int* low, int* high);
  bool braces(int* low, int* high);
  int coded_char(char kind);
  int number(int base, int max_digits);

  bool at_end() const { return at_ >= in_.size() || !problem_.empty(); }
  char peek() const { return at_ < in_.size() ? in_[at_] : '\0'; }
  bool eat(std::string_view word) {
    if (at_end() || !in_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }
  // Past the next `close`, for names and references.
  void skip_past(char close) {
    const std::size_t end = in_.find(close, at_);
    if (end == std::string_view::npos) return give_up(fmt::format("no closing '{}'", close));
    at_ = end + 1;
  }
  void give_up(std::string_view what) {
    if (problem_.empty()) problem_ = fmt::format("{} at offset {}", what, at_);
  }

  std::string_view in_;
  std::size_t at_ = 0;
  bool caseless_;
  std::string problem_;
};

LiteralInfo Parser::char_literal(int byte) const {
  // Never the same bytes in a raw stream: line ends, and what sanitizing drops.
  if (byte < 0 || (byte < 0x20 && byte != '\t') || byte == 0x7F) return any_text();
  const auto c = static_cast<char>(byte);
  if (!caseless_ || byte >= 0x80 || !std::isalpha(byte))
    return {LiteralSet{{std::string(1, c), false}}, {}};
  return {LiteralSet{{lower(std::string_view(&c, 1)), true}}, {}};
}

LiteralInfo Parser::alternation(int depth) {
  if (depth > kMaxDepth) give_up("too many groups in groups");
  const bool outer = caseless_;
  std::vector<LiteralInfo> branches;
  do {
    branches.push_back(concatenation(depth));
  } while (eat("|"));
  caseless_ = outer;  // an option set inside a group ends with it
  return unite(std::move(branches));
}

LiteralInfo Parser::concatenation(int depth) {
  constexpr int kMaxSpelled = 8;  // copies of a repeated part that are spelled out
  LiteralRun run;
  while (!at_end() && peek() != '|' && peek() != ')') {
    const LiteralInfo info = atom(depth);
    int low = 1, high = 1;
    const bool repeated = quantifier(&low, &high);
    if (low == 0) {
      run.add(optional_of(info, high));
      continue;
    }
    const int copies = std::min(low, kMaxSpelled);
    for (int i = 0; i < copies; ++i) run.add(info);
    if (!repeated || (low == high && low == copies)) continue;
    run.cut();  // x{3,}y ends with xxxy
    for (int i = 0; i < copies; ++i) run.add(info);
  }
  return std::move(run).finish();
}

// A quantifier, if one stands here, with its `?` or `+`; -1 is no upper bound.
bool Parser::quantifier(int* low, int* high) {
  if (eat("*")) {
    *low = 0;
    *high = -1;
  } else if (eat("+")) {
    *high = -1;
  } else if (eat("?")) {
    *low = 0;
  } else if (!braces(low, high)) {
    return false;
  }
  if (!eat("?")) eat("+");
  return true;
}

// "{3}", "{3,}", "{,3}", "{3,5}"; any other '{' is an ordinary character.
bool Parser::braces(int* low, int* high) {
  if (peek() != '{') return false;
  const std::size_t end = in_.find('}', at_);
  if (end == std::string_view::npos) return false;
  const std::string_view inside = in_.substr(at_ + 1, end - at_ - 1);
  if (inside.empty() || inside.find_first_not_of("0123456789, ") != std::string_view::npos)
    return false;
  const std::size_t comma = inside.find(',');
  const std::string_view first = trim(inside.substr(0, comma));
  const std::string_view second =
      comma == std::string_view::npos ? first : trim(inside.substr(comma + 1));
  *low = static_cast<int>(parse_int(first).value_or(0));
  *high = second.empty() ? -1 : static_cast<int>(parse_int(second).value_or(-1));
  at_ = end + 1;
  return true;
}

LiteralInfo Parser::atom(int depth) {
  const char c = peek();
  ++at_;
  switch (c) {
    case '(':
      return group(depth);
    case '[':
      return char_class();
    case '\\':
      return escape();
    case '.':
      return any_text();
    case '^':
    case '$':
      return empty_text();
    case '*':
    case '+':
    case '?':
      give_up("a quantifier without anything before it");
      return any_text();
    default:
      return char_literal(static_cast<unsigned char>(c));
  }
}

LiteralInfo Parser::group(int depth) {
  if (peek() == '*') {
    give_up("a verb '(*…'");
    return any_text();
  }
  if (!eat("?")) return group_body(depth);
  return special_group(depth);
}

LiteralInfo Parser::group_body(int depth) {
  LiteralInfo info = alternation(depth + 1);
  if (!eat(")")) give_up("a group without its ')'");
  return info;
}

// What a lookaround wants stands in the text, too; it takes no room.
LiteralInfo Parser::lookaround(int depth, bool positive) {
  LiteralInfo inner = group_body(depth);
  LiteralInfo out = empty_text();
  if (!positive) return out;
  out.required = std::move(inner.required);
  if (inner.exact) out.required.push_back(std::move(*inner.exact));
  return out;
}

// After "(?".
LiteralInfo Parser::special_group(int depth) {
  if (eat(":") || eat("|") || eat(">")) return group_body(depth);
  if (eat("=") || eat("<=")) return lookaround(depth, true);
  if (eat("!") || eat("<!")) return lookaround(depth, false);
  if (eat("#")) {
    skip_past(')');
    return empty_text();
  }
  if (eat("P=") || eat("P>") || eat("&")) {
    skip_past(')');
    return any_text();
  }
  if (eat("<") || eat("P<")) {
    skip_past('>');
    return group_body(depth);
  }
  if (eat("'")) {
    skip_past('\'');
    return group_body(depth);
  }
  return option_group(depth);
}

// "(?i)", "(?-i)", "(?i:…)"; recursion and conditions are not followed.
LiteralInfo Parser::option_group(int depth) {
  bool on = true;
  bool caseless = caseless_;
  for (; !at_end() && peek() != ')' && peek() != ':'; ++at_) {
    switch (peek()) {
      case '-':
        on = false;
        break;
      case '^':
        caseless = false;
        break;
      case 'i':
        caseless = on;
        break;
      case 'm':
      case 's':
      case 'U':
      case 'J':
      case 'n':
        break;
      default:
        give_up(fmt::format("a group '(?{}…'", peek()));
        return any_text();
    }
  }
  if (eat(")")) {
    caseless_ = caseless;
    return empty_text();
  }
  if (!eat(":")) give_up("a group without its ')'");
  const bool outer = caseless_;
  caseless_ = caseless;
  LiteralInfo info = group_body(depth);
  caseless_ = outer;
  return info;
}

int Parser::number(int base, int max_digits) {
  int value = 0;
  for (int i = 0; i < max_digits; ++i, ++at_) {
    const auto c = static_cast<unsigned char>(peek());
    const int digit = std::isdigit(c)    ? c - '0'
                      : std::isxdigit(c) ? std::tolower(c) - 'a' + 10
                                         : 99;
    if (digit >= base) break;
    value = value * base + digit;
  }
  return value;
}

// The byte that "\t", "\x41" and the like stand for, `kind` being what follows the backslash; -1
// when it is none or none of one byte.
int Parser::coded_char(char kind) {
  switch (kind) {
    case 't':
      return '\t';
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 'f':
      return '\f';
    case 'a':
      return '\a';
    case 'e':
      return 0x1B;
    case '0':
      return number(8, 2);
    case 'x': {
      if (!eat("{")) return number(16, 2);
      const int value = number(16, 7);
      skip_past('}');
      return value < 0x100 ? value : -1;
    }
    default:
      return std::isalnum(static_cast<unsigned char>(kind)) ? -1 : static_cast<unsigned char>(kind);
  }
}

LiteralInfo Parser::skip_reference() {
  if (eat("{")) {
    skip_past('}');
  } else if (eat("<")) {
    skip_past('>');
  } else if (eat("'")) {
    skip_past('\'');
  } else {
    eat("-");
    number(10, 9);
  }
  return any_text();
}

LiteralInfo Parser::escape() {
  if (at_end()) give_up("a backslash at the end");
  const char kind = peek();
  ++at_;
  if (kind >= '1' && kind <= '9') return skip_reference();
  switch (kind) {
    case 'b':
    case 'B':
    case 'A':
    case 'Z':
    case 'z':
    case 'G':
    case 'K':
      return empty_text();
    case 'd':
    case 'D':
    case 'w':
    case 'W':
    case 's':
    case 'S':
    case 'h':
    case 'H':
    case 'v':
    case 'V':
    case 'R':
    case 'X':
    case 'C':
      return any_text();
    case 'N':
    case 'p':
    case 'P':
      if (kind != 'N' && peek() != '{') ++at_;
      if (eat("{")) skip_past('}');
      return any_text();
    case 'g':
    case 'k':
      return skip_reference();
    case 'Q':
    case 'E':
    case 'c':
    case 'o':
      give_up(fmt::format("the escape '\\{}'", kind));
      return any_text();
    default:
      return char_literal(coded_char(kind));
  }
}

// One member of a class as a byte; `wide` is set for members that are classes themselves.
int Parser::class_char(bool* wide) {
  const char c = peek();
  ++at_;
  if (c == '[' && (peek() == ':' || peek() == '.' || peek() == '=')) {
    const std::size_t end = in_.find(std::string{peek(), ']'}, at_ + 1);
    if (end != std::string_view::npos) {
      at_ = end + 2;
      *wide = true;
      return -1;
    }
  }
  if (c != '\\') return static_cast<unsigned char>(c);
  const char kind = peek();
  ++at_;
  if (kind == 'b') return '\b';
  if (kind >= '1' && kind <= '7') {
    --at_;
    return number(8, 3) & 0xFF;
  }
  if (kind == 'Q' || kind == 'E' || kind == 'c' || kind == 'o') give_up("an escape in a class");
  if ((kind == 'p' || kind == 'P') && eat("{")) skip_past('}');
  const int byte = coded_char(kind);
  if (byte < 0) *wide = true;
  return byte;
}

void Parser::class_member(std::bitset<256>* members, bool* wide) {
  const int low = class_char(wide);
  if (low < 0) return;
  members->set(static_cast<std::size_t>(low));
  if (peek() != '-' || at_ + 1 >= in_.size() || in_[at_ + 1] == ']') return;
  ++at_;
  const int high = class_char(wide);
  if (high < 0) members->set('-');
  for (int byte = low; byte <= high; ++byte) members->set(static_cast<std::size_t>(byte));
}

LiteralInfo Parser::char_class() {
  const bool negated = eat("^");
  bool wide = false;
  std::bitset<256> members;
  do {  // a ']' that comes first is a member
    if (at_end()) give_up("a class without its ']'");
    class_member(&members, &wide);
  } while (!at_end() && peek() != ']');
  if (!eat("]")) give_up("a class without its ']'");
  if (negated || wide || members.count() > kMaxClass) return any_text();
  LiteralInfo out{LiteralSet{}, {}};
  for (int byte = 0; byte < 256; ++byte) {
    if (!members.test(static_cast<std::size_t>(byte))) continue;
    const LiteralInfo one = char_literal(byte);
    if (!one.exact) return any_text();
    out.exact->push_back(one.exact->front());
  }
  normalise(&*out.exact);
  return out;
}

std::string longest_found(const LiteralInfo& info) {
  std::string best;
  for (const LiteralSet& set : info.required) {
    if (set.size() != 1 || set[0].text.size() <= best.size()) continue;
    best = set[0].text;
  }
  return best.empty() ? "none" : "'" + best + "'";
}

}  // namespace

Result<std::vector<Literal>> required_literals(std::string_view pattern, bool caseless,
                                               std::size_t min_length) {
  std::string problem;
  LiteralInfo info = Parser(pattern, caseless).run(&problem);
  if (!problem.empty()) {
    return fail(Error::Code::malformed,
                "no required literal can be told because of " + problem + "; write it another way");
  }
  const LiteralSet* best = best_set(info, min_length);
  if (!best) {
    return fail(
        Error::Code::malformed,
        fmt::format("every match must hold a literal of {} bytes or more (in each alternative), "
                    "so that the scan stays fast; the longest here is {}",
                    min_length, longest_found(info)));
  }
  std::vector<Literal> out;
  for (const Literal& piece : *best) out.push_back(clip(piece));
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

}  // namespace nvab
