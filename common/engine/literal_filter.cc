// SPDX-License-Identifier: Apache-2.0
// Written without branches that depend on the text: a place passes once in a line or so, at random,
// and a branch guessed wrong costs more than the test.
#include "common/engine/literal_filter.hh"

#include <algorithm>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace nvab {
namespace {

// For each mask of eight lanes the places of those that are set, one behind the other.
constexpr auto make_lanes() {
  std::array<std::array<std::uint8_t, 8>, 256> lanes{};
  for (unsigned mask = 0; mask < lanes.size(); ++mask) {
    std::size_t count = 0;
    for (unsigned lane = 0; lane < 8; ++lane) {
      if (mask >> lane & 1) {
        lanes[mask][count++] = static_cast<std::uint8_t>(lane * LiteralFilter::kStride);
      }
    }
  }
  return lanes;
}
constexpr auto kLanes = make_lanes();

}  // namespace

LiteralFilter::LiteralFilter() {
#if defined(__x86_64__)
  wide_ = __builtin_cpu_supports("avx2") != 0;
#endif
}

std::uint32_t LiteralFilter::add(std::string_view literal, std::size_t offset) {
  constexpr std::size_t kEight = sizeof(std::uint64_t);
  const std::uint32_t hash = hash_of(load(literal.substr(offset, kRun), 0));
  runs_.set(hash);
  if (offset + kEight <= literal.size()) {
    ahead_.set(around_hash(load(literal, offset)));
  } else if (offset >= kBefore) {
    behind_.set(around_hash(load(literal, offset - kBefore)));
  } else {
    alone_.set(hash);
  }
  return hash;
}

void LiteralFilter::add_alone(std::uint64_t word) {
  runs_.set(hash_of(word));
  alone_.set(hash_of(word));
}

std::uint32_t LiteralFilter::add_open_end(std::string_view literal, std::size_t offset) {
  const std::uint64_t known = load(literal.substr(offset, kKnown), 0);
  for (std::uint64_t byte = 0; byte < 256; ++byte) {
    add_alone((known & 0xFFFFFFFFU) | ((byte << 32) | kFold));
  }
  return known_hash_of(known);
}

std::uint32_t LiteralFilter::add_open_start(std::string_view literal, std::size_t offset) {
  const std::uint64_t known = load(literal.substr(offset, kKnown), 0);
  for (std::uint64_t byte = 0; byte < 256; ++byte) add_alone((known << 8 | byte) | kFold);
  return known_hash_of(known);
}

std::size_t LiteralFilter::collect(std::string_view bytes, std::size_t from, Places* places) const {
  places->base = from;
  places->count = 0;
  // Places are counted in 32 bits.
  constexpr std::size_t kMost = 1U << 30;
  const std::string_view part = bytes.substr(0, std::min(bytes.size(), from + kMost));
  std::size_t at = wide_ ? collect_wide(part, from, places) : from;
  if (!places->is_full()) at = collect_scalar(part, at, places);
  look_around(bytes, places);
  return at;
}

std::size_t LiteralFilter::collect_scalar(std::string_view bytes, std::size_t from,
                                          Places* places) const {
  std::size_t at = from;
  const auto add_place = [&](std::size_t place, std::uint32_t passed) {
    places->at[places->count] = static_cast<std::uint32_t>(place - places->base);
    places->count += passed;
  };
  constexpr std::size_t kStep = 4 * kStride;
  for (; at + kStep + sizeof(std::uint64_t) <= bytes.size() && !places->is_full(); at += kStep) {
    for (std::size_t i = 0; i < 4; ++i) {
      add_place(at + i * kStride, test(load_eight(bytes.data() + at + i * kStride)));
    }
  }
  // A run may reach over the end of the text as it may over that of its literal.
  for (; at + kKnown <= bytes.size() && !places->is_full(); at += kStride) {
    add_place(at, test(load(bytes, at)));
  }
  return at + kKnown <= bytes.size() ? at : bytes.size();
}

