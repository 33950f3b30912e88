// SPDX-License-Identifier: Apache-2.0
// How rare a byte string is in ordinary logs: training output, syslog, scheduler daemons.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <span>
#include <string_view>

#include "common/engine/common_grams.hh"
#include "common/engine/literals.hh"

namespace nvab {
namespace {

// Bits of single bytes by kind; letters by how often English and identifiers use them.
constexpr double letter_bits(char c) {
  constexpr std::string_view kVeryCommon = "etaoinsr";
  constexpr std::string_view kCommon = "ldcumpg";
  const bool upper = c >= 'A' && c <= 'Z';
  const char low = upper ? static_cast<char>(c + 32) : c;
  double bits = 7;
  if (kVeryCommon.find(low) != std::string_view::npos) bits = 4.5;
  if (kCommon.find(low) != std::string_view::npos) bits = 5.5;
  if (low == 'j' || low == 'q' || low == 'x' || low == 'z') bits = 9;
  return upper ? bits + 2 : bits;
}

constexpr double bits_of(char c) {
  if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) return letter_bits(c);
  if (c >= '0' && c <= '9') return 4;
  if (c == ' ') return 3;
  constexpr std::string_view kUsual = ".,:/-_=[]()";
  if (kUsual.find(c) != std::string_view::npos) return 5;
  return 7;
}

constexpr std::array<double, 256> make_byte_bits() {
  std::array<double, 256> bits{};
  for (std::size_t i = 0; i < bits.size(); ++i) bits[i] = bits_of(static_cast<char>(i));
  return bits;
}
constexpr std::array<double, 256> kByteBits = make_byte_bits();

constexpr double byte_bits(char c) { return kByteBits[static_cast<unsigned char>(c)]; }

// Four bytes as the table spells them: folded, digits as 0.
constexpr std::uint32_t fold_gram(std::string_view gram) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    const char c = gram[i] >= '0' && gram[i] <= '9' ? '0' : gram[i];
    value = value << 8 | (static_cast<unsigned char>(c) | 0x20U);
  }
  return value;
}

struct GramTable {
  static constexpr std::size_t kSlots = 8192;
  std::array<std::uint32_t, kSlots> grams{};
  std::array<std::uint8_t, kSlots> bits{};
};

constexpr std::size_t slot_of(std::uint32_t gram) { return (gram * 0x9E3779B1U) >> 19; }

constexpr GramTable make_grams() {
  GramTable table;
  for (const CommonGrams& level : kCommonGrams) {
    for (std::size_t i = 0; i + 4 <= level.grams.size(); i += 4) {
      const std::uint32_t gram = fold_gram(level.grams.substr(i));
      std::size_t slot = slot_of(gram);
      while (table.grams[slot] != 0) slot = (slot + 1) % GramTable::kSlots;
      table.grams[slot] = gram;
      table.bits[slot] = static_cast<std::uint8_t>(level.bits);
    }
  }
  return table;
}
constexpr GramTable kGrams = make_grams();

constexpr double kUnknown = 13.5;  // beyond the last level of the table

double gram_bits(std::string_view gram) {
  const std::uint32_t folded = fold_gram(gram);
  std::size_t slot = slot_of(folded);
  for (; kGrams.grams[slot] != 0; slot = (slot + 1) % GramTable::kSlots) {
    if (kGrams.grams[slot] == folded) return kGrams.bits[slot];
  }
  // Rarer than all in the table, by how unusual its bytes are.
  double bits = 0;
  for (std::size_t i = 0; i < 4; ++i) bits += byte_bits(gram[i]);
  return std::max(bits, kUnknown);
}

}  // namespace

// At least as rare as its rarest run of four. What is common comes in whole phrases, so that more
// common runs add little; each run that ordinary logs do not have adds more.
double rarity_bits(std::string_view text) {
  constexpr double kPerByte = 1.2, kPerUnknown = 1.5;
  constexpr std::size_t kLongest = 64;  // past that everything is rare
  text = text.substr(0, kLongest);
  double rarest = 0, more = 0;
  if (text.size() < 4) {
    for (const char c : text) rarest += byte_bits(c);
  }
  for (std::size_t i = 0; i + 4 <= text.size(); ++i) {
    const double bits = gram_bits(text.substr(i, 4));
    rarest = std::max(rarest, bits);
    if (i > 0) more += kPerByte + (bits >= kUnknown ? kPerUnknown : 0);
  }
  // The table does not tell capitals apart.
  constexpr double kPerCapital = 0.2, kMostForCapitals = 1;
  const auto capitals =
      std::count_if(text.begin(), text.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
  return rarest + more + std::min(kMostForCapitals, kPerCapital * static_cast<double>(capitals));
}

double gram_share(std::string_view gram) { return std::exp2(-gram_bits(gram)); }

}  // namespace nvab
