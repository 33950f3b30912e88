// SPDX-License-Identifier: Apache-2.0
// See journal_export.hh.
#include "common/engine/extract/journal_export.hh"

#include <algorithm>
#include <utility>

#include "common/base/text.hh"
#include "common/base/time.hh"
#include "common/engine/extract/stream_reader.hh"

namespace nvab {
namespace {

// The fields that a line is made of; a record has some forty.
constexpr std::string_view kKept[] = {
    "MESSAGE",   "PRIORITY", "SYSLOG_IDENTIFIER",          "SYSLOG_PID", "_COMM",
    "_HOSTNAME", "_PID",     "_SOURCE_REALTIME_TIMESTAMP", "_TRANSPORT", "__REALTIME_TIMESTAMP"};
constexpr int kLengthBytes = 8;

// A tag of syslog has none of these.
std::string tag_of(std::string_view name) {
  std::string tag(name);
  std::replace_if(
      tag.begin(), tag.end(), [](char c) { return c == ' ' || c == '[' || c == ':'; }, '_');
  return tag;
}

}  // namespace

bool is_journal_export(std::string_view head) {
  return head.starts_with("__CURSOR=") || head.starts_with("__REALTIME_TIMESTAMP=");
}

std::string_view JournalExport::feed(std::string_view bytes) {
  out_.clear();
  while (!bytes.empty()) {
    std::size_t used = 0;
    if (length_bytes_ < kLengthBytes && !data_name_.empty()) {
      used = take_length(bytes);
    } else if (in_data_) {
      used = take_data(bytes);
    } else {
      const std::size_t end = std::min(bytes.find('\n'), bytes.size());
      const std::size_t room = kMaxLine - std::min(kMaxLine, line_.size());
      line_ += bytes.substr(0, std::min(end, room));
      used = std::min(end + 1, bytes.size());
      if (end < bytes.size()) take_line(std::exchange(line_, {}));
    }
    bytes.remove_prefix(used);
  }
  return out_;
}

std::string_view JournalExport::finish() {
  out_.clear();
  if (!line_.empty() && data_name_.empty()) take_line(std::exchange(line_, {}));
  end_record();
  return out_;
}

void JournalExport::take_line(std::string_view line) {
  if (line.empty()) return end_record();
  const std::size_t equals = line.find('=');
  if (equals != std::string_view::npos) {
    return keep(line.substr(0, equals), line.substr(equals + 1));
  }
  data_name_ = std::string(line);
  data_.clear();
  data_left_ = 0;
  length_bytes_ = 0;
}

// Eight bytes, the least first.
std::size_t JournalExport::take_length(std::string_view bytes) {
  std::size_t used = 0;
  while (used < bytes.size() && length_bytes_ < kLengthBytes) {
    const auto byte = static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[used++]));
    data_left_ |= byte << (8 * length_bytes_++);
  }
  in_data_ = length_bytes_ == kLengthBytes;
  return used;
}

// The field's bytes and the line break behind them.
std::size_t JournalExport::take_data(std::string_view bytes) {
  const std::size_t used =
      static_cast<std::size_t>(std::min<std::uint64_t>(data_left_, bytes.size()));
  data_ += bytes.substr(0, std::min(used, kMaxLine - std::min(kMaxLine, data_.size())));
  data_left_ -= used;
  if (data_left_ > 0 || used == bytes.size()) return used;
  keep(data_name_, data_);
  data_name_.clear();
  in_data_ = false;
  return used + 1;
}

void JournalExport::keep(std::string_view name, std::string_view value) {
  if (std::find(std::begin(kKept), std::end(kKept), name) == std::end(kKept)) return;
  fields_[std::string(name)] = std::string(value);
}

std::string_view JournalExport::field(std::string_view name) const {
  const auto found = fields_.find(name);
  return found == fields_.end() ? std::string_view() : std::string_view(found->second);
}

// "<11>2026-03-01T10:59:58.123456Z n1 sshd[77]: "; only the kernel's facility is told.
void JournalExport::write_head(bool is_kernel) {
  std::string_view stamp = field("_SOURCE_REALTIME_TIMESTAMP");
  if (stamp.empty()) stamp = field("__REALTIME_TIMESTAMP");
  const auto microseconds = parse_int(stamp);
  const std::string time =
      microseconds && *microseconds > 0 ? format_rfc3339(Time(Duration(*microseconds))) + ' ' : "";
  if (source_ != Source::syslog) {
    out_ += time;
    return;
  }
  const auto priority = parse_int(field("PRIORITY"));
  if (priority && *priority >= 0 && *priority <= 7) {
    out_ += '<' + std::to_string(*priority + (is_kernel ? 0 : 8)) + '>';
  }
  out_ += time;
  if (!field("_HOSTNAME").empty()) out_ += std::string(field("_HOSTNAME")) + ' ';
  // Anybody may call himself "kernel".
  std::string tag = is_kernel ? "kernel" : tag_of(field("SYSLOG_IDENTIFIER"));
  if (tag.empty() || (tag == "kernel" && !is_kernel)) tag = tag_of(field("_COMM"));
  if (tag.empty() || (tag == "kernel" && !is_kernel)) tag = "unknown";
  out_ += tag;
  const std::string_view pid = field(field("SYSLOG_PID").empty() ? "_PID" : "SYSLOG_PID");
  if (!is_kernel && parse_int(pid)) out_ += '[' + std::string(pid) + ']';
  out_ += ": ";
}

void JournalExport::end_record() {
  const bool is_whole = fields_.count("MESSAGE") > 0 && fields_.count("__REALTIME_TIMESTAMP") > 0;
  if (is_whole) {
    write_head(field("_TRANSPORT") == "kernel");
    // As rsyslog escapes them; the reader of heads undoes it.
    for (const char c : field("MESSAGE")) {
      if (c == '\n') {
        out_ += "#012";
      } else {
        out_ += c == '\r' ? ' ' : c;
      }
    }
    out_ += '\n';
  }
  fields_.clear();
}

}  // namespace nvab
