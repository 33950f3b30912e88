// SPDX-License-Identifier: Apache-2.0
// Journals as text and the kernel's ring: any bytes in any pieces end in records or an error, and
// the pieces do not matter.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "common/base/text.hh"
#include "epilog/log/journal_export.hh"
#include "epilog/log/kmsg.hh"

namespace {

using namespace nvab;

std::string parse_export(std::string_view text, std::size_t step) {
  std::string all;
  JournalExportParser parser([&](const JournalRecord& record) {
    all += record.host + record.message + std::to_string(static_cast<int>(record.trust())) + '|';
    (void)record.line();
  });
  bool goes_on = true;
  for (std::size_t i = 0; i < text.size() && goes_on; i += step) {
    goes_on = parser.feed(text.substr(i, step));
  }
  return all + (parser.finish() ? "whole" : "broken");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (parse_export(text, size + 1) != parse_export(text, 3)) std::abort();
  JournalJsonParser json([](const JournalRecord& record) { (void)record.line(); });
  json.feed(text);
  json.finish();
  std::vector<KernelRecord> records;
  for (const std::string_view line : split(text, '\n')) {
    if (auto record = parse_kernel_record(line)) records.push_back(std::move(*record));
  }
  if (times_of(records, {}).size() != records.size()) std::abort();
  return 0;
}
