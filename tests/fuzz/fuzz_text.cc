// SPDX-License-Identifier: Apache-2.0
// Any bytes as text, a hostlist, a time, a packed file: nothing invalid comes out, and what is
// taken reads back.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "common/base/decode.hh"
#include "common/base/hostlist.hh"
#include "common/base/text.hh"
#include "common/base/time.hh"

using namespace nvab;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::string clean = sanitize(text);
  if (sanitize(clean) != clean || replace_invalid_utf8(clean) != clean) std::abort();
  const std::string valid = replace_invalid_utf8(text);
  if (replace_invalid_utf8(valid) != valid) std::abort();
  excerpt(valid, size / 2);
  if (const auto time = parse_rfc3339(text)) {
    const auto again = parse_rfc3339(format_rfc3339(*time));
    // A zone may lead out of the four-digit years.
    if (again && *again != *time) std::abort();
  }
  if (const auto hosts = expand_hostlist(text); hosts && hosts->size() < 1000) {
    std::vector<std::string> sorted = *hosts;
    sort_hosts(sorted);
    auto again = expand_hostlist(fold_hostlist(*hosts));
    if (!again) std::abort();
    sort_hosts(*again);
    if (*again != sorted) std::abort();
  }
  for (const std::string_view encoding : {"gzip", "zstd"}) {
    const auto plain = decode_buffer(text, encoding, 100'000);
    if (plain && plain->size() > 100'000) std::abort();
  }
  return 0;
}
