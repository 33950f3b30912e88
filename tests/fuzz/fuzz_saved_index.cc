// SPDX-License-Identifier: Apache-2.0
// The index of a saved bundle: any index line with any plain lines is an entry or is refused; an
// entry can be written and read again.
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "common/base/text.hh"
#include "epilog/output/entry_lines.hh"

namespace {

std::vector<std::string> lines_in(std::string_view text) {
  std::vector<std::string> lines;
  for (const std::string_view line : nvab::split(text, '\n')) lines.emplace_back(line);
  return lines;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::size_t end = bytes.find('\n');
  const auto index = nvab::Json::parse(bytes.substr(0, end));
  if (!index || end == std::string_view::npos) return 0;
  for (const nvab::Source source : {nvab::Source::applog, nvab::Source::syslog}) {
    std::size_t changed = 0;
    const auto lines = lines_in(bytes.substr(end + 1));
    const auto entry = nvab::entry_of(*index, lines, source, &changed);
    if (!entry) continue;
    const auto again_index = nvab::Json::parse(nvab::index_line(*entry));
    assert(again_index.has_value());
    std::string plain = nvab::plain_lines(*entry, source);
    plain.pop_back();  // the last line end
    const auto again_lines = lines_in(plain);
    assert(again_lines.size() == nvab::lines_of(*again_index));
    changed = 0;
    const auto again = nvab::entry_of(*again_index, again_lines, source, &changed);
    assert(again.has_value() && changed == 0);
    assert(again->message == entry->message);
  }
  return 0;
}
