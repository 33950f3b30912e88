// SPDX-License-Identifier: Apache-2.0
// NCCL dumps, pickle and JSON: any bytes are read or refused, and what was read can be written and
// read again.
#include <cassert>
#include <cstddef>
#include <cstdint>

#include "epilog/log/nccl_dump.hh"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto dump = nvab::parse_nccl_dump("nccl_trace_rank_0", bytes);
  if (!dump) return 0;
  const std::string text = nvab::dump_to_json(*dump).dump();
  const auto again = nvab::parse_nccl_dump("nccl_trace_rank_0", text);
  assert(again.has_value());
  assert(again->entries.size() == dump->entries.size());
  return 0;
}
