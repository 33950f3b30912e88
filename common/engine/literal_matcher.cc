// SPDX-License-Identifier: Apache-2.0
// Literals of seven bytes or more hold four consecutive 4-byte grams, so one of every four places
// is enough to see one of them; shorter ones want every second place. A gram that a bitmap knows is
// looked up, and the literals that hold it there are compared.
#include "common/engine/literal_matcher.hh"

#include <algorithm>
#include <array>
#include <cstring>

#include "common/base/text.hh"

namespace nvab {
namespace {

constexpr std::size_t kGram = 4;
constexpr std::size_t kStride = 4;
constexpr std::size_t kShortStride = 2;
constexpr std::size_t kLong = kGram + kStride - 1;  // bytes that the wide stride needs
constexpr unsigned kBitmapBits = 17;  // 16 KiB: stays in the first cache beside the text

constexpr std::uint32_t kFold = 0x20202020;  // letters to lower case; other bytes may coincide

std::uint32_t gram_at(const char* at) {
  std::uint32_t gram;
  std::memcpy(&gram, at, sizeof gram);
  return gram | kFold;
}

std::uint32_t hash_of(std::uint32_t gram) { return gram * 0x9E3779B1U; }

class Bitmap {
 public:
  void set(std::uint32_t hash) { words_[index(hash)] |= 1ULL << bit(hash); }
  bool test(std::uint32_t hash) const { return words_[index(hash)] >> bit(hash) & 1; }

 private:
  static std::size_t index(std::uint32_t hash) { return hash >> (32 - kBitmapBits + 6); }
  static unsigned bit(std::uint32_t hash) { return hash >> (32 - kBitmapBits) & 63; }
  std::array<std::uint64_t, (1U << kBitmapBits) / 64> words_{};
};

struct Entry {
  std::uint32_t gram = 0;
  std::uint32_t literal = 0;
  std::uint32_t offset = 0;  // of the gram in the literal
};

bool equal_folded(const char* text, const std::string& lower_case) {
  for (std::size_t i = 0; i < lower_case.size(); ++i) {
    const char c = text[i];
    const char low = c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
    if (low != lower_case[i]) return false;
  }
  return true;
}

}  // namespace

struct LiteralMatcher::Impl {
  std::vector<OwnedLiteral> literals;
  Bitmap wide;    // grams of all literals
  Bitmap narrow;  // grams of the short ones
  bool has_short = false;
  std::vector<Entry> entries;          // sorted by gram
  std::vector<std::uint32_t> buckets;  // hash -> first entry + 1
  unsigned bucket_bits = 4;

  void add(std::uint32_t index);
  void fill_buckets();
  bool is_at(const Entry& entry, std::string_view bytes, std::size_t from, std::size_t at) const;
  template <typename Found>
  bool look_up(std::string_view bytes, std::size_t from, std::size_t at, Found&& found) const;
  template <typename Found>
  void walk(std::string_view bytes, std::size_t from, Found&& found) const;
};

// Of all windows with enough grams, the one whose grams are rarest together.
void LiteralMatcher::Impl::add(std::uint32_t index) {
  const std::string& text = literals[index].literal.text;
  const std::size_t grams = text.size() < kLong ? kShortStride : kStride;
  if (text.size() < kGram + grams - 1) return;
  std::size_t best = 0;
  double best_share = 1e9;
  for (std::size_t at = 0; at + kGram + grams - 1 <= text.size(); ++at) {
    double share = 0;
    for (std::size_t i = 0; i < grams; ++i) {
      share += gram_share(std::string_view(text).substr(at + i, kGram));
    }
    if (share >= best_share) continue;
    best_share = share;
    best = at;
  }
  has_short |= grams == kShortStride;
  for (std::size_t i = 0; i < grams; ++i) {
    const std::uint32_t gram = gram_at(text.data() + best + i);
    wide.set(hash_of(gram));
    if (grams == kShortStride) narrow.set(hash_of(gram));
    entries.push_back({gram, index, static_cast<std::uint32_t>(best + i)});
  }
}

void LiteralMatcher::Impl::fill_buckets() {
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return hash_of(a.gram) != hash_of(b.gram) ? hash_of(a.gram) < hash_of(b.gram)
                                              : a.literal < b.literal;
  });
  while (1U << bucket_bits < entries.size() * 2) ++bucket_bits;
  buckets.assign((1U << bucket_bits) + 1, 0);
  for (const Entry& entry : entries) ++buckets[(hash_of(entry.gram) >> (32 - bucket_bits)) + 1];
  for (std::size_t i = 1; i < buckets.size(); ++i) buckets[i] += buckets[i - 1];
}