// Keeps the places whose surroundings were added, too; and those at the ends, where eight bytes
// would reach past the text.
void LiteralFilter::look_around(std::string_view bytes, Places* places) const {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < places->count; ++i) {
    const std::size_t place = places->place(i);
    const bool inside = place >= kBefore && place + sizeof(std::uint64_t) <= bytes.size();
    const char* at = bytes.data() + (inside ? place : std::min(kBefore, bytes.size()));
    places->at[kept] = places->at[i];
    if (!inside) {
      ++kept;
      continue;
    }
    const std::uint64_t word = load_eight(at);
    kept += ahead_.test(around_hash(word)) | behind_.test(around_hash(load_eight(at - kBefore))) |
            alone_.test(hash_of(word));
  }
  places->count = kept;
}

#if defined(__x86_64__)

// Stops where the rest is too short for it.
__attribute__((target("avx2,popcnt"))) std::size_t LiteralFilter::collect_wide(
    std::string_view bytes, std::size_t from, Places* places) const {
  constexpr std::size_t kStep = 8 * kStride;
  constexpr std::size_t kReach = 4 * kStride + 16;  // from the first place to the last byte loaded
  // Of sixteen bytes the runs at 0, 3, 6 and 9: four bytes each, and the fifth.
  const __m256i four = _mm256_setr_epi8(0, 1, 2, 3, 3, 4, 5, 6, 6, 7, 8, 9, 9, 10, 11, 12,  //
                                        0, 1, 2, 3, 3, 4, 5, 6, 6, 7, 8, 9, 9, 10, 11, 12);
  const __m256i fifth =
      _mm256_setr_epi8(4, -1, -1, -1, 7, -1, -1, -1, 10, -1, -1, -1, 13, -1, -1, -1,  //
                       4, -1, -1, -1, 7, -1, -1, -1, 10, -1, -1, -1, 13, -1, -1, -1);
  const __m256i lower = _mm256_set1_epi8(0x20);
  const __m256i factor = _mm256_set1_epi32(static_cast<int>(kFactor));
  const __m256i low_bits = _mm256_set1_epi32(31);
  const auto* words = reinterpret_cast<const int*>(runs_.words.data());
  std::uint32_t* out = places->at.data();
  const std::uint32_t* full = out + places->limit - kMaxStep;
  std::size_t at = from;
  for (; at + kReach <= bytes.size() && out <= full; at += kStep) {
    const auto* data = reinterpret_cast<const __m128i*>(bytes.data() + at);
    const auto* more = reinterpret_cast<const __m128i*>(bytes.data() + at + 4 * kStride);
    const __m256i raw = _mm256_set_m128i(_mm_loadu_si128(more), _mm_loadu_si128(data));
    const __m256i text = _mm256_or_si256(raw, lower);
    const __m256i last = _mm256_slli_epi32(_mm256_shuffle_epi8(text, fifth), kFifthShift);
    const __m256i runs = _mm256_xor_si256(_mm256_shuffle_epi8(text, four), last);
    const __m256i index = _mm256_srli_epi32(_mm256_mullo_epi32(runs, factor), 32 - kBits);
    const __m256i found = _mm256_i32gather_epi32(words, _mm256_srli_epi32(index, 5), 4);
    // The bit at `index % 32` to the top.
    const __m256i top = _mm256_sllv_epi32(found, _mm256_andnot_si256(index, low_bits));
    const auto mask = static_cast<unsigned>(_mm256_movemask_ps(_mm256_castsi256_ps(top)));
    const __m128i lanes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(kLanes[mask].data()));
    const __m256i start = _mm256_set1_epi32(static_cast<int>(at - from));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out),
                        _mm256_add_epi32(_mm256_cvtepu8_epi32(lanes), start));
    out += __builtin_popcount(mask);
  }
  places->count = static_cast<std::size_t>(out - places->at.data());
  return at;
}

#else

std::size_t LiteralFilter::collect_wide(std::string_view, std::size_t from, Places*) const {
  return from;
}

#endif

}  // namespace nvab
