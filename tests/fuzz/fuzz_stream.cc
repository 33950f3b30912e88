// SPDX-License-Identifier: Apache-2.0
// Any bytes as a log, read with the built-in rules: the entries are the same however the bytes are
// cut, each is valid text from a place inside the log, and whatever the rules say of them holds for
// PCRE2 alone, too.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/text.hh"
#include "common/engine/extract/extractor.hh"
#include "common/engine/extract/stream_reader.hh"
#include "common/engine/ruleset.hh"

using namespace nvab;

namespace {

const Ruleset& rules() {
  static const std::unique_ptr<Ruleset> built = std::move(*Ruleset::load("fuzz", ""));
  return *built;
}

struct Log {
  std::vector<LogEntry> entries;
  StreamCoverage coverage;
};

Log read(std::string_view bytes, const StreamInfo& info, std::size_t piece, bool all) {
  Log log;
  StreamReader reader(
      rules(), info, [&](LogEntry&& entry) { log.entries.push_back(std::move(entry)); }, all);
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    // Its own allocation: a look past the piece is seen.
    const std::vector<char> part(
        bytes.begin() + static_cast<std::ptrdiff_t>(at),
        bytes.begin() + static_cast<std::ptrdiff_t>(std::min(bytes.size(), at + piece)));
    reader.feed({part.data(), part.size()});
  }
  log.coverage = reader.finish();
  return log;
}

bool same(const LogEntry& a, const LogEntry& b) {
  return a.message == b.message && a.timestamp == b.timestamp && a.node == b.node &&
         a.rank == b.rank && a.app == b.app && a.origin.line == b.origin.line &&
         a.origin.offset == b.origin.offset;
}

void expect_same(const Log& a, const Log& b) {
  if (a.entries.size() != b.entries.size() || a.coverage.lines != b.coverage.lines ||
      a.coverage.last_line != b.coverage.last_line || a.coverage.last != b.coverage.last) {
    std::abort();
  }
  for (std::size_t i = 0; i < a.entries.size(); ++i) {
    if (!same(a.entries[i], b.entries[i])) std::abort();
  }
}

void extract(const LogEntry& entry, Source source, std::size_t size) {
  if (sanitize(entry.message) != entry.message && entry.message.find('\n') == std::string::npos) {
    std::abort();
  }
  if (entry.origin.offset > size) std::abort();
  std::vector<Event> events;
  extract_entry(rules(), entry, source, &events);
  for (const Event& event : events) {
    if (event.rule == nullptr || event.text != sanitize(event.text)) std::abort();
    if (!rules().try_rule(*event.rule, entry.message)) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  StreamInfo info;
  info.name = "a.log";
  info.source = (data[0] & 1) != 0 ? Source::syslog : Source::applog;
  const bool all = (data[0] & 2) != 0;
  const std::size_t piece = 1 + data[1] % 67;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 2, size - 2);
  const Log whole = read(bytes, info, size, all);
  expect_same(whole, read(bytes, info, piece, all));
  for (const LogEntry& entry : whole.entries) extract(entry, info.source, size);
  return 0;
}