bool LiteralMatcher::Impl::is_at(const Entry& entry, std::string_view bytes, std::size_t from,
                                 std::size_t at) const {
  const Literal& literal = literals[entry.literal].literal;
  if (at < from + entry.offset) return false;
  const std::size_t start = at - entry.offset;
  if (literal.text.size() > bytes.size() - start) return false;
  if (literal.caseless) return equal_folded(bytes.data() + start, literal.text);
  return std::memcmp(bytes.data() + start, literal.text.data(), literal.text.size()) == 0;
}

// Calls found(literal) for each literal around the gram at `at`; stops when that returns true.
template <typename Found>
bool LiteralMatcher::Impl::look_up(std::string_view bytes, std::size_t from, std::size_t at,
                                   Found&& found) const {
  const std::uint32_t gram = gram_at(bytes.data() + at);
  const std::uint32_t bucket = hash_of(gram) >> (32 - bucket_bits);
  for (std::uint32_t i = buckets[bucket]; i < buckets[bucket + 1]; ++i) {
    const Entry& entry = entries[i];
    if (entry.gram == gram && is_at(entry, bytes, from, at) && found(entry.literal)) return true;
  }
  return false;
}

template <typename Found>
void LiteralMatcher::Impl::walk(std::string_view bytes, std::size_t from, Found&& found) const {
  if (bytes.size() < kGram) return;
  const std::size_t last = bytes.size() - kGram;
  const char* data = bytes.data();
  auto visit = [&](std::size_t at, const Bitmap& bitmap) {
    return bitmap.test(hash_of(gram_at(data + at))) &&
           look_up(bytes, from, at, [&](std::uint32_t literal) { return found(at, literal); });
  };
  std::size_t at = from;
  if (!has_short) {
    for (; at <= last; at += kStride) {
      if (visit(at, wide)) return;
    }
    return;
  }
  for (; at + kShortStride <= last; at += kStride) {
    if (visit(at, wide) || visit(at + kShortStride, narrow)) return;
  }
  if (at <= last) visit(at, wide);
}

LiteralMatcher::LiteralMatcher(std::span<const OwnedLiteral> literals)
    : impl_(std::make_unique<Impl>()) {
  impl_->literals.assign(literals.begin(), literals.end());
  for (std::uint32_t i = 0; i < impl_->literals.size(); ++i) impl_->add(i);
  impl_->fill_buckets();
}

LiteralMatcher::~LiteralMatcher() = default;

std::size_t LiteralMatcher::next(std::string_view bytes, std::size_t from) const {
  std::size_t place = npos;
  impl_->walk(bytes, from, [&](std::size_t at, std::uint32_t) {
    place = at;
    return true;
  });
  return place;
}

void LiteralMatcher::owners(std::string_view text, std::vector<std::uint32_t>* owners) const {
  const auto old_size = static_cast<std::ptrdiff_t>(owners->size());
  impl_->walk(text, 0, [&](std::size_t, std::uint32_t literal) {
    owners->push_back(impl_->literals[literal].owner);
    return false;
  });
  std::sort(owners->begin() + old_size, owners->end());
  owners->erase(std::unique(owners->begin() + old_size, owners->end()), owners->end());
}

}  // namespace nvab
