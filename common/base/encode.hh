// SPDX-License-Identifier: Apache-2.0
// Packing of bodies and journal rows; unpacking is common/base/decode. Base 64.
#pragma once

#include <string>
#include <string_view>

namespace nvab {

// As one zstd frame at a level that costs little (logs shrink to a tenth at some hundred MB/s).
// Empty when it could not be done (no memory): send it as it is then.
std::string zstd_pack(std::string_view bytes);

// RFC 4648, padded.
std::string base64(std::string_view bytes);

}  // namespace nvab
