// SPDX-License-Identifier: Apache-2.0
// How rare a byte string is in ordinary logs: training output, syslog, scheduler daemons. Words
// that such logs repeat on every line count as one symbol, everything else letter by letter.
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

struct CommonWord {
  std::string_view text;
  double bits;  // -log2 of the share of places where it begins
};

// Frequencies per byte position, rounded to whole bits, counted over mixed logs of training runs,
// Slurm daemons and kernels. A word that is missing here only makes a literal look rarer than it
// is.
constexpr CommonWord kWords[] = {
    {"0000", 7},       {"kernel", 10},     {"kernel: ", 10},   {"systemd", 10},
    {"slurm", 9},      {"slurmd", 10},     {"slurmctld", 10},  {"slurmstepd", 11},
    {"error", 9},      {"Error", 10},      {"ERROR", 11},      {"error: ", 10},
    {"failed", 10},    {"fail", 10},       {"Failed", 12},     {"warning", 11},
    {"Warning", 11},   {"WARN", 11},       {"NCCL", 8},        {"NCCL INFO", 8},
    {"NCCL INFO ", 8}, {"INFO", 8},        {" INFO ", 8},      {"DEBUG", 10},
    {"rank", 8},       {"Rank", 10},       {"device", 10},     {"Device", 11},
    {"torch", 9},      {"python", 9},      {"python3", 9},     {"site-packages", 10},
    {"File \"", 10},   {", line ", 10},    {" line ", 10},     {"step", 8},
    {"loss", 9},       {"epoch", 9},       {"Epoch", 9},       {"iteration", 9},
    {"time", 8},       {"lr: ", 10},       {"Channel", 8},     {"channel", 10},
    {"connect", 9},    {"connection", 11}, {"Connection", 11}, {"closed", 11},
    {"session", 10},   {"user", 9},        {" for ", 9},       {" from ", 9},
    {" with ", 10},    {" the ", 9},       {" not ", 10},      {" of ", 8},
    {" to ", 9},       {" in ", 9},        {" is ", 9},        {" on ", 9},
    {"process", 10},   {"memory", 11},     {"GPU", 9},         {"CUDA", 10},
    {"cuda", 9},       {"nvidia", 11},     {"NVRM", 14},       {"state", 10},
    {"node", 9},       {"JobId=", 10},     {"StepId=", 11},    {"launch", 11},
    {"Start", 10},     {"start", 9},       {"exit", 11},       {"/usr/lib", 11},
    {"http", 11},      {"rate", 9},        {"tion", 8},        {"throughput", 10},
    {"interval", 11},  {"checkpoint", 10}, {"saved", 11},      {"loading", 11},
    {"service", 10},   {"message", 11},    {"version", 11},    {"init", 9},
    {"Init", 10},      {"via ", 8},        {"P2P", 8},         {"NET/", 8},
    {"NET/IB", 8},     {"0x", 8},          {"): ", 9},         {"...", 9},
    {"====", 9},       {"----", 8},        {"****", 11},       {"    ", 7},
};

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

// The words by their first byte, so that spelling a text looks at few of them.
struct WordIndex {
  std::array<CommonWord, std::size(kWords)> words{};
  std::array<std::uint16_t, 257> first{};  // words of byte b are [first[b], first[b + 1])
};

constexpr WordIndex make_index() {
  WordIndex index;
  std::copy(std::begin(kWords), std::end(kWords), index.words.begin());
  std::sort(index.words.begin(), index.words.end(),
            [](const CommonWord& a, const CommonWord& b) { return a.text < b.text; });
  for (const CommonWord& word : index.words) {
    ++index.first[static_cast<unsigned char>(word.text[0]) + 1U];
  }
  for (std::size_t i = 1; i < index.first.size(); ++i) {
    index.first[i] = static_cast<std::uint16_t>(index.first[i] + index.first[i - 1]);
  }
  return index;
}
constexpr WordIndex kIndex = make_index();

std::span<const CommonWord> words_from(char first) {
  const auto byte = static_cast<unsigned char>(first);
  return std::span(kIndex.words)
      .subspan(kIndex.first[byte], kIndex.first[byte + 1U] - kIndex.first[byte]);
}

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

double gram_bits(std::string_view gram) {
  const std::uint32_t folded = fold_gram(gram);
  std::size_t slot = slot_of(folded);
  for (; kGrams.grams[slot] != 0; slot = (slot + 1) % GramTable::kSlots) {
    if (kGrams.grams[slot] == folded) return kGrams.bits[slot];
  }
  // Rarer than all in the table, by how unusual its bytes are.
  double bits = 0;
  for (std::size_t i = 0; i < 4; ++i) bits += byte_bits(gram[i]);
  return std::max(bits, 14.5);
}

}  // namespace

// The cheapest way to spell the text with words, common runs and letters: what a compressor would
// do.
double rarity_bits(std::string_view text) {
  constexpr std::size_t kLongest = 64;  // past that everything is rare
  std::array<double, kLongest + 1> cost{};
  text = text.substr(0, kLongest);
  std::fill_n(cost.begin() + 1, text.size(), 1e9);
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto spell = [&](std::size_t length, double bits) {
      cost[i + length] = std::min(cost[i + length], cost[i] + bits);
    };
    spell(1, byte_bits(text[i]));
    if (i + 4 <= text.size()) spell(4, gram_bits(text.substr(i, 4)));
    for (const CommonWord& word : words_from(text[i])) {
      // The second byte first: most words end there.
      const std::string_view rest = text.substr(i);
      if (rest.size() < word.text.size() || rest[1] != word.text[1]) continue;
      if (rest.starts_with(word.text)) spell(word.text.size(), word.bits);
    }
  }
  return cost[text.size()];
}

double gram_share(std::string_view gram) { return std::exp2(-gram_bits(gram)); }

}  // namespace nvab
