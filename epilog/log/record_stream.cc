// SPDX-License-Identifier: Apache-2.0
// See record_stream.hh.
#include "epilog/log/record_stream.hh"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "common/base/text.hh"

namespace nvab {
namespace {

// syslog's codes: only the kernel has facility 0, whatever a message says of itself.
constexpr int kKernelFacility = 0, kUserFacility = 1, kDaemonFacility = 3;

int facility_of(Trust trust) {
  if (trust == Trust::kernel) return kKernelFacility;
  return trust == Trust::system ? kDaemonFacility : kUserFacility;
}

// One word of a head: no blanks, no controls; "-" for nothing, as RFC 5424 has it.
std::string word(std::string_view text) {
  std::string clean = sanitize(text);
  std::replace_if(
      clean.begin(), clean.end(), [](char c) { return c == ' ' || c == '\t' || c == '\n'; }, '_');
  return clean.empty() ? "-" : clean;
}

// A program that calls itself kernel is not.
std::string app_word(const LogRecord& record) {
  if (record.trust == Trust::kernel) return "kernel";
  std::string app = word(record.app);
  return app == "kernel" ? "not-kernel" : app;
}

}  // namespace

struct RecordStream::Part {
  Part(StreamInfo info, const Host& host, ObservationBatch& batch)
      : reader(
            *host.rules, std::move(info),
            [this, &batch](LogEntry&& entry) {
              const std::uint64_t line = entry.origin.line;
              if (line > 0 && line <= numbers.size()) entry.origin.line = numbers[line - 1];
              batch.add(std::move(entry));
            },
            host.all_lines) {}

  std::vector<std::uint64_t> numbers;  // of each line, where records are numbered
  std::uint64_t bytes = 0;
  StreamReader reader;
};

RecordStream::RecordStream(std::string name, std::string node, const Host& host,
                           ObservationBatch& batch)
    : name_(std::move(name)), node_(std::move(node)), host_(host), batch_(batch) {}
RecordStream::~RecordStream() = default;

RecordStream::Part& RecordStream::part(Trust trust) {
  std::unique_ptr<Part>& part = parts_[static_cast<std::size_t>(trust)];
  if (!part) {
    StreamInfo info;
    info.name = fmt::format("{}/{}", name_, to_string(trust));
    info.source = Source::syslog;
    info.node = node_;
    info.trust = trust;
    part = std::make_unique<Part>(std::move(info), host_, batch_);
  }
  return *part;
}

void RecordStream::add(const LogRecord& record) {
  Part& part = this->part(record.trust);
  const int priority = facility_of(record.trust) * 8 + std::clamp(record.severity, 0, 7);
  std::string head = fmt::format("<{}>", priority);
  if (record.time) {
    fmt::format_to(std::back_inserter(head), "1 {} {} {} ", format_rfc3339(*record.time),
                   word(record.host), app_word(record));
    head += record.pid ? fmt::format("{} - - ", *record.pid) : "- - - ";
  }
  text_.clear();
  for (const std::string_view line : split(record.message, '\n')) {
    if (trim(line).empty()) continue;
    const std::size_t begin = text_.append(head).size();
    text_.append(line).append("\n");
    // Readers of files take a lone carriage return for the end of a line.
    std::replace(text_.begin() + static_cast<std::ptrdiff_t>(begin), text_.end(), '\r', ' ');
    if (record.number > 0) part.numbers.push_back(record.number);
    ++lines_;
  }
  part.bytes += text_.size();
  bytes_ += text_.size();
  part.reader.feed(text_);
}

void RecordStream::finish() {
  for (std::unique_ptr<Part>& part : parts_) {
    if (!part) continue;
    StreamCoverage coverage = part->reader.finish();
    batch_.add(std::move(coverage), part->bytes, part->reader.bytes_replaced());
    part.reset();
  }
}

}  // namespace nvab
