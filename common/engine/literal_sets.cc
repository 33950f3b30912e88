// SPDX-License-Identifier: Apache-2.0
// Sets of required literals: union for alternatives, product for concatenation, and which one is
// the best first stage.
#include "common/engine/literal_sets.hh"

#include <algorithm>
#include <cmath>

#include "common/base/text.hh"

namespace nvab {
namespace {

std::size_t shortest(const LiteralSet& set) {
  std::size_t length = set.empty() ? 0 : std::string::npos;
  for (const Literal& piece : set) length = std::min(length, piece.text.size());
  return length;
}

constexpr std::size_t kGood = 7;  // from here on the matcher can stride over the text

// Quotes, backslashes and bytes outside ASCII look different inside JSON log lines.
bool is_fragile(char c) {
  return c == '"' || c == '\\' || c == '\t' || static_cast<unsigned char>(c) >= 0x7F;
}

// The rarest window of at most kMaxLiteral bytes.
std::string_view best_window(std::string_view text) {
  if (text.size() <= kMaxLiteral) return text;
  std::string_view best;
  double best_bits = -1;
  for (std::size_t i = 0; i + kMaxLiteral <= text.size(); ++i) {
    const double bits = rarity_bits(text.substr(i, kMaxLiteral));
    if (bits <= best_bits) continue;
    best_bits = bits;
    best = text.substr(i, kMaxLiteral);
  }
  return best;
}

// The best part of at least kGood bytes without a fragile one; empty when there is none.
std::string_view sturdy_part(std::string_view text) {
  std::string_view best;
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t end = begin;
    while (end < text.size() && !is_fragile(text[end])) ++end;
    const std::string_view part = text.substr(begin, end - begin);
    if (part.size() >= kGood && (best.empty() || rarity_bits(part) > rarity_bits(best)))
      best = part;
    begin = end + 1;
  }
  return best;
}

double value_of(const Literal& piece) {
  const Literal clipped = clip(piece);
  double bits = rarity_bits(clipped.text);
  if (clipped.caseless) bits *= 0.85;  // more texts match it
  if (std::any_of(clipped.text.begin(), clipped.text.end(), is_fragile)) bits /= 2;
  if (clipped.text.size() < kGood) bits *= 0.7;
  return std::min(bits, 60.0);
}

std::optional<LiteralSet> exact_union(const std::vector<LiteralInfo>& branches) {
  LiteralSet all;
  for (const LiteralInfo& branch : branches) {
    if (!branch.exact) return std::nullopt;
    all.insert(all.end(), branch.exact->begin(), branch.exact->end());
  }
  normalise(&all);
  if (all.size() > kMaxSet) return std::nullopt;
  return all;
}

Literal joined(const Literal& left, const Literal& right) {
  Literal piece{left.text + right.text, left.caseless || right.caseless};
  if (piece.caseless) piece.text = lower(piece.text);
  return piece;
}

}  // namespace

LiteralInfo any_text() { return {}; }
LiteralInfo empty_text() { return {LiteralSet{Literal{}}, {}}; }

void normalise(LiteralSet* set) {
  std::sort(set->begin(), set->end());
  set->erase(std::unique(set->begin(), set->end()), set->end());
}

double value_of(const LiteralSet& set, std::size_t min_length) {
  if (set.empty() || set.size() > kMaxLiterals || shortest(set) < min_length) return -1;
  double share = 0;
  for (const Literal& piece : set) share += std::exp2(-value_of(piece));
  return -std::log2(share);
}

const LiteralSet* best_set(const LiteralInfo& info, std::size_t min_length) {
  const LiteralSet* best = nullptr;
  double best_value = 0;
  auto consider = [&](const LiteralSet& set, std::size_t shortest) {
    const double value = value_of(set, shortest);
    if (value <= best_value) return;
    best_value = value;
    best = &set;
  };
  auto consider_all = [&](std::size_t shortest) {
    for (const LiteralSet& set : info.required) consider(set, shortest);
    if (info.exact) consider(*info.exact, shortest);
  };
  // Short ones only where there is nothing rare beside them: they slow the whole scan down.
  constexpr double kRareEnough = 20;
  consider_all(std::max(min_length, kGood));
  if (best_value < kRareEnough) consider_all(min_length);
  return best;
}

LiteralInfo unite(std::vector<LiteralInfo> branches) {
  if (branches.size() == 1) return std::move(branches[0]);
  LiteralInfo out;
  out.exact = exact_union(branches);
  LiteralSet required;
  for (const LiteralInfo& branch : branches) {
    const LiteralSet* best = best_set(branch, kMinLiteral);
    if (!best) best = best_set(branch, 1);
    if (!best) return out;
    required.insert(required.end(), best->begin(), best->end());
  }
  normalise(&required);
  if (required.size() <= kMaxLiterals) out.required.push_back(std::move(required));
  return out;
}

LiteralInfo optional_of(const LiteralInfo& info, int at_most) {
  if (at_most != 1 || !info.exact || info.exact->size() >= kMaxSet) return any_text();
  LiteralInfo out = empty_text();
  out.exact->insert(out.exact->end(), info.exact->begin(), info.exact->end());
  normalise(&*out.exact);
  return out;
}

Literal clip(const Literal& literal) {
  const std::string_view sturdy = sturdy_part(literal.text);
  const std::string_view part = sturdy.empty() ? std::string_view(literal.text) : sturdy;
  return {std::string(best_window(part)), literal.caseless};
}

void LiteralRun::add(const LiteralInfo& info) {
  required_.insert(required_.end(), info.required.begin(), info.required.end());
  if (info.exact && fits(*info.exact)) return multiply(*info.exact);
  cut();
  if (info.exact) current_ = *info.exact;
}

void LiteralRun::cut() {
  all_exact_ = false;
  required_.push_back(std::move(current_));
  current_ = LiteralSet{Literal{}};
}

LiteralInfo LiteralRun::finish() && {
  LiteralInfo out;
  if (all_exact_) out.exact = current_;
  required_.push_back(std::move(current_));
  out.required = std::move(required_);
  return out;
}

bool LiteralRun::fits(const LiteralSet& next) const {
  return current_.size() * next.size() <= kMaxSet &&
         std::all_of(current_.begin(), current_.end(),
                     [](const Literal& piece) { return piece.text.size() < kMaxExact; });
}

void LiteralRun::multiply(const LiteralSet& next) {
  LiteralSet product;
  for (const Literal& left : current_) {
    for (const Literal& right : next) product.push_back(joined(left, right));
  }
  normalise(&product);
  current_ = std::move(product);
}

}  // namespace nvab
