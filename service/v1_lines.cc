// SPDX-License-Identifier: Apache-2.0
// See v1_lines.hh. Lines that name another node or program than their stream are streams of their
// own here: one writer's block is not cut by another's line.
#include "service/v1_lines.hh"

#include <algorithm>

#include "common/base/text.hh"
#include "common/engine/extract/stream_reader.hh"

namespace nvab {
namespace {

Time time_of(long long ns) { return Time(Duration(ns / 1000)); }

// What was seen of the stream, by Loki's times.
StreamCoverage coverage_of(const std::string& stream, const std::string& node,
                           const std::vector<V1Lines::Line>& lines) {
  StreamCoverage coverage;
  coverage.stream = stream;
  coverage.node = node;
  coverage.lines = lines.size();
  if (lines.empty()) return coverage;
  coverage.first = time_of(lines.front().ns);
  coverage.last = time_of(lines.back().ns);
  coverage.last_line = excerpt(sanitize(lines.back().message), kMaxLastLine);
  long long longest = 0;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    if (lines[i].ns - lines[i - 1].ns <= longest) continue;
    longest = lines[i].ns - lines[i - 1].ns;
    coverage.gap_start = time_of(lines[i - 1].ns);
    coverage.gap_end = time_of(lines[i].ns);
  }
  return coverage;
}

}  // namespace

void V1Lines::add(const LogEntry& stream, const std::string& node, const std::string& app,
                  bool is_plain, Line line) {
  Group& group = groups_[{stream.origin.stream, node, app, is_plain}];
  group.trust = stream.trust;
  group.lines.push_back(std::move(line));
}

void V1Lines::read(const Ruleset& rules, const Key& key, Group& group, Observation* out) {
  // Loki gives the newest first, unless it was asked otherwise.
  std::stable_sort(group.lines.begin(), group.lines.end(),
                   [](const Line& a, const Line& b) { return a.ns < b.ns; });
  StreamInfo info;
  info.name = key.stream;
  info.source = out->source;
  info.node = key.node;
  info.app = key.app;
  info.trust = group.trust;
  info.head.is_dmesg = key.is_plain;
  std::vector<const Line*> line_at;  // a message may have several lines
  const auto take = [&](LogEntry&& entry) {
    const Line& line = *line_at[std::min<std::size_t>(entry.origin.line, line_at.size()) - 1];
    entry.timestamp = time_of(line.ns);
    entry.time_quality = TimeQuality::exact;
    // The reader takes lines without a head for the kernel's.
    if (key.is_plain && key.app != "kernel" && key.app != "dmesg") entry.app = key.app;
    if (!line.severity.empty()) entry.severity = line.severity;
    entry.facility = line.facility;
    // Where it stands in this body says nothing: another body begins anew.
    entry.origin = {key.stream, 0, 0};
    out->entries.push_back(std::move(entry));
  };
  StreamReader reader(rules, std::move(info), take, true);
  for (const Line& line : group.lines) {
    const auto count = std::count(line.message.begin(), line.message.end(), '\n');
    line_at.insert(line_at.end(), static_cast<std::size_t>(count) + 1, &line);
    reader.feed(line.message);
    reader.feed("\n");
  }
  reader.finish();
  out->coverage.bytes_replaced += reader.bytes_replaced();
  out->coverage.lines_scanned += group.lines.size();
  out->coverage.streams.push_back(coverage_of(key.stream, key.node, group.lines));
}

void V1Lines::finish(const Ruleset& rules, Observation* out) {
  for (auto& [key, group] : groups_) read(rules, key, group, out);
  groups_.clear();
}

}  // namespace nvab
