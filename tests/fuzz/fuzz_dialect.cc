// SPDX-License-Identifier: Apache-2.0
// Any bytes as the head of a line of each source, as a JSON line and as the samples that a stream
// is probed by: views stay inside the line, and times come out only where the stream allows them.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "common/base/text.hh"
#include "common/engine/extract/dialect.hh"

using namespace nvab;

namespace {

void expect_inside(std::string_view part, std::string_view whole) {
  if (part.empty()) return;
  if (part.data() < whole.data() || part.data() + part.size() > whole.data() + whole.size()) {
    std::abort();
  }
}

void read_line(std::string_view line, Source source, HeadOptions options) {
  const LineHead head = parse_head(line, source, options);
  expect_inside(head.message, line);
  expect_inside(head.node, line);
  if (head.rank && *head.rank < 0) std::abort();
  StreamInfo nothing;
  const auto time = resolve(head, nothing, std::nullopt);
  const bool needs_more = head.stamp != StampKind::zoned && head.stamp != StampKind::zoneless;
  if (time && needs_more) std::abort();
}

ExecutionContext some_job() {
  ExecutionContext job;
  job.job_id = "1234";
  job.nodes = {"n1", "n2"};
  job.start_time = parse_rfc3339("2025-12-31T22:00:00Z");
  job.end_time = parse_rfc3339("2026-01-01T02:00:00Z");
  return job;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const ExecutionContext job = some_job();
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  for (const std::string_view raw : {bytes, bytes.substr(0, bytes.find('\n'))}) {
    const std::string line = sanitize(raw);
    for (const Source source : {Source::applog, Source::syslog, Source::scheduler}) {
      read_line(raw, source, {});
      read_line(line, source, {.task_labels = false, .is_dmesg = true});
    }
    if (const auto json = unwrap_json(line)) {
      if (json->message.empty() || sanitize(json->message) != json->message) std::abort();
    }
  }
  // The first line is the file's name, the rest its two ends.
  const std::size_t end = bytes.find('\n');
  const std::string name = sanitize(bytes.substr(0, end));
  const std::string_view text = end == std::string_view::npos ? bytes : bytes.substr(end);
  for (const Source source : {Source::applog, Source::syslog}) {
    const StreamInfo stream =
        probe_stream(name, source, text.substr(0, size / 2), text.substr(text.size() / 2), job);
    const LineHead head = parse_head(text, source, stream.head);
    resolve(head, stream, job.start_time);
  }
  return 0;
}
