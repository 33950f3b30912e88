// SPDX-License-Identifier: Apache-2.0
// What makes an observation the one that it is, as bytes: every field with its length or its
// absence, in a fixed order, so that no two contents give the same bytes.
#include <cstring>

#include "common/base/digest.hh"
#include "common/model/observation.hh"

namespace nvab {
namespace {

// Handed on in pieces of about this size: observations may be large.
constexpr std::size_t kPiece = 32 * 1024;

class IdentityWriter {
 public:
  explicit IdentityWriter(const std::function<void(std::string_view)>& sink) : sink_(sink) {}
  ~IdentityWriter() { sink_(buffer_); }

  IdentityWriter& operator<<(std::uint64_t value) {
    char bytes[sizeof(value)];
    for (char& byte : bytes) {
      byte = static_cast<char>(value & 0xff);
      value >>= 8;
    }
    return put({bytes, sizeof(bytes)});
  }
  IdentityWriter& operator<<(int value) { return *this << static_cast<std::uint64_t>(value); }
  IdentityWriter& operator<<(long value) { return *this << static_cast<std::uint64_t>(value); }
  IdentityWriter& operator<<(long long value) { return *this << static_cast<std::uint64_t>(value); }
  IdentityWriter& operator<<(bool value) { return *this << std::uint64_t{value ? 1U : 0U}; }
  IdentityWriter& operator<<(double value) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof(bits));
    return *this << bits;
  }
  IdentityWriter& operator<<(std::string_view text) { return (*this << text.size()).put(text); }
  IdentityWriter& operator<<(const std::string& text) { return *this << std::string_view(text); }
  IdentityWriter& operator<<(Time time) { return *this << time.time_since_epoch().count(); }
  template <typename T>
  IdentityWriter& operator<<(const std::optional<T>& value) {
    *this << value.has_value();
    return value ? *this << *value : *this;
  }
  template <typename T>
  IdentityWriter& operator<<(const std::vector<T>& values) {
    *this << values.size();
    for (const T& value : values) *this << value;
    return *this;
  }
  IdentityWriter& operator<<(const Origin& o) { return *this << o.stream << o.line << o.offset; }
  IdentityWriter& operator<<(const LogEntry& e) {
    return *this << e.timestamp << static_cast<int>(e.time_quality) << e.node << e.rank << e.task
                 << e.local_rank << e.app << e.pid << e.severity << e.facility
                 << static_cast<int>(e.trust) << e.origin << e.message
                 << (e.only_shadow ? "only_shadow" : "");
  }
  IdentityWriter& operator<<(const MetricSample& s) {
    *this << s.timestamp << s.name << s.labels.size();
    for (const auto& [name, value] : s.labels) *this << name << value;
    return *this << s.value << s.node;
  }
  IdentityWriter& operator<<(const TaskExit& t) {
    return *this << t.node << t.step << t.task << t.local_id << t.node_id << t.pid
                 << t.restart_count << t.uid << t.gpu_ids << t.gpu_pci << t.start << t.end
                 << t.exit_code << t.signal << t.core_dumped << t.oom_kills << t.stdout_path
                 << t.stderr_path << static_cast<int>(t.trust);
  }
  IdentityWriter& operator<<(const FlightDump::Group& g) {
    return *this << g.id << g.description << g.ranks << static_cast<long long>(g.last_enqueued)
                 << static_cast<long long>(g.last_started)
                 << static_cast<long long>(g.last_completed);
  }
  IdentityWriter& operator<<(const CollectiveRecord& c) {
    return *this << c.process_group << c.description << c.op << c.state << c.sequence << c.sizes
                 << c.dtype << c.created << c.started << c.completed << c.is_p2p;
  }
  IdentityWriter& operator<<(const FlightDump& d) {
    return *this << d.rank << d.stream << d.groups << d.entries;
  }
  IdentityWriter& operator<<(const StreamCoverage& s) {
    return *this << s.stream << s.node << s.rank << s.task << s.first << s.last << s.gap_start
                 << s.gap_end << s.lines << s.last_line;
  }
  IdentityWriter& operator<<(const Coverage& c) {
    *this << c.bytes_scanned << c.lines_scanned << c.bytes_replaced << c.prefiltered
          << c.rules_digest << c.truncated << c.streams;
    // Not of those that had an id before there was this member.
    return c.complete_node.empty() ? *this : *this << c.complete_node;
  }

 private:
  IdentityWriter& put(std::string_view bytes) {
    if (buffer_.size() + bytes.size() > kPiece) {
      sink_(buffer_);
      buffer_.clear();
    }
    if (bytes.size() > kPiece) {
      sink_(bytes);
    } else {
      buffer_ += bytes;
    }
    return *this;
  }

  const std::function<void(std::string_view)>& sink_;
  std::string buffer_;
};

}  // namespace

void write_identity(const Observation& observation,
                    const std::function<void(std::string_view)>& sink) {
  // Which connector delivered it is no part of what it says: two that read the same file at the
  // same place are one observation.
  IdentityWriter writer(sink);
  writer << static_cast<int>(observation.source) << observation.start << observation.end
         << observation.coverage << observation.entries << observation.samples
         << observation.task_exits << observation.dumps;
}

std::string observation_id(const Observation& observation) {
  std::string all;
  write_identity(observation, [&](std::string_view bytes) { all += bytes; });
  return sha256_hex(all);
}

}  // namespace nvab
