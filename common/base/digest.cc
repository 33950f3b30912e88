// SPDX-License-Identifier: Apache-2.0
// The only user of libmd.
#include "common/base/digest.hh"

#include <sha2.h>

namespace nvab {

std::string sha256_hex(std::string_view bytes) {
  char hex[SHA256_DIGEST_STRING_LENGTH];
  SHA256Data(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size(), hex);
  return hex;
}

}  // namespace nvab
