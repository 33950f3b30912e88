// SPDX-License-Identifier: Apache-2.0
// Records of logs that have structure (the journal, the kernel's ring) through the same reader as
// lines of files: each becomes one RFC 5424 line whose head we wrote, so that nothing in a message
// can pass for a head. Records of each trust are a stream of their own.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/engine/extract/stream_reader.hh"
#include "epilog/host.hh"
#include "epilog/observation_batch.hh"

namespace nvab {

struct LogRecord {
  std::optional<Time> time;  // none: the reader inherits it
  std::string_view host;     // as it names itself; empty: the stream's node
  std::string_view app;
  std::optional<int> pid;
  int severity = 6;  // of syslog, 0 to 7
  Trust trust = Trust::user;
  std::uint64_t number = 0;  // becomes Origin::line; 0: they are counted
  std::string_view message;  // any bytes; its lines become lines of the same head
};

// The records of one writer, in their order. For one thread.
class RecordStream {
 public:
  // Entries go to `batch`, as streams NAME/kernel, NAME/system and NAME/user of `node`. Both
  // references must outlive it.
  RecordStream(std::string name, std::string node, const Host& host, ObservationBatch& batch);
  ~RecordStream();

  void add(const LogRecord& record);
  // Ends the streams and delivers what was read of them.
  void finish();
  std::uint64_t lines() const { return lines_; }
  std::uint64_t bytes() const { return bytes_; }

 private:
  struct Part;
  Part& part(Trust trust);

  std::string name_, node_;
  const Host& host_;
  ObservationBatch& batch_;
  std::array<std::unique_ptr<Part>, 3> parts_;  // by trust
  std::string text_;
  std::uint64_t lines_ = 0, bytes_ = 0;
};

}  // namespace nvab
