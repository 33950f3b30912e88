// SPDX-License-Identifier: Apache-2.0
// See encode.hh.
#include "common/base/encode.hh"

#include <zstd.h>

#include <algorithm>
#include <cstdint>

namespace nvab {
namespace {

// The fastest of the regular levels: higher ones gain little on logs.
constexpr int kLevel = 1;

}  // namespace

std::string zstd_pack(std::string_view bytes) {
  std::string packed(ZSTD_compressBound(bytes.size()), '\0');
  const std::size_t size =
      ZSTD_compress(packed.data(), packed.size(), bytes.data(), bytes.size(), kLevel);
  packed.resize(ZSTD_isError(size) != 0 ? 0 : size);
  return packed;
}

std::string base64(std::string_view bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (; !bytes.empty(); bytes.remove_prefix(std::min<std::size_t>(3, bytes.size()))) {
    std::uint32_t group = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      group = group << 8 | (i < bytes.size() ? static_cast<unsigned char>(bytes[i]) : 0U);
    }
    for (std::size_t i = 0; i < 4; ++i) {
      out += i <= bytes.size() ? kDigits[group >> (18 - 6 * i) & 63] : '=';
    }
  }
  return out;
}

}  // namespace nvab
