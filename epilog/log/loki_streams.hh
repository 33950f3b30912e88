// SPDX-License-Identifier: Apache-2.0
// The streams of a log server as streams of the engine: who wrote them by their labels, each line
// with the time at which the server has it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "epilog/host.hh"
#include "epilog/log/loki_answer.hh"
#include "epilog/observation_batch.hh"

namespace nvab {

struct LokiStreamOptions {
  Source source = Source::applog;
  std::vector<std::string> node_labels;  // the first of them that is there names the node
};

// The references must outlive it.
class LokiStreams {
 public:
  LokiStreams(LokiStreamOptions options, const ExecutionContext& context, Host& host,
              ObservationBatch& batch);
  ~LokiStreams();

  void take(const LokiLine& line);
  // Ends all that are open; further lines begin new ones.
  void finish();

  std::uint64_t streams() const { return streams_; }
  std::uint64_t lines() const { return lines_; }
  std::uint64_t bytes() const { return bytes_; }
  // Lines that came after a later one of their stream.
  std::uint64_t out_of_order() const { return out_of_order_; }

 private:
  struct Open;
  using OpenStreams = std::map<std::string, std::unique_ptr<Open>>;
  Open& open(const LokiLine& line);
  void start(Open* stream);
  void feed(Open* stream, std::int64_t time_ns, std::string_view text);
  void end(Open* stream);

  LokiStreamOptions options_;
  const ExecutionContext& context_;
  Host& host_;
  ObservationBatch& batch_;
  OpenStreams open_;
  std::map<std::string, int> ended_;  // names of streams that were ended, and how often
  std::uint64_t streams_ = 0, lines_ = 0, bytes_ = 0, out_of_order_ = 0;
};

}  // namespace nvab
