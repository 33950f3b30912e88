// SPDX-License-Identifier: Apache-2.0
// See encode.hh.
#include "common/base/encode.hh"

#include <zstd.h>

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

}  // namespace nvab
