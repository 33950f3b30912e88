// SPDX-License-Identifier: Apache-2.0
// Journals as text: `journalctl -o export` (systemd's Journal Export Format) and `journalctl -o
// json`. Pure; bytes come in pieces of any size.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "common/base/result.hh"
#include "epilog/log/journal_record.hh"
#include "epilog/log/line_splitter.hh"

namespace nvab {

// An entry with a core dump in it can have hundreds of MB; of one field this much is kept, and the
// rest is passed over.
inline constexpr std::size_t kMaxExportField = kMaxJournalField;

class JournalExportParser {
 public:
  using Sink = std::function<void(const JournalRecord&)>;
  explicit JournalExportParser(Sink sink) : sink_(std::move(sink)) {}

  // False: it is no such export, and no more is wanted.
  bool feed(std::string_view bytes);
  // Errors: malformed (no export; cut inside an entry, whose fields so far are not delivered).
  Result<void> finish();

 private:
  enum class State { line, size, value, end };
  std::size_t take_line(std::string_view bytes);
  std::size_t take_size(std::string_view bytes);
  std::size_t take_value(std::string_view bytes);
  void end_line();
  void end_entry();

  Sink sink_;
  State state_ = State::line;
  JournalRecord record_;
  std::string line_, name_, value_;
  std::uint64_t size_ = 0, left_ = 0;
  int size_bytes_ = 0;
  bool has_fields_ = false, is_broken_ = false, is_cut_ = false;
  std::uint64_t entries_ = 0;
};

// One JSON object a line; lines that are none are counted.
class JournalJsonParser {
 public:
  using Sink = std::function<void(const JournalRecord&)>;
  explicit JournalJsonParser(Sink sink) : sink_(std::move(sink)), lines_(kMaxEntry) {}

  void feed(std::string_view bytes);
  void finish();
  std::uint64_t bad_lines() const { return bad_lines_ + lines_.skipped(); }

 private:
  // journalctl itself leaves out fields of over 4 KB unless asked; with all, entries may be large.
  static constexpr std::size_t kMaxEntry = 8 * 1024 * 1024;
  void take(std::string_view line);

  Sink sink_;
  LineSplitter lines_;
  std::uint64_t bad_lines_ = 0;
};

}  // namespace nvab
