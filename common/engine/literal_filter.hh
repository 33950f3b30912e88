// SPDX-License-Identifier: Apache-2.0
// The inner loop of the scan: which places in a text may be inside a literal. A bitmap of hashed
// runs of five bytes is tested at every third place; where it passes, eight bytes around the run
// are hashed into a second one. For common/engine/literal_matcher.cc.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace nvab {

class LiteralFilter {
 public:
  static constexpr std::size_t kRun = 5;
  static constexpr std::size_t kStride = 3;
  static constexpr std::size_t kKnown = 4;  // bytes of a run that reaches over its literal's edge

  LiteralFilter();

  // Adds the run at `offset` of a literal; its hash.
  std::uint32_t add(std::string_view literal, std::size_t offset);
  // Adds runs of which only kKnown bytes are in the literal, those at `offset`, and any byte
  // follows or stands before; the hash of the known bytes. A literal of less than kRun + kStride -
  // 1 bytes has some; each fills the bitmap as much as a hundred others.
  std::uint32_t add_open_end(std::string_view literal, std::size_t offset);
  std::uint32_t add_open_start(std::string_view literal, std::size_t offset);

  // Places found by one call, ascending.
  struct Places {
    static constexpr std::size_t kRoom = 64;
    std::array<std::uint32_t, kRoom> at;  // behind `base`
    std::size_t base = 0;
    std::size_t count = 0;
    std::size_t limit = kRoom;  // how many to look for, as far as steps of kMaxStep can tell
    bool is_full() const { return count + kMaxStep > limit; }
    std::size_t place(std::size_t i) const { return base + at[i]; }
  };
  static constexpr std::size_t kMaxStep = 8;  // places that one step may add

  // The places at or after `from` whose run was added, of `from` and every kStride-th after it
  // (with short ones: every kShortStride-th for those). Where to go on; bytes.size() at the end.
  // Some places are false: other bytes, or the other case.
  std::size_t collect(std::string_view bytes, std::size_t from, Places* places) const;

  // Eight bytes at `at` with letters folded to lower case, zero past the end.
  static std::uint64_t load(std::string_view bytes, std::size_t at) {
    if (bytes.size() - at >= sizeof(std::uint64_t)) return load_eight(bytes.data() + at);
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, bytes.size() - at);
    return fold(word);
  }
  static std::uint32_t hash_of(std::uint64_t word) {
    const auto low = static_cast<std::uint32_t>(word);
    const auto fifth = static_cast<std::uint32_t>(word >> 32 & 0xFF);
    return (low ^ fifth << kFifthShift) * kFactor;
  }
  static std::uint32_t known_hash_of(std::uint64_t word) {
    return static_cast<std::uint32_t>(word) * kKnownFactor;
  }

 private:
  // Of hash values, by their top bits.
  template <unsigned kBits>
  struct Bitmap {
    std::array<std::uint32_t, (1U << kBits) / 32> words{};
    void set(std::uint32_t hash) {
      const std::uint32_t index = hash >> (32 - kBits);
      words[index / 32] |= 1U << (index % 32);
    }
    std::uint32_t test(std::uint32_t hash) const {
      const std::uint32_t index = hash >> (32 - kBits);
      return words[index / 32] >> (index % 32) & 1;
    }
  };
  static constexpr unsigned kBits = 19;  // 64 KiB: fits the second cache beside the text
  static constexpr unsigned kAroundBits = 17;
  static constexpr std::uint32_t kFactor = 0x9E3779B1U;
  static constexpr std::uint32_t kKnownFactor = 0x85EBCA6BU;
  static constexpr unsigned kFifthShift = 13;
  static constexpr std::uint64_t kFold = 0x2020202020202020U;
  static constexpr std::size_t kBefore = 3;  // a run that ends its literal is seen with these

  static std::uint64_t fold(std::uint64_t word) {
    if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
    return word | kFold;
  }
  static std::uint64_t load_eight(const char* at) {
    std::uint64_t word;
    std::memcpy(&word, at, sizeof word);
    return fold(word);
  }
  static std::uint32_t around_hash(std::uint64_t word) {
    return static_cast<std::uint32_t>(word * 0x9E3779B97F4A7C15U >> 32);
  }
  std::uint32_t test(std::uint64_t word) const { return runs_.test(hash_of(word)); }

  std::size_t collect_wide(std::string_view bytes, std::size_t from, Places* places) const;
  std::size_t collect_scalar(std::string_view bytes, std::size_t from, Places* places) const;
  void add_alone(std::uint64_t word);
  void look_around(std::string_view bytes, Places* places) const;

  Bitmap<kBits> runs_;
  // Eight bytes from the run on, or from kBefore before it; and runs of literals that have neither.
  Bitmap<kAroundBits> ahead_, behind_, alone_;
  bool wide_ = false;  // the machine has AVX2
};

}  // namespace nvab
